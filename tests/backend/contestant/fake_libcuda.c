// The calls of libcuda that map another process's memory, over a file in the host's memory.
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int cuDeviceGet(int* device, int index) { return *device = index, 0; }
int cuDeviceGetUuid(unsigned char* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = (unsigned char)(device + i);
  return 0;
}
int cuMemImportFromShareableHandle(unsigned long long* handle, void* descriptor, int type) {
  const int copy = dup((int)(intptr_t)descriptor);
  *handle = (unsigned long long)copy;
  return copy >= 0 && type == 1 ? 0 : 1;
}
int cuMemAddressReserve(unsigned long long* address, size_t size, size_t alignment,
                        unsigned long long near, unsigned long long flags) {
  (void)alignment, (void)near, (void)flags;
  void* const place = mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *address = (unsigned long long)(uintptr_t)place;
  return place == MAP_FAILED ? 2 : 0;
}
int cuMemMap(unsigned long long address, size_t size, size_t offset, unsigned long long handle,
             unsigned long long flags) {
  (void)flags;
  void* const place = (void*)(uintptr_t)address;
  return mmap(place, size, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)handle, (off_t)offset) == place
             ? 0
             : 1;
}
int cuMemSetAccess(unsigned long long address, size_t size, const int* access, size_t count) {
  const int flags = access[2];  // after the location's type and id
  return count == 1 ? mprotect((void*)(uintptr_t)address, size,
                               flags == 3 ? PROT_READ | PROT_WRITE : PROT_READ)
                    : 1;
}
int cuMemUnmap(unsigned long long address, size_t size) {
  return munmap((void*)(uintptr_t)address, size);
}
int cuMemAddressFree(unsigned long long address, size_t size) {
  return (void)address, (void)size, 0;
}
int cuMemRelease(unsigned long long handle) { return close((int)handle); }
