/* Calls that driver() wants to find and that a guest in a host's context never makes: memory shared between processes, and what
   needs no context. cuda.h is not included, which would give these names other types: they are spelt with their versions. */
#define REFUSED(name) \
  int name(void) { return 801; }
REFUSED(cuDeviceGetCount)
REFUSED(cuDeviceGet)
REFUSED(cuEventSynchronize)
REFUSED(cuFuncGetAttribute)
REFUSED(cuMemcpyDtoD_v2)
REFUSED(cuMemAddressReserve)
REFUSED(cuMemAddressFree)
REFUSED(cuMemCreate)
REFUSED(cuMemRelease)
REFUSED(cuMemMap)
REFUSED(cuMemUnmap)
REFUSED(cuMemSetAccess)
REFUSED(cuMemGetAllocationGranularity)
REFUSED(cuMemExportToShareableHandle)
REFUSED(cuMemImportFromShareableHandle)
REFUSED(cuIpcGetMemHandle)
REFUSED(cuIpcOpenMemHandle_v2)
REFUSED(cuIpcCloseMemHandle)
