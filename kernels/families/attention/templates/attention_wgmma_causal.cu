/* cupilot tunable 2
{
  "name": "attention_wgmma_causal",
  "family": "attention",
  "anchor": "weighted",
  "summary": "causal attention of 16-bit elements for sm_90a: keys pass by tile after tile, those that nobody sees are left out, products by wgmma",
  "provides": ["warpgroup_keys", "tensor_map_copy", "warp_specialisation", "shared_swizzle", "skip_masked_scores"],
  "requires": ["warpgroup_keys"],
  "when": ["elem.q == 2 && elem.k == 2 && elem.v == 2 && elem.y == 2", "class.bf16 || class.fp16", "CAUSAL == 1"],
  "parameters": {
    "KEYS": {"name": "tile_keys", "technique": "warpgroup_keys", "domain": [64, 80, 96, 112, 128, 144, 160, 176], "plain": 128},
    "PLANES": {"name": "weight_planes", "technique": "warpgroup_keys", "domain": [2, 3], "plain": 2},
    "WIDTH": {"name": "head_width", "technique": "warpgroup_keys", "domain": [64, 96, 128, 192, 256], "plain": 64},
    "BLOCK_N": {"name": "head_out", "technique": "warpgroup_keys", "domain": [64, 96, 128, 192, 256], "plain": 64},
    "OVERLAP": {"name": "overlap", "technique": "warpgroup_keys", "domain": [0, 1], "plain": 1},
    "TURNS": {"name": "turns", "technique": "warpgroup_keys", "domain": [0, 1], "plain": 0},
    "CONSUMERS": {"name": "consumers", "technique": "warp_specialisation", "domain": [1, 2, 3], "plain": 2},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [2, 3, 4, 5, 6, 7, 8], "plain": 4},
    "WAVES": {"name": "waves", "technique": "persistent", "domain": [0, 1], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2], "plain": 1}
  },
  "let": {
    "lines": "max(cdiv(WIDTH, 64), cdiv(BLOCK_N, 64)) * 128",
    "stage": "KEYS * lines",
    "shared": "64 * CONSUMERS * cdiv(WIDTH, 64) * 128 + STAGES * (stage + 16) + 32",
    "weights": "PLANES * KEYS / 4",
    "held": "BLOCK_N / 2 + (OVERLAP ? KEYS / 2 + weights : max(KEYS / 2, weights) + KEYS / 4) + 36"
  },
  "restrict": [
    "dev.cc == 90",
    "held <= (CONSUMERS == 3 ? 160 : CONSUMERS == 2 ? 240 : MIN_BLOCKS > 1 ? 232 : 255)",
    "MIN_BLOCKS == 1 || CONSUMERS == 1",
    "TURNS == 0 || OVERLAP && CONSUMERS > 1",
    "OVERLAP == 0 || STAGES > 2",
    "(shared + 1024) * MIN_BLOCKS <= dev.shared + 1024"
  ],
  "plan": {
    "require": ["width % 8 == 0 && out % 8 == 0", "width <= WIDTH"],
    "let": {
      "looks": "cdiv(keys, 64)",
      "down": "cdiv(queries, 64 * CONSUMERS)",
      "across": "cdiv(out, BLOCK_N)",
      "units": "batch * across * (WAVES ? (down + 1) / 2 : down)",
      "blocks": "WAVES ? min(units, dev.sms * MIN_BLOCKS) : units"
    },
    "buffers": [
      {"name": "any", "bytes": "batch * looks * 4"},
      {"name": "last", "bytes": "batch * looks * out * 4"}
    ],
    "maps": [
      {"name": "map_q", "of": "q", "type": "i16", "dims": ["width", "queries", "batch"], "pitch": ["width * 2", "queries * width * 2"], "box": [64, "64 * CONSUMERS", 1]},
      {"name": "map_k", "of": "k", "type": "i16", "dims": ["width", "keys", "batch"], "pitch": ["width * 2", "keys * width * 2"], "box": [64, "KEYS", 1]},
      {"name": "map_v", "of": "v", "type": "i16", "dims": ["out", "keys", "batch"], "pitch": ["out * 2", "keys * out * 2"], "box": [64, "KEYS", 1]}
    ],
    "launches": [
      {"name": "look", "entry": "look_for_infinities", "grid": ["batch * looks"], "block": [256], "shared": "out * 4",
       "args": ["v", "any", "last", {"i32": "keys"}, {"i32": "out"}]},
      {"name": "main", "entry": "attention_wgmma_causal", "grid": ["blocks"], "block": ["(CONSUMERS + 1) * 128"], "shared": "shared",
       "args": ["map_q", "map_k", "map_v", "k", "y", "any", "last", {"i32": "batch"}, {"i32": "queries"}, {"i32": "keys"}, {"i32": "width"}, {"i32": "out"}]}
    ]
  },
  "model": {
    "let": {
      "rounds_met": "cdiv(keys, KEYS)",
      "rounds_seen": "min(rounds_met, (rounds_met + cdiv(64 * CONSUMERS, KEYS) + 1) / 2)",
      "items": "batch * across * down",
      "elements": "64 * CONSUMERS * KEYS",
      "multiplied": "elements * (up(WIDTH, 16) + PLANES * BLOCK_N)",
      "weighing": "elements / 32 * (weight.score + weight.plane * PLANES) + CONSUMERS * 4 * (BLOCK_N / 2 + weight.row)",
      "copied": "KEYS * (cdiv(WIDTH, 64) + cdiv(BLOCK_N, 64)) * 128",
      "rate": "class.bf16 ? dev.ops.bf16 : dev.ops.fp16",
      "group_math": "256 * 2 * (multiplied / CONSUMERS) * weight.gaps / 100 / max(rate, 1)",
      "group_weighing": "256 * (weight.score_wait + KEYS * weight.key_wait / 16)",
      "wasted": "256 * WIDTH * up(out, BLOCK_N) / max(width * out, 1)"
    },
    "blocks": "items",
    "threads": "(CONSUMERS + 1) * 128",
    "resident": "MIN_BLOCKS",
    "shared_bytes": "shared",
    "rounds": "256 * rounds_seen",
    "math": "256 * 2 * multiplied * weight.gaps / 100 / max(rate, 1)",
    "issue": "256 * weighing / 4",
    "shared": "256 * (CONSUMERS * KEYS / 16 * (WIDTH / 16 * 4 + PLANES * BLOCK_N / 4))",
    "fill": "256 * copied / weight.fill_bytes",
    "chain": "OVERLAP ? max(group_math, group_weighing) + 256 * weight.tile : group_math + group_weighing + 256 * weight.tile",
    "latency": "256 * weight.latency",
    "ahead": "STAGES / 2",
    "ends": "256 * cdiv(items, dev.sms) * (WAVES ? weight.next : weight.end)",
    "start": "256 * weight.start",
    "l2": "items * (64 * CONSUMERS * WIDTH * 2 + rounds_seen * copied) + batch * queries * out * 2 + batch * keys * out * 2",
    "dram": "batch * (queries + keys) * (width + out) * 2",
    "launches": "2",
    "traits": {"tile": "256 * elements / 4096", "groups": "256 * CONSUMERS", "turns": "256 + 256 * TURNS", "overlap": "256 + 256 * OVERLAP", "wasted": "wasted"}
  }
}
*/
// warpgroup_keys.cuh says how a block works. It meets no values of keys that none of its queries
// sees, although zero times an infinity is no zero: a launch before finds the last such value of
// each column, and queries that do not see it get NaN there.
#include "cupilot/pairs.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/ring.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/wgmma.cuh"
#include "cupilot/scores.cuh"
#include "cupilot/exponentials.cuh"

