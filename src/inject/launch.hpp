// Keeps a launch: its arguments, and the device memory that they reach, before and after.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <memory>

namespace cupilot::inject {

struct Request {
  CUfunction function = nullptr;
  std::array<std::uint64_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint64_t shared = 0;
  CUstream stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
  bool cooperative = false;
};

class Kept;  // a launch under way
struct KeptDeleter {
  void operator()(Kept* kept) const;
};
using KeptPtr = std::unique_ptr<Kept, KeptDeleter>;

// Before the launch. Null: it is counted, and not kept.
KeptPtr keep_before(const Request& request);
// After it was asked for, with the driver's answer.
void keep_after(Kept& kept, CUresult result);

// A graph of launches ran, which are not kept.
void count_graph();
// The program reached the driver: the record names the process.
void count_process();

}  // namespace cupilot::inject
