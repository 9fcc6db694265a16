// A program that launches kernels as programs with a static CUDA runtime do: guest PTX NAME…. A
// name that begins with + is launched while a graph is recorded, one that begins with @ comes of
// the program's own fat binary, `dies` ends the program at once.
#include <cuda.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// As nvcc links a fat binary with a program.
asm(".section .nv_fatbin, \"a\"\n.align 8\n.incbin \"" CUPILOT_SOURCE_DIR
    "/tests/data/capture/guest-zstd.fatbin\"\n.text");

namespace {

using Find = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
Find* find = nullptr;

template <class Function>
Function* driver(const char* name) {
  void* found = nullptr;
  find(name, &found, 13000, 0, nullptr);
  return reinterpret_cast<Function*>(found);
}
#define DRIVER(name) driver<decltype(name)>(#name)

CUdeviceptr filled(const std::vector<float>& values) {
  CUdeviceptr address = 0;
  driver<decltype(cuMemAlloc)>("cuMemAlloc")(&address, 4 * values.size());
  driver<decltype(cuMemcpyHtoD)>("cuMemcpyHtoD")(address, values.data(), 4 * values.size());
  return address;
}

}  // namespace

int main(int argc, char** argv) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return std::puts("no driver"), 3;
  find = reinterpret_cast<Find*>(dlsym(library, "cuGetProcAddress_v2"));
  DRIVER(cuInit)(0);
  std::ifstream in(argv[1], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  CUmodule module = nullptr;
  DRIVER(cuModuleLoadData)(&module, text.data());
  int n = 100;
  std::vector<float> values(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = 0.5f * static_cast<float>(i);
  CUdeviceptr x = filled(values), y = filled(std::vector<float>(values.size(), -1.0f));
  CUdeviceptr table = 0;
  driver<decltype(cuMemAlloc)>("cuMemAlloc")(&table, 16);
  const CUdeviceptr both[] = {x, y};
  driver<decltype(cuMemcpyHtoD)>("cuMemcpyHtoD")(table, both, sizeof both);
  for (int i = 2; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "dies") _exit(9);
    if (name == "graph") {
      DRIVER(cuGraphLaunch)(nullptr, nullptr);
      continue;
    }
    const bool recorded = name[0] == '+';
    const bool own = name[0] == '@';
    if (recorded || own) name.erase(0, 1);
    CUfunction function = nullptr;
    if (own) {
      function = reinterpret_cast<CUfunction (*)(const char*)>(dlsym(library, "fake_function"))(
          name.c_str());
    } else if (DRIVER(cuModuleGetFunction)(&function, module, name.c_str()) != CUDA_SUCCESS)
      return 4;
    void* three[] = {&x, &y, &n};
    void* two[] = {&x, &n};
    void* by_table[] = {&table, &n};
    void** const all = name == "through"                    ? by_table
                       : name == "twice" || name == "wrong" ? three
                                                            : two;
    if (recorded) DRIVER(cuStreamBeginCapture)(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL);
    DRIVER(cuLaunchKernel)(function, 4, 1, 1, 32, 1, 1, 0, nullptr, all, nullptr);
    if (recorded) DRIVER(cuStreamEndCapture)(nullptr, nullptr);
  }
  std::vector<float> out(values.size());
  const CUresult code =
      driver<decltype(cuMemcpyDtoH)>("cuMemcpyDtoH")(out.data(), y, 4 * out.size());
  std::printf("y[3] = %g, %d\n", static_cast<double>(out[3]), static_cast<int>(code));
  return code == CUDA_SUCCESS ? 0 : 1;
}
