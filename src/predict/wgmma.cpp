// The price of gemm_wgmma, whose blocks stay and take one tile after another
// (kernels/device/ring_gemm.cuh).
#include <algorithm>
#include <cmath>

#include "predict/parts.hpp"

namespace cupilot {
namespace {

constexpr double wgmma_overlap = 6;  // exponent of the norm that joins what an SM does for a slab
constexpr double wgmma_memory_overlap = 4;     // the same for the SMs, L2 and DRAM
constexpr double wgmma_latency_cycles = 1000;  // of a slab until its first bytes are there
constexpr double issue_cycles = 80;  // of a slab: waits for its barrier, descriptors, release
constexpr double start_cycles = 1500;
constexpr double wgmma_fill_bytes = 72;  // from L2 into one SM, a cycle
constexpr double ring_bytes = 110;  // of shared memory, a cycle, beside the products' own reads
constexpr double shared_requests =
    1.2;  // of L2's rate: SMs side by side ask for the same lines, which it sends once
constexpr double dram_share = 0.92;       // of the sustained rate
constexpr double tensor_slowdown = 0.21;  // of the clock where the tensor cores never idle
                                          // (docs/results/hopper-gemm/tensor-clock.json)
constexpr double turn_share =
    0.15;  // of storing in ping-pong, that the other consumer's products do not hide
constexpr double tile_cycles = 300;
constexpr double deferred_share = 0.3;
constexpr double straddling = 1.3;    // boxes of B that straddle lines
constexpr double half_sectors = 1.4;  // and begin within a sector
constexpr double row_bytes = 128;     // of K in a slab

// Of parts of a tile. Whoever comes last reads all of them, and is late for its next tile, so that
// it comes last again.
constexpr double wgmma_join_cycles = 3400;  // fence, ticket, fence
constexpr double wgmma_join_bytes = 19;     // written and read, an SM a cycle
constexpr double join_element = 0.8;        // cycles of a consumer's element: stored, ordered
constexpr double part_cycles = 330, part_element = 0.07;  // of each part that the last one reads

// Cycles of m64 by `columns` products over a slab: the tensor cores', or of reading both operands.
double product_cycles(double columns) { return 4 * std::max(columns / 2, 16 + columns / 4); }

double up(double value, double step) { return std::ceil(value / step) * step; }

struct Ring {
  double tile_m = 128, bm = 256, bn = 128, stages = 4, consumers = 2, cluster_m = 1, cluster_n = 1,
         group = 1;
  bool turns = false, strips = false, deferred = false;
  double math = 0, fill = 0, waits = 0, slab = 0,
         store = 0;           // cycles: the first four of a slab, the last of a tile
  double fed = 0, stage = 0;  // bytes of a slab that L2 delivers, that the ring holds

  Ring(const Constants& c, const GemmShape& shape) {
    turns = constant_of(c, "PING_PONG", 0) > 0;
    tile_m = constant_of(c, "TILE_M", 128);
    consumers = constant_of(c, "CONSUMERS", 2);
    bm = tile_m * (turns ? 1 : consumers);
    bn = constant_of(c, "TILE_N", 128);
    stages = constant_of(c, "STAGES", 4);
    cluster_m = constant_of(c, "CLUSTER_M", 1);
    cluster_n = constant_of(c, "CLUSTER_N", 1);
    group = constant_of(c, "GROUP_M", 1);
    strips = constant_of(c, "STRIPS", 0) > 0;
    deferred = constant_of(c, "DEFERRED", 0) > 0;
    feed(shape);
    math = bm / 64 * product_cycles(bn);
    fill = fed / wgmma_fill_bytes;
    waits = (wgmma_latency_cycles + fill) / std::max(1.0, stages - 1);
    slab = joined({joined({math, fill, stage / ring_bytes}, wgmma_overlap), waits, issue_cycles},
                  wgmma_overlap);
    store = tile_m * bn / (strips ? 8 : 5) * (deferred ? deferred_share : 1) + tile_cycles;
  }

  void feed(const GemmShape& shape) {
    const double wide = shape.trans_b ? bn : up(bn, 64);
    double asked = wide;
    if (!shape.trans_b && wide != bn)
      asked *= straddling * (std::fmod(bn * shape.bytes, 32) != 0 ? half_sectors : 1);
    fed = (bm / cluster_n + asked / cluster_m) * row_bytes;
    stage = (bm + wide) * row_bytes;
  }
  double cluster() const { return cluster_m * cluster_n; }
};

// What one cluster does, as the plan of gemm_wgmma.cu deals it.
struct DealtTiles {
  double tiles = 1, all = 1, chunk = 1, split = 1, clusters = 1, streamed = 0, slabs = 1,
         stored = 1;

