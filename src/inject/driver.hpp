// The real driver below the injected library: its functions, found by name when first asked for.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace cupilot::inject {

// The loader's own dlsym, past the one that this library shows to programs.
void* real_dlsym(void* handle, const char* name);
void* real_dlsym_address();

// A function of libcuda that the program loaded; null: it lacks it, or there is no driver.
void* driver_function(const char* name);

// Calls a driver function by name. CUDA_ERROR_NOT_FOUND where the driver lacks it.
template <class... Parameters, class... Arguments>
CUresult call(CUresult (*)(Parameters...), const char* name, Arguments... arguments) {
  using Function = CUresult (*)(Parameters...);
  const auto function = reinterpret_cast<Function>(driver_function(name));
  return function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
}
// clang-format off
#define CUPILOT_TEXT_OF(name) #name
#define CUPILOT_NAME_OF(name) CUPILOT_TEXT_OF(name)
// The header's macros say which version of a function a name means.
#define CUPILOT_CALL(name, ...) \
  ::cupilot::inject::call(static_cast<decltype(&::name)>(nullptr), CUPILOT_NAME_OF(name), __VA_ARGS__)
// clang-format on

// Calls that this library makes itself are none of the program's.
class Aside {
 public:
  Aside() { ++depth(); }
  ~Aside() { --depth(); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  static bool now() { return depth() > 0; }

 private:
  static int& depth() {
    thread_local int calls = 0;
    return calls;
  }
};

}  // namespace cupilot::inject
