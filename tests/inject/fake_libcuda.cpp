// A driver for one guest program: memory of the host stands for the device's, and kernels are C++
// functions of the names that the guest's PTX has.
#include <cuda.h>

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

std::map<CUdeviceptr, std::size_t> memory;
CUdeviceptr next_address = 0x7abc00000000;  // far from the interpreter's own windows
std::map<CUfunction, std::string> functions;
CUresult state = CUDA_SUCCESS;
bool recording = false;

const std::map<std::string, std::vector<std::size_t>> parameters = {
    {"twice", {8, 8, 4}},  {"past", {8, 4}},    {"racing", {8}},
    {"unwritten", {8, 4}}, {"through", {8, 4}}, {"wrong", {8, 8, 4}},
};

template <class T>
T argument(void** all, int i) {
  T value{};
  std::memcpy(&value, all[i], sizeof value);
  return value;
}

void run(const std::string& name, void** all) {
  if (name == "twice" || name == "wrong") {
    auto* x = reinterpret_cast<float*>(argument<CUdeviceptr>(all, 0));
    auto* y = reinterpret_cast<float*>(argument<CUdeviceptr>(all, 1));
    const float by = name == "wrong" ? 3.0f : 2.0f;
    for (int i = 0; i < argument<int>(all, 2); ++i) y[i] = by * x[i];
  } else if (name == "past") {
    state = CUDA_ERROR_ILLEGAL_ADDRESS;
  } else if (name == "through") {
    auto** table = reinterpret_cast<float**>(argument<CUdeviceptr>(all, 0));
    for (int i = 0; i < argument<int>(all, 1); ++i) table[1][i] = table[0][i];
  }
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int, CUdevice) {
  return std::strcpy(name, "Fake"), CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
                                                                   : 232448;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  const std::size_t whole = (bytes + 4095) / 4096 * 4096;
  void* at = mmap(reinterpret_cast<void*>(next_address), whole, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(at);
  next_address += whole + (4ull << 20);
  memory[*address] = whole;  // as drivers round up
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), state;
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), state;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return cuMemcpyDtoH(to, from, bytes);
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return CUDA_ERROR_INVALID_VALUE;
  const auto& [begin, bytes] = *--after;
  if (address - begin >= bytes) return CUDA_ERROR_INVALID_VALUE;
  if (which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    return *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE, CUDA_SUCCESS;
  if (which == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
    return *static_cast<CUdeviceptr*>(value) = begin, CUDA_SUCCESS;
  return *static_cast<std::size_t*>(value) = bytes, CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream) { return state; }
CUresult cuStreamSynchronize(CUstream) { return state; }
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = recording ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult code, const char** name) {
  *name = code == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR_ILLEGAL_ADDRESS";
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  return *module = reinterpret_cast<CUmodule>(0x100), CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  if (!parameters.contains(name)) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(0x200 + functions.size());
  functions[*function] = name;
  return CUDA_SUCCESS;
}
// A function that the program gets by another way than the driver's API.
CUfunction fake_function(const char* name) {
  CUfunction function = nullptr;
  cuModuleGetFunction(&function, nullptr, name);
  return function;
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  return *name = functions.at(function).c_str(), CUDA_SUCCESS;
}
CUresult cuFuncGetModule(CUmodule* module, CUfunction) {
  return *module = reinterpret_cast<CUmodule>(0x300), CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                            std::size_t* size) {
  const std::vector<std::size_t>& sizes = parameters.at(functions.at(function));
  if (index >= sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 8 * index;
  *size = sizes[index];
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, unsigned, CUstream, void** all, void**) {
  if (!recording) run(functions.at(function), all);
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream, CUstreamCaptureMode) {
  return recording = true, CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream, CUgraph*) { return recording = false, CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec, CUstream) { return CUDA_SUCCESS; }

CUresult cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                          CUdriverProcAddressQueryResult*) {
  static void* const own = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  for (const char* tail : {"_v2", ""}) {
    *function = dlsym(own, (std::string(symbol) + tail).c_str());
    if (*function != nullptr) return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
