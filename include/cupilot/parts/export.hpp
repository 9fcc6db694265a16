// Marks the exports of the shared library: everything declared between BEGIN and END, as all of
// every public header is, but for what is HIDDEN. An attribute of the namespace would do for g++;
// clang forgets it where a function is defined.
#pragma once

#define CUPILOT_EXPORTS_BEGIN _Pragma("GCC visibility push(default)")
#define CUPILOT_EXPORTS_END _Pragma("GCC visibility pop")
#define CUPILOT_HIDDEN __attribute__((visibility("hidden")))
