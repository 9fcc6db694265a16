// A driver that launches nothing: it holds contexts, memory, modules and events, and writes down
// what a guest in a host's context may not do. fake_libcuda_refused.c has the calls that such a
// guest has no use for.
#include <cuda.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

// Handles: context 0x10 has the stream 0x20, context 0x11 the stream 0x21.
template <class Handle>
Handle handle_of(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

std::string wrong, launched;
std::map<CUfunction, std::string> entries;
std::set<std::uint64_t> memory, modules, events;
std::uintptr_t next_handle = 0x1000;
std::uint64_t probe_answer = 0;
CUresult state = CUDA_SUCCESS;  // after a fault every call answers it
CUresult pending = CUDA_SUCCESS;
CUresult capturing = CUDA_SUCCESS;  // the answer to each capture
thread_local std::vector<CUcontext> stack;

CUresult in_context(const char* call) {
  if (stack.empty() || stack.back() != handle_of<CUcontext>(0x10))
    wrong += std::string(call) + " outside the host's context\n";
  return state;
}
CUresult on_stream(const char* call, CUstream stream) {
  if (stream != handle_of<CUstream>(0x20))
    wrong += std::string(call) + " on another stream than the host's\n";
  return in_context(call);
}
CUresult not_mine(const char* call) {
  wrong += std::string(call) + ": not the guest's to change\n";
  return CUDA_SUCCESS;
}

}  // namespace

// cuda.h renames functions to their newest version, as the driver exports them.
extern "C" {

const char* fake_wrong() { return wrong.c_str(); }
const char* fake_launched() { return launched.c_str(); }
std::size_t fake_held() { return memory.size() + modules.size() + events.size(); }
std::size_t fake_depth() { return stack.size(); }
void fake_begin(std::uint64_t probe) {
  wrong.clear(), launched.clear(), stack.clear();
  memory.clear(), modules.clear(), events.clear();
  probe_answer = probe, state = pending = capturing = CUDA_SUCCESS;
}
void fake_capture(CUresult answer) { capturing = answer; }

CUresult cuInit(unsigned) { return not_mine("cuInit"); }
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice) {
  return not_mine("cuDevicePrimaryCtxRetain");
}
CUresult cuCtxSetCurrent(CUcontext) { return not_mine("cuCtxSetCurrent"); }
CUresult cuCtxSetLimit(CUlimit, std::size_t) { return not_mine("cuCtxSetLimit"); }
CUresult cuStreamCreate(CUstream*, unsigned) { return not_mine("cuStreamCreate"); }
CUresult cuCtxSynchronize() { return not_mine("cuCtxSynchronize"); }

CUresult cuCtxPushCurrent(CUcontext context) { return stack.push_back(context), CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext* context) {
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, in_context("cuCtxGetDevice"); }
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return *context = handle_of<CUcontext>(reinterpret_cast<std::uintptr_t>(stream) - 0x10),
         CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int, CUdevice) {
  return std::strcpy(name, "NVIDIA H200"), CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
  return std::memset(uuid, 7, sizeof *uuid), CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  return *bytes = 1ull << 30, CUDA_SUCCESS;
}
CUresult cuMemGetInfo(std::size_t* available, std::size_t* total) {
  return *available = *total = 1ull << 30, CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  return *value = 8, CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, const char** name) {
  return *name = "CUDA_ERROR_OF_THE_FAKE", CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  return *text = "as the test wants it", CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  *pointer = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
  memory.insert(*pointer);
  return in_context("cuMemAlloc");
}
CUresult cuMemFree(CUdeviceptr pointer) {
  if (memory.erase(pointer) == 0) wrong += "cuMemFree of what was not allocated\n";
  std::free(reinterpret_cast<void*>(pointer));
  return in_context("cuMemFree");
}
CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, std::size_t bytes,
                         CUstream stream) {
  return std::memset(reinterpret_cast<void*>(pointer), value, bytes),
         on_stream("cuMemsetD8Async", stream);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), in_context("cuMemcpyHtoD");
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), in_context("cuMemcpyDtoH");
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr, CUdeviceptr, std::size_t bytes, CUstream stream) {
  return launched += "copy:" + std::to_string(bytes) + " ", on_stream("cuMemcpyDtoDAsync", stream);
}

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  launched += "array:" + std::to_string(shape->Width) + "x" + std::to_string(shape->Height) + "x" +
              std::to_string(shape->Depth) + ":" + std::to_string(shape->Flags) + " ";
  memory.insert(++next_handle);
  return *array = handle_of<CUarray>(next_handle), in_context("cuArray3DCreate");
}
CUresult cuArrayDestroy(CUarray array) {
  if (memory.erase(reinterpret_cast<std::uintptr_t>(array)) == 0) wrong += "an array freed twice\n";
  return in_context("cuArrayDestroy");
}
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* order, CUstream stream) {
  const bool in = order->dstMemoryType == CU_MEMORYTYPE_ARRAY;
  launched += (in ? "in:" : "out:") + std::to_string(order->WidthInBytes) + "x" +
              std::to_string(order->Height) + "x" + std::to_string(order->Depth) + " ";
  return on_stream("cuMemcpy3DAsync", stream);
}
CUresult object(CUtexObject* made, const CUDA_RESOURCE_DESC* of) {
  launched += "object:" + std::to_string(static_cast<int>(of->resType)) + " ";
  memory.insert(++next_handle);
  return *made = next_handle, in_context("an object");
}
CUresult cuTexObjectCreate(CUtexObject* made, const CUDA_RESOURCE_DESC* of,
                           const CUDA_TEXTURE_DESC* how, const CUDA_RESOURCE_VIEW_DESC*) {
  launched += "flags:" + std::to_string(how->flags) + ":" + std::to_string(how->filterMode) + ":" +
              std::to_string(how->addressMode[2]) + " ";
  return object(made, of);
}
CUresult cuSurfObjectCreate(CUsurfObject* made, const CUDA_RESOURCE_DESC* of) {
  return object(made, of);
}
CUresult cuTexObjectDestroy(CUtexObject made) { return memory.erase(made), state; }
CUresult cuSurfObjectDestroy(CUsurfObject made) { return memory.erase(made), state; }