  DealtTiles(const Ring& ring, const Constants& c, const GemmShape& shape,
             const DeviceSpec& device) {
    const double stream = constant_of(c, "STREAM", 0);
    tiles = std::ceil(shape.m / (ring.bm * ring.cluster_m)) *
            std::ceil(shape.n / (ring.bn * ring.cluster_n)) * shape.batch;
    all = std::ceil(shape.k * shape.bytes / row_bytes);
    chunk = std::ceil(all / std::min(constant_of(c, "SPLIT", 1), all));
    split = std::ceil(all / chunk);
    const double items = tiles * split;
    const double most =
        std::min(stream > 0 ? tiles * all : items, std::floor(device.sms / ring.cluster()));
    const double even = std::ceil(items / std::ceil(items / most));
    clusters = stream == 0 && even * 8 >= most * 7 ? even : most;
    const double whole = (std::floor(tiles / clusters) - (stream > 1 ? 1 : 0)) * clusters;
    if (stream > 0 && std::fmod(tiles, clusters) != 0) streamed = tiles - std::max(whole, 0.0);
    const double turns = std::ceil(items / clusters);
    slabs = streamed > 0 ? tiles * all / clusters : turns * chunk;
    stored = streamed > 0 ? tiles / clusters + 1 : turns;
  }

  double part_bytes(const Ring& ring) const {
    const double parts = split > 1 ? tiles * split : streamed > 0 ? streamed + clusters : 0;
    return 2 * parts * ring.cluster() * ring.bm * ring.bn * 4;
  }
};

double joining_cycles(const Ring& ring, const DealtTiles& deal) {
  const double bytes = ring.bm * ring.bn * 8 / wgmma_join_bytes, elements = ring.tile_m * ring.bn;
  if (deal.split > 1)
    return deal.stored * (wgmma_join_cycles + bytes + elements * join_element +
                          deal.split * (part_cycles + part_element * elements));
  return deal.streamed > 0 ? wgmma_join_cycles + bytes : 0;
}

}  // namespace

PricedGemm price_wgmma(const Constants& c, const GemmShape& shape, const DeviceSpec& device) {
  const Ring ring(c, shape);
  const DealtTiles deal(ring, c, shape, device);
  const double stores =
      ring.turns ? deal.stored * ring.store * turn_share + ring.store : deal.stored * ring.store;
  const double cycles = deal.slabs * ring.slab + stores + joining_cycles(ring, deal) + start_cycles;
  const double busy = std::min(1.0, deal.slabs * ring.math / cycles);
  const double us = 1e6 / (sustained_clock(device) * (1 - tensor_slowdown * busy));
  const double blocks = deal.clusters * ring.cluster(),
               outputs = shape.m * shape.n * shape.batch * shape.out_bytes;
  const double parts = deal.part_bytes(ring);
  const double moved = deal.tiles * ring.cluster() * deal.all * ring.fed + outputs + parts;
  const double l2 = moved / (device.l2_bytes_per_s * shared_requests) * 1e6;
  const double operands =
      operand_dram_bytes(shape, device, ring.bm, ring.bn, blocks, ring.group * ring.cluster_m);
  const bool spilled = parts > resident_in_l2 * static_cast<double>(device.l2_bytes);
  const double dram =
      (operands + outputs + (spilled ? parts : 0)) / (device.dram_sustained * dram_share) * 1e6;
  PricedGemm priced;
  priced.us = joined({cycles * us, l2, dram}, wgmma_memory_overlap) + device.launch_seconds * 1e6;
  const double slabs = deal.slabs * us / priced.us;
  priced.resources = {
      of_size * log2_of(priced.us),
      log2_of(slabs * ring.math),
      log2_of(slabs * ring.fill),
      log2_of(slabs * ring.waits),
      log2_of(deal.stored * ring.store * us / priced.us),
      log2_of(l2 / priced.us),
      log2_of(dram / priced.us),
      log2_of(cycles * us / priced.us),
      log2_of(slabs * issue_cycles),
      log2_of(deal.slabs * deal.clusters / (deal.tiles * deal.all)),
      log2_of(device.sms / blocks),
      log2_of(deal.split),
      deal.streamed > 0 ? 1.0 : 0.0,
      of_size * log2_of(deal.chunk),
      of_size * log2_of(deal.stored),
      log2_of(1 + parts / 1e6) / 4,
      log2_of(ring.stages * ring.stage / 1e5),
      log2_of(operands / ((shape.m + shape.n) * shape.k * shape.bytes * shape.batch)),
      busy};
  return priced;
}

}  // namespace cupilot
