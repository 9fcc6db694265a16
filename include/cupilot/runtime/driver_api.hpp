// The few CUDA driver calls that a launch needs, opened at run time, with the layouts of cuda.h.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <cupilot/runtime/version.hpp>

namespace cupilot::runtime {
inline namespace CUPILOT_RUNTIME_VERSION {

struct Status {
  int code = 0;  // driver's code; -1: set by this header
  std::string message;
  bool ok() const { return code == 0; }
};

struct DriverApi {
  struct Attribute {
    int id;
    char pad[4];
    unsigned value[16];
  };
  struct Config {
    unsigned grid[3], block[3], shared;
    void* stream;
    Attribute* attributes;
    unsigned attribute_count;
  };
  struct alignas(64) TensorMap {
    std::uint64_t opaque[16];
  };
  using Pointer = unsigned long long;
  int (*init)(unsigned) = nullptr;
  int (*context)(void**) = nullptr;
  int (*device)(int*) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*load)(void**, const void*) = nullptr;
  int (*unload)(void*) = nullptr;
  int (*function)(void**, void*, const char*) = nullptr;
  int (*set_function)(void*, int, int) = nullptr;
  int (*occupancy)(int*, void*, int, std::size_t) = nullptr;
  int (*launch)(const Config*, void*, void**, void**) = nullptr;
  int (*allocate)(Pointer*, std::size_t) = nullptr;
  int (*release)(Pointer) = nullptr;
  int (*clear)(Pointer, unsigned char, std::size_t, void*) = nullptr;
  int (*encode)(TensorMap*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*,
                const unsigned*, const unsigned*, int, int, int, int) = nullptr;
  int (*error_name)(int, const char**) = nullptr;

  Status open(const char* library) {
    void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) return {-1, std::string("cannot open the CUDA driver: ") + dlerror()};
    std::string missing;
    const auto find = [&](auto& member, const char* name) {
      member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(opened, name));
      if (member == nullptr) missing += std::string(missing.empty() ? "" : ", ") + name;
    };
    find(init, "cuInit"), find(context, "cuCtxGetCurrent"), find(device, "cuCtxGetDevice"),
        find(attribute, "cuDeviceGetAttribute"), find(device_name, "cuDeviceGetName");
    find(load, "cuModuleLoadData"), find(unload, "cuModuleUnload"),
        find(function, "cuModuleGetFunction");
    find(set_function, "cuFuncSetAttribute"),
        find(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    find(launch, "cuLaunchKernelEx"), find(allocate, "cuMemAlloc_v2"),
        find(release, "cuMemFree_v2");
    find(clear, "cuMemsetD8Async"), find(encode, "cuTensorMapEncodeTiled"),
        find(error_name, "cuGetErrorName");
    if (!missing.empty()) dlclose(opened);
    if (!missing.empty())
      return {-1, std::string(library) + " lacks " + missing + ": the driver is too old"};
    return said(init(0), "cuInit");
  }

  Status said(int code, const char* call) const {
    if (code == 0) return {};
    const char* name = nullptr;
    if (error_name(code, &name) != 0 || name == nullptr) name = "an unknown error";
    return {code, std::string(call) + ": " + name + " (" + std::to_string(code) + ")"};
  }
};

}  // namespace CUPILOT_RUNTIME_VERSION
}  // namespace cupilot::runtime
