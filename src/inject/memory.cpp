#include "inject/memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "inject/driver.hpp"
#include "inject/images.hpp"
#include "inject/record.hpp"

namespace cupilot::inject {
namespace {

constexpr CUdeviceptr page = 4096;

// Asks for an attribute of a pointer; false: the driver knows none.
template <class T>
bool attribute(T& out, CUpointer_attribute which, CUdeviceptr address) {
  return CUPILOT_CALL(cuPointerGetAttribute, static_cast<void*>(&out), which, address) ==
         CUDA_SUCCESS;
}

void choose_part(Region& region, CUdeviceptr address) {
  const std::uint64_t most = settings().bytes;
  region.kept_from = region.begin;
  region.kept = region.bytes;
  if (region.bytes <= most) return;
  // Some bytes before the pointer are kept as well: kernels count backwards, too.
  const std::uint64_t before = std::min<std::uint64_t>(address - region.begin, most / 8);
  const CUdeviceptr from = std::max(region.begin, (address - before) / page * page);
  region.kept_from = std::min(from, region.begin + region.bytes - most);
  region.kept = most;
}

}  // namespace

bool region_at(CUdeviceptr address, Region& out) {
  if (address < page || address >= 1ull << 57) return false;
  unsigned kind = 0;
  if (!attribute(kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)) return false;
  out.host = kind == CU_MEMORYTYPE_HOST;
  std::size_t bytes = 0;
  CUdeviceptr begin = 0;
  if (!attribute(begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) ||
      !attribute(bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address)) {
    if (CUPILOT_CALL(cuMemGetAddressRange, &begin, &bytes, address) != CUDA_SUCCESS) return false;
  }
  if (bytes == 0 || address < begin || address - begin >= bytes) return false;
  out.begin = begin;
  out.bytes = bytes;
  // The driver may round up what the program asked for.
  const std::uint64_t asked = asked_bytes(begin);
  if (asked > address - begin) out.bytes = std::min<std::uint64_t>(bytes, asked);
  choose_part(out, address);
  return true;
}

bool wait_for(CUstream stream, CUresult& result) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int round = 0;; ++round) {
    result = CUPILOT_CALL(cuStreamQuery, stream);
    if (result != CUDA_ERROR_NOT_READY) return result == CUDA_SUCCESS;
    if (std::chrono::steady_clock::now() > end) return false;
    if (round > 1000) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

bool read_region(const Region& region, CUstream stream, std::vector<std::uint8_t>& out) {
  out.resize(region.kept);
  if (region.host) {
    std::memcpy(out.data(), reinterpret_cast<const void*>(region.kept_from), region.kept);
    return true;
  }
  CUresult result = CUPILOT_CALL(cuMemcpyDtoHAsync, static_cast<void*>(out.data()),
                                 region.kept_from, static_cast<std::size_t>(region.kept), stream);
  return result == CUDA_SUCCESS && wait_for(stream, result);
}

Unrecorded::Unrecorded() {
  changed_ = CUPILOT_CALL(cuThreadExchangeStreamCaptureMode, &mode_) == CUDA_SUCCESS;
}
Unrecorded::~Unrecorded() {
  if (changed_) CUPILOT_CALL(cuThreadExchangeStreamCaptureMode, &mode_);
}

}  // namespace cupilot::inject
