// Prices of the templates that gemm_setting describes: blocks of one kind of tile.
#include <algorithm>
#include <cmath>

#include "predict/parts.hpp"

namespace cupilot {
namespace {

constexpr double tile_overlap = 6;         // exponent of the norm that joins an SM's pipes
constexpr double tile_memory_overlap = 5;  // the same for the SMs, L2 and DRAM
constexpr double warp_slack = 0.4;   // issue slots lost by a scheduler with one warp to choose from
constexpr double round_cycles = 60;  // of a barrier and the first reads after it
constexpr double tile_latency_cycles =
    900;  // of a slab that mostly comes from L2, until its first bytes are there
constexpr double fill_bytes = 55;          // from L2 into one SM, a cycle
constexpr double tile_join_cycles = 4000;  // of parts of a tile: fence, ticket, fence
constexpr double tile_join_bytes = 40;     // of parts, written and read again, an SM a cycle

// A setting at a shape on a device: how tiles, parts and slabs are dealt.
struct Deal {
  const GemmSetting& set;
  double resident = 1, tiles = 1, chunk = 1, split = 1, turns = 1, fill = 0, slab_bytes = 0;

  Deal(const GemmShape& shape, const GemmSetting& setting, const DeviceSpec& device)
      : set(setting) {
    resident = set.resident > 0
                   ? set.resident
                   : std::max(1, resident_blocks(device, static_cast<int>(set.threads),
                                                 static_cast<int>(set.registers),
                                                 static_cast<std::int64_t>(set.shared)));
    tiles = std::ceil(shape.m / set.bm) * std::ceil(shape.n / set.bn) * shape.batch;
    const double slabs = std::ceil(shape.k / set.bk);
    chunk = std::ceil(slabs / std::min(set.split, slabs));
    split = std::ceil(slabs / chunk);
    turns = std::ceil(tiles * split / device.sms);
    slab_bytes = (set.bm + set.bn) * set.bk * shape.bytes;
    fill = slab_bytes / fill_bytes;
  }

  double parts_bytes() const { return split > 1 ? 2 * tiles * split * set.bm * set.bn * 4 : 0; }
};

// Cycles of one slab of `active` blocks side by side on an SM.
double slab_cycles(const Deal& deal, double active) {
  const GemmSetting& set = deal.set;
  const double warps = std::max(0.25, active * set.threads / 32 / 4);
  const double one =
      joined({set.math, set.issue, set.reads, deal.fill}, tile_overlap) * (1 + warp_slack / warps);
  const double latency = tile_latency_cycles + deal.fill;
  if (set.persistent)
    return joined({active * one, (latency + one) / std::max(1.0, set.ahead),
                   set.turning * tile_latency_cycles},
                  tile_overlap);
  const double waits = round_cycles + std::max(0.0, latency - set.ahead * active * one);
  return one + joined({(active - 1) * one, waits}, 3);
}

// Cycles of the busiest SM. The last, smaller group of blocks is priced half as its own, half as
// its share of a full one.
double busiest(const Deal& deal) {
  const double mine = deal.turns, r = deal.resident;
  const double full = std::floor(mine / r), rest = mine - full * r;
  const double group = slab_cycles(deal, r) * deal.chunk;
  double cycles = full * group;
  if (rest > 0 && full == 0) cycles = slab_cycles(deal, rest) * deal.chunk;
  if (rest > 0 && full > 0) cycles += (slab_cycles(deal, rest) * deal.chunk + rest / r * group) / 2;
  cycles += mine * deal.set.store + tile_latency_cycles;
  if (deal.split > 1)
    cycles += tile_join_cycles + mine * deal.set.bm * deal.set.bn * 4 / tile_join_bytes;
  return cycles;
}

}  // namespace

PricedGemm price_tiles(const GemmSetting& set, const GemmShape& shape, const DeviceSpec& device) {
  const Deal deal(shape, set, device);
  const double us = 1e6 / sustained_clock(device), blocks = deal.tiles * deal.split,
               parts = deal.parts_bytes();
  const double outputs = shape.m * shape.n * shape.batch * shape.out_bytes;
  const double l2 =
      (blocks * deal.chunk * deal.slab_bytes + outputs + parts) / device.l2_bytes_per_s * 1e6;
  const bool spilled = parts > resident_in_l2 * static_cast<double>(device.l2_bytes);
  const double operands =
      operand_dram_bytes(shape, device, set.bm, set.bn, device.sms * deal.resident, set.group);
  const double dram = (operands + outputs + (spilled ? parts : 0)) / device.dram_sustained * 1e6;
  PricedGemm priced;
  priced.us =
      joined({busiest(deal) * us, l2, dram}, tile_memory_overlap) + device.launch_seconds * 1e6;
  const double slabs = deal.turns * deal.chunk * us / priced.us;
  priced.resources = {
      of_size * log2_of(priced.us),
      log2_of(slabs * set.math),
      log2_of(slabs * set.issue),
      log2_of(slabs * set.reads),
      log2_of(slabs * deal.fill),
      log2_of(l2 / priced.us),
      log2_of(dram / priced.us),
      log2_of(slabs * tile_latency_cycles / std::max(1.0, set.ahead * deal.resident)),
      log2_of(deal.resident),
      log2_of(set.threads * deal.resident / 32),
      log2_of(std::max(1.0, set.registers)),
      of_size * log2_of(deal.turns),
      log2_of(deal.split),
      of_size * log2_of(deal.chunk),
      log2_of(1 + set.turning)};
  return priced;
}

}  // namespace cupilot
