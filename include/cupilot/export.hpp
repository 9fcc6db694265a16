// What the shared library exports: everything declared inside `namespace CUPILOT_API cupilot`, as every public header does.
#pragma once

#define CUPILOT_API [[gnu::visibility("default")]]
