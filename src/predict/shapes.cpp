#include "predict/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "predict/access.hpp"
#include "predict/parts.hpp"

namespace cupilot {
namespace {

constexpr double schedulers = 4;
constexpr double fma_warps = 4;       // warp multiply-adds an SM a cycle
constexpr double shared_bytes = 128;  // a cycle
constexpr double wgmma_operations =
    4096;  // dense bf16 and fp16, an SM a cycle, sm_90 (docs/formats/time-model.md)
constexpr double mma_share = 0.62;  // of that rate by mma.sync, measured

GemmSetting simt_ring(const Constants& c, const GemmShape& shape) {
  GemmSetting s;
  s.bm = constant_of(c, "BLOCK_M", 128);
  s.bn = constant_of(c, "BLOCK_N", 128);
  s.bk = constant_of(c, "BLOCK_K", 16);
  s.group = constant_of(c, "GROUP_M", 1);
  s.ahead = constant_of(c, "STAGES", 2) - 1;
  s.shared = constant_of(c, "STAGES", 2) * s.bk * (s.bm + s.bn) * 4;
  s.store = s.bm * s.bn / 40;
  s.persistent = true;
  const double tm = constant_of(c, "THREAD_M", 8), tn = constant_of(c, "THREAD_N", 8),
               workers = s.bm * s.bn / (tm * tn);
  s.threads = workers + 128;
  s.resident = std::max(1.0, std::floor(256 / workers));
  const int lanes_n = 32 / static_cast<int>(constant_of(c, "LANES_M", 4));
  const FragmentReads a = simt_reads(static_cast<int>(tm), lanes_n, true),
                      b = simt_reads(static_cast<int>(tn), lanes_n, false);
  const double warps = workers / 32;
  s.math = warps * s.bk * tm * tn / fma_warps;
  s.issue = warps * s.bk * (tm * tn + a.loads + b.loads) / schedulers;
  s.reads = warps * s.bk * (a.passes + b.passes) + (s.bm + s.bn) * s.bk * 4 / shared_bytes;
  // Where neighbours along K are adjacent the producer's threads turn a slab, squares of 4 by 4 one
  // after another.
  const double squares = ((shape.trans_a ? 0 : s.bm) + (shape.trans_b ? s.bn : 0)) * s.bk / 16;
  s.turning = std::ceil(squares / 128);
  return s;
}

// Cycles of m64 by `columns` products over a slab of 128 bytes of K: the tensor cores', or of
// reading both operands.
double wgmma_cycles(double columns) { return 4 * std::max(columns / 2, 16 + columns / 4); }

// The transposed product: columns of B along the long side, all of K of a tile or a part of it in
// one block.
GemmSetting swapped(const Constants& c, const GemmShape& shape) {
  GemmSetting s;
  const double consumers = constant_of(c, "CONSUMERS", 1);
  s.bm = constant_of(c, "TILE_M", 16);
  s.bn = 64 * consumers;
  s.bk = 128 / shape.bytes;
  s.threads = 128 * consumers + 32;
  s.registers = 168;
  s.split = constant_of(c, "SPLIT", 1);
  s.ahead = constant_of(c, "STAGES", 8) - 1;
  s.shared = constant_of(c, "STAGES", 8) * (s.bm + s.bn) * 128;
  s.math = consumers * wgmma_cycles(s.bm);
  s.store = s.bm * s.bn / 8;
  return s;
}

// Columns of B straight to registers; warps share K.
GemmSetting skinny(const Constants& c, const GemmShape& shape) {
  GemmSetting s;
  const double warps = constant_of(c, "WARPS", 8), depth = constant_of(c, "DEPTH", 2);
  s.bm = constant_of(c, "TILE_M", 8);
  s.bn = constant_of(c, "WARP_N", 32);
  s.bk = 64 / shape.bytes * warps;
  s.threads = 32 * warps;
  s.registers = depth * (s.bn / 2 + s.bm / 2) + s.bn * s.bm / 32 + 24;
  s.split = constant_of(c, "SPLIT", 1);
  s.ahead = depth;
  s.shared = warps * s.bm * (s.bn + 4) * 4;
  s.math = s.bm * s.bn * s.bk * 2 / (wgmma_operations * mma_share);
  s.issue = s.math * 4 + (s.bm + s.bn) * s.bk * shape.bytes / 512;
  s.store = warps * s.bm * s.bn / 32;
  return s;
}

using Maker = GemmSetting (*)(const Constants&, const GemmShape&);
struct Row {
  std::string_view name;
  Maker make;
};
constexpr Row rows[] = {
    {"gemm_simt_ring", simt_ring}, {"gemm_swapped", swapped}, {"gemm_skinny", skinny}};

}  // namespace

std::optional<GemmShape> gemm_shape(const Task& task) {
  if (task.family != "gemm" || task.time_shapes.empty()) return std::nullopt;
  const auto& sizes = task.time_shapes.front().sizes;
  const auto size = [&](const char* axis) {
    const auto found = sizes.find(axis);
    return found == sizes.end() ? 1.0 : static_cast<double>(found->second);
  };
  GemmShape shape{size("m"), size("n"), size("k"), size("batch")};
  for (const Tensor& tensor : task.tensors) {
    if (tensor.name == "A") shape.bytes = size_of(tensor.type);
    if (tensor.name == "D") shape.out_bytes = size_of(tensor.type);
  }
  const auto flag = [&](const char* name) { return constant_of(task.constants, name, 0) != 0; };
  shape.trans_a = flag("TRANS_A");
  shape.trans_b = flag("TRANS_B");
  return shape;
}

std::optional<GemmSetting> gemm_setting(const Tunable& tunable, const Constants& constants,
                                        const GemmShape& shape) {
  for (const Row& row : rows) {
    if (row.name != tunable.name) continue;
    GemmSetting setting = row.make(constants, shape);
    const double least = constant_of(constants, "MIN_BLOCKS", 1);
    if (least > 1)
      setting.registers = std::min(setting.registers, 65536 / (setting.threads * least));
    return setting;
  }
  return std::nullopt;
}

}  // namespace cupilot
