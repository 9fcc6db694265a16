// The driver library, opened at run time by worker processes, and in a host's own process for a
// context of the host's. Needs cuda.h alone.
#pragma once

#include <string>

#include <cuda.h>

namespace cupilot {

// One level of macro expansion gives each name the version suffix of the header's ABI.
// clang-format off
#define CUPILOT_DRIVER_CALLS(X) \
  X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetUuid) \
  X(cuDeviceGetAttribute) X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuCtxSynchronize) \
  X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxGetDevice) X(cuStreamGetCtx) X(cuEventDestroy) \
  X(cuGetErrorName) X(cuGetErrorString) X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) \
  X(cuFuncSetAttribute) X(cuFuncGetAttribute) X(cuLaunchKernelEx) X(cuStreamCreate) X(cuStreamSynchronize) \
  X(cuEventCreate) X(cuEventRecord) X(cuEventSynchronize) X(cuEventElapsedTime) X(cuMemAlloc) X(cuMemFree) \
  X(cuMemcpyDtoH) X(cuMemcpyHtoD) X(cuMemcpyDtoD) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async) X(cuMemGetInfo) X(cuStreamBeginCapture) X(cuStreamEndCapture) \
  X(cuGraphInstantiate) X(cuGraphLaunch) X(cuGraphDestroy) X(cuGraphExecDestroy) X(cuMemAddressReserve) \
  X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) \
  X(cuMemGetAllocationGranularity) X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle) \
  X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) X(cuIpcCloseMemHandle)
// Lists what older drivers lack.
#define CUPILOT_DRIVER_OPTIONAL_CALLS(X) \
  X(cuFuncGetParamInfo) X(cuTensorMapEncodeTiled) X(cuCtxSetLimit) X(cuCtxResetPersistingL2Cache) \
  X(cuArray3DCreate) X(cuArrayDestroy) X(cuMemcpy3DAsync) X(cuTexObjectCreate) X(cuTexObjectDestroy) X(cuSurfObjectCreate) \
  X(cuSurfObjectDestroy)
// clang-format on

struct CudaDriver {
#define CUPILOT_MEMBER(name) decltype(&::name) name = nullptr;
  CUPILOT_DRIVER_CALLS(CUPILOT_MEMBER)
  CUPILOT_DRIVER_OPTIONAL_CALLS(CUPILOT_MEMBER)
#undef CUPILOT_MEMBER
  std::string path;    // of the library
  std::string reason;  // why it cannot be used; empty when it can

  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
  std::string describe(CUresult code) const;
};

// Opened once; never closed.
const CudaDriver& driver();

// A driver call failed where it should not. Worker processes end their request with it.
struct CudaFailure {
  CUresult code = CUDA_SUCCESS;
  std::string what;
};

// Throws CudaFailure inside a worker; the serving loop turns it into an answer.
void check(CUresult code, const char* what);

}  // namespace cupilot