constexpr int SKIP = 1;
#include "cupilot/warpgroup_keys.cuh"

// Marks the elements of a pair that are not finite by the highest bit of each.
__device__ __forceinline__ unsigned infinities(unsigned pair) {
  constexpr unsigned least = same<T, bf16> ? 0x00800080u : 0x04000400u;  // of the exponents
  return ((pair & 0x7fff7fffu) + least) & 0x80008000u;
}

// A block looks at LOOK keys of a batch, eight columns a thread.
extern "C" __global__ void __launch_bounds__(256)
    look_for_infinities(const T* v, int* any, int* last, int keys, int out) {
  extern __shared__ int found[];
  const int parts = (keys + LOOK - 1) / LOOK, part = static_cast<int>(blockIdx.x) % parts;
  const long long batch = blockIdx.x / parts;
  const int groups = out / 8, lanes = min(groups, 256), per = 256 / lanes;
  const int first = part * LOOK, end = min(keys, first + LOOK);
  const uint4* from = reinterpret_cast<const uint4*>(v) + batch * keys * groups;
  for (int column = static_cast<int>(threadIdx.x); column < out; column += 256) found[column] = 0;
  __syncthreads();
  bool mine = false;
  const int row = static_cast<int>(threadIdx.x) / lanes;
  for (int group = static_cast<int>(threadIdx.x) % lanes; row < per && group < groups;
       group += lanes) {
#pragma unroll 1
    for (int key = first + row; key < end; key += 4 * per) {
      uint4 loaded[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        loaded[i] = key + i * per < end
                        ? from[static_cast<long long>(key + i * per) * groups + group]
                        : uint4{0, 0, 0, 0};
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned words[4] = {infinities(loaded[i].x), infinities(loaded[i].y),
                                   infinities(loaded[i].z), infinities(loaded[i].w)};
        if ((words[0] | words[1] | words[2] | words[3]) == 0) continue;
        mine = true;
#pragma unroll
        for (int column = 0; column < 8; ++column) {
          if (words[column / 2] >> (column % 2 * 16 + 15) & 1)
            atomicMax(found + group * 8 + column, key + i * per + 1);
        }
      }
    }
  }
  const int some = __syncthreads_or(mine);
  if (threadIdx.x == 0) any[blockIdx.x] = some;
  if (some == 0) return;
  for (int column = static_cast<int>(threadIdx.x); column < out; column += 256)
    last[static_cast<long long>(blockIdx.x) * out + column] = found[column];
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    attention_wgmma_causal(const __grid_constant__ TensorMap map_q,
                           const __grid_constant__ TensorMap map_k,
                           const __grid_constant__ TensorMap map_v, const T*, T* y, const int* any,
                           const int* last, int batches, int queries, int keys, int width,
                           int out SCORE_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  attend(shared, map_q, map_k, map_v, SCORES(width), y, any, last, {batches, queries, keys, out});
}
