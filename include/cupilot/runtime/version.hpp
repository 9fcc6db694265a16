// The version of the runtime headers, in the names of all that they and generated dispatchers
// define: shared objects built with different versions can be loaded into one process.
#pragma once

// First digits of the SHA-256 of runtime.hpp and of runtime/*.hpp but this one, in the order of
// their names; tests/wisdom/runtime_version_test.cpp says the new value after a change.
#define CUPILOT_RUNTIME_VERSION v_54c3a00a6f4ee462
