#include "backend/worker/driver.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include "backend/worker/library.hpp"

namespace cupilot {
namespace {

#define CUPILOT_TEXT(name) #name

void* look_up(void* handle, const char* versioned, const char* plain) {
  void* found = dlsym(handle, versioned);
  return found != nullptr ? found : dlsym(handle, plain);
}

CudaDriver load() {
  CudaDriver calls;
  OpenedLibrary library = open_library({"libcuda.so.1"}, LibraryPlaces::loader);
  if (library.handle == nullptr) library = open_library({"libcuda.so.1"});
  if (library.handle == nullptr) {
    calls.reason = library.reason;
    return calls;
  }
  calls.path = library.path;
#define CUPILOT_EXPANDED(name) CUPILOT_TEXT(name)
#define CUPILOT_LOAD_OPTIONAL(name)                    \
  calls.name = reinterpret_cast<decltype(calls.name)>( \
      look_up(library.handle, CUPILOT_EXPANDED(name), #name));
#define CUPILOT_LOAD(name)                           \
  CUPILOT_LOAD_OPTIONAL(name)                        \
  if (calls.name == nullptr && calls.reason.empty()) \
    calls.reason = fmt::format("{} lacks {}", library.path, #name);
  CUPILOT_DRIVER_CALLS(CUPILOT_LOAD)
  CUPILOT_DRIVER_OPTIONAL_CALLS(CUPILOT_LOAD_OPTIONAL)
#undef CUPILOT_LOAD
#undef CUPILOT_LOAD_OPTIONAL
  return calls;
}

}  // namespace

std::string CudaDriver::describe(CUresult code) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName != nullptr) cuGetErrorName(code, &name);
  if (cuGetErrorString != nullptr) cuGetErrorString(code, &text);
  return fmt::format("{} ({}): {}", name != nullptr ? name : "CUDA error", static_cast<int>(code),
                     text != nullptr ? text : "unknown");
}

const CudaDriver& driver() {
  static const CudaDriver calls = load();
  return calls;
}

void check(CUresult code, const char* what) {
  if (code != CUDA_SUCCESS) throw CudaFailure{code, what};
}

}  // namespace cupilot
