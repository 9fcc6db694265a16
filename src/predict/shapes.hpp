// A GEMM and a setting of a template, as the arithmetic of forecasts takes them.
#pragma once

#include <optional>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

struct GemmShape {
  double m = 1, n = 1, k = 1, batch = 1;
  double bytes = 4, out_bytes = 4;  // of an element of A or B, of D
  bool trans_a = false, trans_b = false;
};
std::optional<GemmShape> gemm_shape(const Task& task);

// What runs, whatever the template: blocks of `threads` that take tiles of bm by bn through slabs
// bk deep. Cycles are of one block and one slab, each resource alone.
struct GemmSetting {
  double bm = 1, bn = 1, bk = 1;
  double threads = 32, registers = 0, shared = 0;  // a block; registers a thread
  double split = 1;                                // parts of K
  double ahead = 0;                                // slabs on their way while one is multiplied
  double turning = 0;                     // loads one after another that a slab takes a producer
  double group = 1;                       // tile rows walked together
  double math = 1, issue = 1, reads = 1;  // cycles: multiply pipe, schedulers, shared memory
  double store = 0;         // cycles that storing a tile keeps a block from multiplying
  double resident = 0;      // blocks an SM; 0: by occupancy
  bool persistent = false;  // blocks stay
};
// By the template's name; nothing for one that is not modelled so.
std::optional<GemmSetting> gemm_setting(const Tunable& tunable, const Constants& constants,
                                        const GemmShape& shape);

}  // namespace cupilot
