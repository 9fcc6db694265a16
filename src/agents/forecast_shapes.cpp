#include "agents/forecast_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

namespace cupilot {
namespace {

constexpr double schedulers = 4;
constexpr double fma_warps = 4;            // warp multiply-adds an SM a cycle
constexpr double shared_bytes = 128;       // a cycle
constexpr double wgmma_operations = 4096;  // dense bf16 and fp16, an SM a cycle, sm_90 (docs/formats/time-model.md)
constexpr double mma_share = 0.62;         // of that rate by mma.sync, measured
constexpr double load_issues = 2;          // instructions a load from global memory needs, addresses included

double value(const Constants& constants, std::string_view name, double otherwise) {
  const auto found = constants.find(std::string(name));
  return found == constants.end() ? otherwise : static_cast<double>(found->second);
}

// Instructions that read `side` operands of a thread from shared memory, where neighbours lie together or not.
double fragment_loads(double side, bool together) {
  return together && side >= 4 ? side / 4 : together && side >= 2 ? side / 2 : side;
}

GemmSetting staged_tile(const Constants& c) {
  GemmSetting s;
  s.bm = value(c, "BLOCK_M", 64);
  s.bn = value(c, "BLOCK_N", 64);
  s.bk = value(c, "BLOCK_K", 16);
  s.split = value(c, "SPLIT", 1);
  s.group = value(c, "GROUP_M", 1);
  const double stages = value(c, "STAGES", 1);
  s.ahead = stages > 1 ? (value(c, "ASYNC", 0) > 0 ? stages - 1 : 1) : 0.7 * value(c, "PREFETCH", 0);
  s.store = s.bm * s.bn / 4 / (value(c, "STORE_VECTOR", 1) > 1 ? 16 : 10);
  return s;
}

// Copying a slab to shared memory by the threads themselves.
void add_copies(GemmSetting& s, const Constants& c, const GemmShape& shape) {
  const double bytes = (s.bm + s.bn) * s.bk * shape.bytes;
  const double loads = bytes / (value(c, "VECTOR", 1) * shape.bytes) / 32;
  s.issue += loads * load_issues * (value(c, "ASYNC", 0) > 0 ? 1 : 2) / schedulers;
  s.reads += loads + bytes / shared_bytes;
  // Vectors that come by registers stand in a branch each, for rows that are not aligned: the next load waits for the last.
  if (value(c, "ASYNC", 0) == 0 && value(c, "VECTOR", 1) > 1) s.serial = loads * 32 / s.threads;
}

void multiply_simt(GemmSetting& s, const Constants& c, const GemmShape& shape, double warps, bool turned) {
  const double tm = value(c, "THREAD_M", 8), tn = value(c, "THREAD_N", 8);
  const double lanes_m = value(c, "LANES_M", 4), lanes_n = 32 / lanes_m;
  const double a = fragment_loads(tm, shape.trans_a || turned), b = fragment_loads(tn, !shape.trans_b || turned);
  s.math = warps * s.bk * tm * tn / fma_warps;
  s.issue = warps * s.bk * (tm * tn + a + b + 1.5) / schedulers;
  s.reads = warps * s.bk * (std::max(a, lanes_m * tm / 32) + std::max(b, lanes_n * tn / 32));
}

GemmSetting simt(const Constants& c, const GemmShape& shape) {
  GemmSetting s = staged_tile(c);
  const double tm = value(c, "THREAD_M", 8), tn = value(c, "THREAD_N", 8);
  s.threads = s.bm * s.bn / (tm * tn);
  s.registers = tm * tn + (tm + tn) * (1 + value(c, "FRAGMENTS", 0)) + 30;
  if (value(c, "ASYNC", 0) == 0) s.registers += (s.bm + s.bn) * s.bk * shape.bytes / 4 / s.threads;
  s.shared = value(c, "STAGES", 1) * s.bk * (s.bm + s.bn + 2 * value(c, "PAD", 0)) * 4;
  multiply_simt(s, c, shape, s.threads / 32, value(c, "TRANSPOSE", 0) > 0);
  add_copies(s, c, shape);
  return s;
}

GemmSetting simt_ring(const Constants& c, const GemmShape& shape) {
  GemmSetting s = staged_tile(c);
  const double workers = s.bm * s.bn / (value(c, "THREAD_M", 8) * value(c, "THREAD_N", 8));
  s.threads = workers + 128;
  s.shared = value(c, "STAGES", 2) * s.bk * (s.bm + s.bn) * 4;
  s.ahead = value(c, "STAGES", 2) - 1;
  s.persistent = true;
  s.resident = std::max(1.0, std::floor(256 / workers));
  multiply_simt(s, c, shape, workers / 32, true);
  s.reads += (s.bm + s.bn) * s.bk * 4 / shared_bytes;
  return s;
}

GemmSetting mma(const Constants& c, const GemmShape& shape) {
  GemmSetting s = staged_tile(c);
  const double wm = value(c, "WARP_M", 32), wn = value(c, "WARP_N", 32), pad = value(c, "PAD", 0);
  const double warps = s.bm / wm * (s.bn / wn), steps = warps * s.bk * shape.bytes / 32;
  const bool wide = value(c, "LDMATRIX", 0) > 0, spread = value(c, "SWIZZLE", 0) > 0 || pad > 0;
  s.threads = 32 * warps;
  s.registers = wm * wn / 32 + (wm + wn) / 4 * (1 + value(c, "FRAGMENTS", 0)) + 40;
  if (value(c, "ASYNC", 0) == 0) s.registers += (s.bm + s.bn) * s.bk * shape.bytes / 128 / warps;
  const double a = shape.trans_a ? s.bk * (s.bm + pad) : s.bm * (s.bk + pad);
  const double b = shape.trans_b ? s.bn * (s.bk + pad) : s.bk * (s.bn + pad);
  s.shared = std::max(value(c, "STAGES", 1) * (a + b) * shape.bytes, value(c, "STAGED", 0) * warps * 16 * (wn + 8) * 4);
  const double products = steps * wm / 16 * wn / 8;
  s.math = products * 16 * 8 * 32 / shape.bytes * 2 / (wgmma_operations * 2 / shape.bytes * mma_share);
  const double loads = steps * (wm / 16 * (wide ? 1 : 4) + wn / 8 * (wide ? 0.5 : 2));
  s.issue = (products + 1.5 * loads) * 1.2 / schedulers;
  s.reads = steps * (wm / 4 + wn / 4) * (spread ? 1 : 4) * (wide ? 1 : 1.3);
  add_copies(s, c, shape);
  return s;
}

// Cycles of m64 by `columns` products over a slab of 128 bytes of K: the tensor cores', or of reading both operands.
double wgmma_cycles(double columns) { return 4 * std::max(columns / 2, 16 + columns / 4); }

GemmSetting wgmma(const Constants& c, const GemmShape& shape) {
  GemmSetting s;
  const bool turns = value(c, "PING_PONG", 0) > 0;
  const double tile_m = value(c, "TILE_M", 128), consumers = value(c, "CONSUMERS", 2);
  s.bm = tile_m * (turns ? 1 : consumers);
  s.bn = value(c, "TILE_N", 128);
  s.bk = 128 / shape.bytes;
  s.threads = 128 * (consumers + 1);
  s.split = value(c, "SPLIT", 1);
  s.group = value(c, "GROUP_M", 1);
  s.ahead = value(c, "STAGES", 4) - 1;
  s.cluster_m = value(c, "CLUSTER_M", 1);
  s.cluster_n = value(c, "CLUSTER_N", 1);
  s.math = s.bm / 64 * wgmma_cycles(s.bn);
  s.store = turns ? 0 : tile_m * s.bn / (value(c, "STRIPS", 0) > 0 ? 8 : 5) * (value(c, "DEFERRED", 0) > 0 ? 0.4 : 1);
  s.resident = 1;
  s.persistent = true;
  s.even = value(c, "STREAM", 0) > 0;
  return s;
}

// The transposed product: columns of B along the long side, all of K of a tile or a part of it in one block.
GemmSetting swapped(const Constants& c, const GemmShape& shape) {
  GemmSetting s;
  const double consumers = value(c, "CONSUMERS", 1);
  s.bm = value(c, "TILE_M", 16);
  s.bn = 64 * consumers;
  s.bk = 128 / shape.bytes;
  s.threads = 128 * consumers + 32;
  s.registers = 168;
  s.split = value(c, "SPLIT", 1);
  s.ahead = value(c, "STAGES", 8) - 1;
  s.shared = value(c, "STAGES", 8) * (s.bm + s.bn) * 128;
  s.math = consumers * wgmma_cycles(s.bm);
  s.store = s.bm * s.bn / 8;
  return s;
}

// Columns of B straight to registers; warps share K.
GemmSetting skinny(const Constants& c, const GemmShape& shape) {
  GemmSetting s;
  const double warps = value(c, "WARPS", 8), depth = value(c, "DEPTH", 2);
  s.bm = value(c, "TILE_M", 8);
  s.bn = value(c, "WARP_N", 32);
  s.bk = 64 / shape.bytes * warps;
  s.threads = 32 * warps;
  s.registers = depth * (s.bn / 2 + s.bm / 2) + s.bn * s.bm / 32 + 24;
  s.split = value(c, "SPLIT", 1);
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
constexpr Row rows[] = {{"gemm_simt", simt},   {"gemm_simt_ring", simt_ring}, {"gemm_mma", mma},
                        {"gemm_wgmma", wgmma}, {"gemm_swapped", swapped},     {"gemm_skinny", skinny}};

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
  const auto flag = [&](const char* name) { return value(task.constants, name, 0) != 0; };
  shape.trans_a = flag("TRANS_A");
  shape.trans_b = flag("TRANS_B");
  return shape;
}

std::optional<GemmSetting> gemm_setting(const Tunable& tunable, const Constants& constants, const GemmShape& shape) {
  for (const Row& row : rows) {
    if (row.name != tunable.name) continue;
    GemmSetting setting = row.make(constants, shape);
    const double least = value(constants, "MIN_BLOCKS", 1);
    if (least > 1) setting.registers = std::min(setting.registers, 65536 / (setting.threads * least));
    return setting;
  }
  return std::nullopt;
}

}  // namespace cupilot