CUresult cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void**) {
  modules.insert(++next_handle);
  return *module = handle_of<CUmodule>(next_handle), in_context("cuModuleLoadDataEx");
}
CUresult cuModuleUnload(CUmodule module) {
  return modules.erase(reinterpret_cast<std::uintptr_t>(module)), in_context("cuModuleUnload");
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  entries[*function = handle_of<CUfunction>(++next_handle)] = name;
  return in_context("cuModuleGetFunction");
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return in_context("cuFuncSetAttribute");
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  return on_stream("cuStreamBeginCapture", stream);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  *graph = capturing == CUDA_SUCCESS ? handle_of<CUgraph>(1) : nullptr;
  const CUresult code = on_stream("cuStreamEndCapture", stream);
  return code == CUDA_SUCCESS ? capturing : code;
}
CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph, unsigned long long) {
  return *executable = handle_of<CUgraphExec>(1), in_context("cuGraphInstantiate");
}
CUresult cuGraphLaunch(CUgraphExec, CUstream stream) { return on_stream("cuGraphLaunch", stream); }
CUresult cuGraphDestroy(CUgraph) { return state; }
CUresult cuGraphExecDestroy(CUgraphExec) { return state; }

CUresult cuEventCreate(CUevent* event, unsigned) {
  events.insert(++next_handle);
  return *event = handle_of<CUevent>(next_handle), in_context("cuEventCreate");
}
CUresult cuEventDestroy(CUevent event) {
  return events.erase(reinterpret_cast<std::uintptr_t>(event)), in_context("cuEventDestroy");
}
CUresult cuEventRecord(CUevent, CUstream stream) { return on_stream("cuEventRecord", stream); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
  return *milliseconds = 0.05f, state;
}

// "probe_known" leaves the known kernel's value, "fault" an illegal address that the next wait
// tells of.
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void**) {
  const std::string& name = entries[function];
  launched += name + " ";
  if (name == "probe_known") {
    CUdeviceptr value = 0;
    std::memcpy(&value, parameters[1], sizeof value);
    std::memcpy(reinterpret_cast<void*>(value), &probe_answer, sizeof probe_answer);
  }
  if (name == "handles") {
    for (int i = 0; i < 3; ++i) {
      std::uint64_t handle = 0;
      std::memcpy(&handle, parameters[i], sizeof handle);
      if (memory.count(handle) == 0) wrong += "a handle of nothing\n";
    }
  }
  if (name == "fault") pending = CUDA_ERROR_ILLEGAL_ADDRESS;
  return on_stream("cuLaunchKernelEx", config->hStream);
}
CUresult cuStreamSynchronize(CUstream stream) {
  if (pending != CUDA_SUCCESS) state = pending;
  return on_stream("cuStreamSynchronize", stream);
}
}
