// A driver that launches nothing and writes down what it was asked, a line each.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace {

std::string written;
std::map<CUfunction, std::string> entries;
std::uint64_t allocations = 0, maps = 0;
int compute_major = 9, refuse_in = -1;  // the refuse_in-th allocation or launch from here fails

template <class... Values>
void log(const char* format, Values... values) {
  char line[1024];
  std::snprintf(line, sizeof line, format, values...);
  written += std::string(line) + "\n";
}

CUresult answer() {
  return refuse_in >= 0 && refuse_in-- == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

}  // namespace

// cuda.h renames functions to their newest version, as the driver exports them.
extern "C" {

const char* fake_log() { return written.c_str(); }
void fake_set(int major, int refuse) { compute_major = major, refuse_in = refuse; }

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) {
  return *context = reinterpret_cast<CUcontext>(1), CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 232448;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      *value = 65536;
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = 50 << 20;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = compute_major;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(length), "NVIDIA H200");
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  // Images are cubins: the magic of ELF.
  if (std::memcmp(image, "\177ELF", 4) != 0) return CUDA_ERROR_INVALID_IMAGE;
  return *module = reinterpret_cast<CUmodule>(2), CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  for (const auto& [known, entry] : entries) {
    if (entry == name) return *function = known, CUDA_SUCCESS;
  }
  *function = reinterpret_cast<CUfunction>(16 * (entries.size() + 1));
  entries[*function] = name;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int bytes) {
  log("allow %d", bytes);
  return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads,
                                                     std::size_t) {
  return *blocks = 2048 / threads, CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  *pointer = 0xb0000000 + 0x100 * allocations++;
  log("allocate %zu", bytes);
  return answer();
}
CUresult cuMemFree(CUdeviceptr) { return CUDA_SUCCESS; }
CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, std::size_t bytes, CUstream) {
  log("clear %llx %d %zu", pointer, value, bytes);
  return CUDA_SUCCESS;
}
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* base, const cuuint64_t* dims, const cuuint64_t* pitch,
                                const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  std::string text;
  for (cuuint32_t i = 0; i < rank; ++i)
    text += " " + std::to_string(dims[i]) + "/" + std::to_string(box[i]);
  for (cuuint32_t i = 0; i + 1 < rank; ++i) text += " " + std::to_string(pitch[i]);
  log("map %p type %d swizzle %d:%s", base, static_cast<int>(type), static_cast<int>(swizzle),
      text.c_str());
  map->opaque[0] = ++maps;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char** name) {
  *name = code == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER";
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void**) {
  std::string cluster = "1 1 1", words;
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& size = attribute.value.clusterDim;
      cluster =
          std::to_string(size.x) + " " + std::to_string(size.y) + " " + std::to_string(size.z);
    }
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      cooperative = attribute.value.cooperative != 0;
  }
  // Eight bytes of each parameter, as the caller says how many there are.
  const std::size_t count = reinterpret_cast<std::uintptr_t>(config->hStream);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, parameters[i], sizeof word);
    char text[32];
    std::snprintf(text, sizeof text, " %llx", static_cast<unsigned long long>(word));
    words += text;
  }
  log("launch %s grid %u %u %u block %u %u %u cluster %s shared %u cooperative %d:%s",
      entries[function].c_str(), config->gridDimX, config->gridDimY, config->gridDimZ,
      config->blockDimX, config->blockDimY, config->blockDimZ, cluster.c_str(),
      config->sharedMemBytes, cooperative, words.c_str());
  return answer();
}
}
