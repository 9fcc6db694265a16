// Allocations that end where a tensor ends: behind each lies a hole that belongs to no allocation.
// With EDGE=1 in the environment a tensor's last byte is the last of a mapping, with nothing mapped
// behind it, so that the device itself refuses what leaves it (no sanitizer needed).
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace faults {

inline std::vector<void*> holes;

inline void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorString(e));
  exit(2);
}

template <class F>
F driver(const char* name) {
  void* f = nullptr;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found), name);
  if (f == nullptr) {
    printf("no %s\n", name);
    exit(2);
  }
  return reinterpret_cast<F>(f);
}

inline void check(CUresult e, const char* what) {
  if (e == CUDA_SUCCESS) return;
  printf("%s: error %d\n", what, int(e));
  exit(2);
}

inline void* at_edge(size_t bytes) {
  static bool first = true;
  if (first) check(cudaFree(nullptr), "cudaFree");
  first = false;
  CUmemAllocationProp p = {};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.location.id = 0;
  size_t grain = 0;
  check(driver<decltype(&cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity")(
            &grain, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "granularity");
  const size_t mapped = (bytes + grain - 1) / grain * grain;
  CUdeviceptr at = 0;
  CUmemGenericAllocationHandle h;
  check(driver<decltype(&cuMemAddressReserve)>("cuMemAddressReserve")(&at, mapped + grain, 0, 0, 0),
        "reserve");
  check(driver<decltype(&cuMemCreate)>("cuMemCreate")(&h, mapped, &p, 0), "create");
  check(driver<decltype(&cuMemMap)>("cuMemMap")(at, mapped, 0, h, 0), "map");
  CUmemAccessDesc access = {};
  access.location = p.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(driver<decltype(&cuMemSetAccess)>("cuMemSetAccess")(at, mapped, &access, 1), "access");
  return reinterpret_cast<void*>(at + mapped - bytes);
}

template <class T>
T* device(const std::vector<T>& values, const char* name) {
  void* p = nullptr;
  void* hole = nullptr;
  const size_t bytes = values.size() * sizeof(T);
  if (getenv("EDGE")) {
    p = at_edge(bytes);
    check(cudaMemcpy(p, values.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    printf("%s: %zu bytes at %p, at the edge of its mapping\n", name, bytes, p);
    return static_cast<T*>(p);
  }
  check(cudaMalloc(&p, bytes), "cudaMalloc");
  check(cudaMalloc(&hole, 128 * 1024), "cudaMalloc");
  holes.push_back(hole);
  const size_t gap = size_t(static_cast<char*>(hole) - static_cast<char*>(p));
  if (gap > (bytes + 511) / 512 * 512)
    printf("the hole is not directly behind: %zu bytes after the start\n", gap);
  check(cudaMemcpy(p, values.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  printf("%s: %zu bytes at %p\n", name, bytes, p);
  return static_cast<T*>(p);
}

inline void open_holes() {
  for (void* h : holes) check(cudaFree(h), "cudaFree");
  holes.clear();
  fflush(stdout);
}

inline int done() {
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t e = cudaDeviceSynchronize();
  printf("done %s\n", cudaGetErrorString(launched != cudaSuccess ? launched : e));
  fflush(stdout);
  return (launched != cudaSuccess ? launched : e) == cudaSuccess ? 0 : 1;
}

inline uint32_t draw() {
  static uint32_t s = 12345;
  s = s * 1664525u + 1013904223u;
  return s >> 16;
}

template <class T>
std::vector<T> small_numbers(size_t n) {
  std::vector<T> v(n);
  for (auto& x : v) x = T(float(int(draw() % 5) - 2));
  return v;
}

struct Difference {
  size_t differ = 0;
  double largest = 0;
};

template <class A, class B>
Difference compare(const std::vector<A>& a, const std::vector<B>& b, double tolerance) {
  Difference d;
  for (size_t i = 0; i < a.size(); ++i) {
    const double delta = double(a[i]) - double(b[i]);
    const double size = delta < 0 ? -delta : delta;
    if (!(size <= tolerance)) ++d.differ;
    if (!(size <= d.largest)) d.largest = size;
  }
  return d;
}

inline void say(const char* name, const Difference& d, size_t of) {
  printf("RESULT %s: %zu of %zu elements differ, largest difference %g\n", name, d.differ, of,
         d.largest);
}

}  // namespace faults
