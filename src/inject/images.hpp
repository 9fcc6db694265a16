// Modules that the program loaded: their images, the functions and variables that it asked of them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupilot::inject {

// A module or library got its handle from an image in memory: a fat binary, its wrapper, a cubin or
// PTX.
void image_loaded(void* handle, const void* image);
void file_loaded(void* handle, const char* path);
// `module` is of the library, too.
void module_of_library(CUmodule module, CUlibrary library);
// The program asked a module or library for a kernel; `is_kernel`: the handle is a CUkernel.
void function_found(void* function, void* owner, const char* name, bool is_kernel);
// The function of a kernel that is known.
void function_of_kernel(CUfunction function, CUkernel kernel);
void variable_found(void* owner, const char* name, CUdeviceptr address, std::size_t bytes);
void allocated(CUdeviceptr address, std::size_t bytes);
// Bytes that the program asked for at an address; 0: unknown.
std::uint64_t asked_bytes(CUdeviceptr address);
// PTX that a compiler had beside a cubin.
void ptx_of_cubin(const std::vector<std::uint8_t>& cubin, std::string ptx);

struct Known {
  std::string name{};
  void* owner = nullptr;  // module or library; null: unknown
  bool is_kernel = false;
};
// A launched function, from what the program asked for before or from the driver.
std::optional<Known> known_function(CUfunction function);

struct KnownVariable {
  std::string name{};
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};
std::vector<KnownVariable> known_variables(void* owner);

// Writes the image of a module, once, and returns its name in the folder's list: of an unknown
// module that of all PTX in the loaded files; empty: there is none.
std::string kept_image(void* owner);

}  // namespace cupilot::inject
