// Counts of GEMM kernels by arithmetic: what an interpreter would count, for tests of the time
// model.
#pragma once

#include <cmath>

#include <cupilot/verdict.hpp>

namespace cupilot::test {

inline void put(ModelInput& input, Counter counter, double value) {
  input.counts[counter] = {value, value, value, CountHow::exact};
}

// Bytes brought from global to shared memory by 16-byte asynchronous copies.
inline void put_staged(ModelInput& input, double bytes) {
  put(input, Counter::async_copy_bytes, bytes);
  put(input, Counter::global_load_requests, bytes / 512);
  put(input, Counter::global_load_sectors, bytes / 32);
  put(input, Counter::shared_store_wavefronts, bytes / 128);
}

// One thread an element, blocks of 256 along n: each step of k loads one element of A (the warp's
// threads share it) and one of B, multiplies, and steps two addresses; the loop is unrolled by
// four.
inline ModelInput plain_gemm(double m, double n, double k) {
  ModelInput input;
  const double warps = m * n / 32, steps = warps * k;
  input.blocks = static_cast<std::int64_t>(m * n / 256);
  input.threads_per_block = 256;
  input.registers = 40;
  put(input, Counter::warp_instructions, steps * 4.5);
  put(input, Counter::flops_fp32, 2 * m * n * k);
  put(input, Counter::integer_ops, steps * 32 * 0.5);
  put(input, Counter::global_load_requests, 2 * steps);
  put(input, Counter::global_load_sectors, 5 * steps);
  put(input, Counter::global_store_requests, warps);
  put(input, Counter::global_store_sectors, 4 * warps);
  put(input, Counter::blocks, static_cast<double>(input.blocks));
  // L1 keeps A's sector for the warps of a block; every block streams its columns of B.
  put(input, Counter::l2_bytes, 4 * static_cast<double>(input.blocks) * (256 * k + k));
  put(input, Counter::dram_read_bytes, 4 * (m * k + k * n));
  put(input, Counter::dram_write_bytes, 4 * m * n);
  return input;
}

struct Tile {
  double bm, bn, bk, tm, tn;  // tm, tn: of a thread (SIMT) or of a warp (mma)
  int registers;
  double stages;
};

// Slabs in shared memory, tm x tn sums a thread, 128-bit shared loads of 8 x 4 thread warps (4
// rows' worth of A and 8 columns' worth of B a warp).
inline ModelInput simt_gemm(double m, double n, double k, const Tile& t) {
  ModelInput input;
  const double tiles = std::ceil(m / t.bm) * std::ceil(n / t.bn);
  const double threads = t.bm * t.bn / (t.tm * t.tn), warps = threads / 32;
  const double slabs = std::ceil(k / t.bk);
  const double steps = tiles * warps * slabs * t.bk;  // warp-steps of k
  input.blocks = static_cast<std::int64_t>(tiles);
  input.threads_per_block = static_cast<int>(threads);
  input.registers = t.registers;
  input.shared_bytes = static_cast<std::int64_t>(t.stages * (t.bm + t.bn) * t.bk * 4);
  const double loads = (t.tm + t.tn) / 4;
  const double staged = tiles * slabs * (t.bm + t.bn) * t.bk * 4;  // bytes
  put(input, Counter::warp_instructions,
      steps * (t.tm * t.tn + loads) + 3 * staged / 512 + tiles * warps * slabs * 12);
  put(input, Counter::flops_fp32, 2 * tiles * t.bm * t.bn * slabs * t.bk);
  put(input, Counter::shared_load_wavefronts, steps * (t.tm * 4 + t.tn * 8) * 4 / 128);
  put_staged(input, staged);
  put(input, Counter::global_store_requests, tiles * t.bm * t.bn / 128);
  put(input, Counter::global_store_sectors, tiles * t.bm * t.bn / 8);
  put(input, Counter::barriers, tiles * warps * slabs);
  put(input, Counter::blocks, tiles);
  put(input, Counter::l2_bytes, staged + tiles * t.bm * t.bn * 4);
  put(input, Counter::dram_read_bytes, 4 * (m * k + k * n));
  put(input, Counter::dram_write_bytes, 4 * m * n);
  input.rounds_ahead = t.stages - 1;
  return input;
}

// bf16 mma.sync m16n8k16 with ldmatrix, warps of tm x tn.
inline ModelInput mma_gemm(double m, double n, double k, const Tile& t) {
  ModelInput input;
  const double tiles = std::ceil(m / t.bm) * std::ceil(n / t.bn);
  const double warps = t.bm * t.bn / (t.tm * t.tn);
  const double slabs = std::ceil(k / t.bk);
  const double steps = tiles * warps * slabs * t.bk / 16;  // warp-steps of 16
  input.blocks = static_cast<std::int64_t>(tiles);
  input.threads_per_block = static_cast<int>(warps) * 32;
  input.registers = t.registers;
  input.shared_bytes = static_cast<std::int64_t>(t.stages * (t.bm + t.bn) * t.bk * 2);
  const double staged = tiles * slabs * (t.bm + t.bn) * t.bk * 2;
  const double mmas = t.tm / 16 * t.tn / 8;
  put(input, Counter::warp_instructions,
      steps * (mmas + (t.tm + t.tn) / 16 + 6) + 3 * staged / 512);
  put(input, Counter::ops_tensor_bf16, 2 * tiles * t.bm * t.bn * slabs * t.bk);
  put(input, Counter::shared_load_wavefronts, steps * (t.tm + t.tn) * 32 / 128);
  put_staged(input, staged);
  put(input, Counter::global_store_requests, tiles * t.bm * t.bn / 256);
  put(input, Counter::global_store_sectors, tiles * t.bm * t.bn / 16);
  put(input, Counter::barriers, tiles * warps * slabs);
  put(input, Counter::blocks, tiles);
  put(input, Counter::l2_bytes, staged + tiles * t.bm * t.bn * 2);
  put(input, Counter::dram_read_bytes, 2 * (m * k + k * n));
  put(input, Counter::dram_write_bytes, 2 * m * n);
  input.rounds_ahead = t.stages - 1;
  return input;
}

}  // namespace cupilot::test
