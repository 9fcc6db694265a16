// Device memory that a launch's arguments reach, read without a word to the program.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <span>
#include <vector>

namespace cupilot::inject {

// A part of an allocation that is kept: all of it, or what its limit allows from a pointer on.
struct Region {
  CUdeviceptr begin = 0;  // of the allocation
  std::uint64_t bytes = 0;
  CUdeviceptr kept_from = 0;
  std::uint64_t kept = 0;
  bool host = false;  // memory of the host that devices reach
};

// The allocation that holds an address; false: none does.
bool region_at(CUdeviceptr address, Region& out);

// Waits for the stream; false: not in half a minute, or it failed with `result`.
bool wait_for(CUstream stream, CUresult& result);

// Reads a region; false: the driver refused.
bool read_region(const Region& region, CUstream stream, std::vector<std::uint8_t>& out);

// Lets this thread's calls pass while another records a graph.
class Unrecorded {
 public:
  Unrecorded();
  ~Unrecorded();
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool changed_ = false;
};

}  // namespace cupilot::inject
