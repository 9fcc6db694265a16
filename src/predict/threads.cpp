// Prices of gemm_simt and gemm_mma, whose every thread both fills and drains
// (kernels/device/pipeline.cuh).
#include <algorithm>
#include <cmath>

#include "predict/access.hpp"
#include "predict/parts.hpp"

namespace cupilot {
namespace {

constexpr double overlap = 4;         // exponent of the norm that joins an SM's pipes
constexpr double wait_overlap = 3;    // the same for a block's own waits and the other blocks' work
constexpr double memory_overlap = 5;  // the same for the SMs, L2 and DRAM
constexpr double latency_cycles = 750;  // of a load that mostly comes from L2
constexpr double hidden_by_prefetch =
    0.6;  // of a slab's own cycles, that much of the next one's latency
constexpr double waits_in_turn = 0.85;  // of the latency, each further load that waits for the last
constexpr double barrier_cycles = 40;
constexpr double end_cycles = 2000;   // before a block's first slab and after its last
constexpr double join_cycles = 4000;  // of parts of a tile: fence, ticket, fence
constexpr double join_bytes = 20;     // of parts, written and read again, an SM a cycle
constexpr double spill_accesses = 2;  // of a register that does not fit, a slab: written and read
constexpr double l1_bytes_least = 8192;
constexpr double registers_a_thread = 255;

// One block and slab; cycles where nothing else is said.
struct ThreadGemm {
  double bm = 1, bn = 1, bk = 1, threads = 32, split = 1, group = 1;
  double math = 0, issue = 0,
         reads = 0;      // of the block's multiply pipe, the schedulers, shared memory
  double chain = 0;      // of one warp alone, waits for shared memory and its own products included
  double registers = 0;  // that a thread wants
  double shared = 0;     // bytes
  double fragment_loads = 0;                                     // a warp
  double requests = 0, sectors = 0, passes = 0, copy_issue = 0;  // of copies, warp-wide
  double held = 0, fetched = 0,
         started = 0;  // a thread: words on their way by registers, such copies, asynchronous ones
  double serial = 0;   // copies of a thread that wait for one another
  double store_rate = 32;  // elements of a tile stored a cycle
  double fill_bytes = 50;  // from L2 into one SM, a cycle
};

// Loads by registers stand in a branch each, for rows that are not aligned or slabs that are not
// whole, and so wait for one another; where parts of K have a path for whole slabs alone, the
// compiler issues them together, unless they carry a hint and so are volatile. Seen in the times of
// kernels that differ in nothing else (docs/formats/time-model.md).
bool issued_together(const Constants& c) {
  return constant_of(c, "FULL_PATH", 0) > 0 && constant_of(c, "SPLIT", 1) > 1 &&
         constant_of(c, "CACHE_HINT", 0) == 0;
}

struct CopyCost {
  double async_issue = 1, register_issue = 1;  // instructions a copy
  bool serial = false;                         // copies by registers wait for one another
};

void add_copies(ThreadGemm& g, const Side& side, bool async, double passes, const CopyCost& cost) {
  const double requests = copy_requests(side), each = std::ceil(requests * 32 / g.threads);
  g.requests += requests;
  g.sectors += requests * copy_sectors(side);
  g.passes += requests * passes;
  g.copy_issue += requests * (async ? cost.async_issue : cost.register_issue);
  if (async) {
    g.started += each;
  } else {
    g.fetched += each;
    g.held += each * std::max(1.0, side.width * side.bytes / 4.0);
    if (cost.serial) g.serial += each;
  }
}

// Cycles that a block waits for its next slab beyond what it does meanwhile.
double exposed(const ThreadGemm& g, const Constants& c) {
  const double stages = constant_of(c, "STAGES", 1), fill = g.sectors * 32 / g.fill_bytes;
  if (g.fetched == 0) {
    const double whole = latency_cycles + fill;
    return stages > 1 ? std::max(0.0, whole - (stages - 1) * g.chain) : whole;
  }
  const double all = latency_cycles * std::max(1.0, g.serial * waits_in_turn);
  if (constant_of(c, "PREFETCH", 0) == 0) return all;
  return std::max(latency_cycles * 0.1, latency_cycles - g.chain * hidden_by_prefetch) + all -
         latency_cycles;
}

// How the tiles of a shape are dealt to a device.
struct Dealt {
  double resident = 1, slabs = 1, split = 1, blocks = 1, mine = 1, active = 1,
         limit = registers_a_thread;

  Dealt(const ThreadGemm& g, const Constants& c, const GemmShape& shape, const DeviceSpec& device) {
    const double least = std::max(1.0, constant_of(c, "MIN_BLOCKS", 1));
    limit = std::min(registers_a_thread, device.registers_per_sm / (g.threads * least));
    const double used = std::clamp(g.registers, 16.0, std::max(16.0, limit));
    resident =
        std::max(1, resident_blocks(device, static_cast<int>(g.threads), static_cast<int>(used),
                                    static_cast<std::int64_t>(g.shared)));
    const double all = std::ceil(shape.k / g.bk);
    slabs = std::ceil(all / std::min(g.split, all));
    split = std::ceil(all / slabs);
    blocks = std::ceil(shape.m / g.bm) * std::ceil(shape.n / g.bn) * shape.batch * split;
    mine = std::ceil(blocks / device.sms);
    active = std::min(resident, std::max(1.0, blocks / device.sms));
  }
};

// What registers that do not fit cost: local memory, through L1 as far as it holds them.
struct Spills {
  double registers = 0, bytes = 0, missed = 0;

  Spills(const ThreadGemm& g, const Dealt& deal, const DeviceSpec& device) {
    registers = std::max(0.0, g.registers - deal.limit);
    bytes = registers * g.threads * 4 * spill_accesses;
    const double l1 = static_cast<double>(device.shared_per_sm) - deal.resident * (g.shared + 1024);
    if (registers > 0)
      missed = std::clamp(
          deal.resident * g.threads * registers * 4 / std::max(l1, l1_bytes_least) - 0.5, 0.0, 1.0);
  }
};

// Cycles of the busiest SM. Blocks come in groups of what fits; the last, smaller group is priced
// half as its own, half as its share of a full one.
double busiest(const Dealt& deal, double one, double own, double fill) {
  const auto group = [&](double active) {
    return joined({active * one, own + 0.5 * fill}, wait_overlap) * deal.slabs;
  };
  const double full = std::floor(deal.mine / deal.resident),
               rest = deal.mine - full * deal.resident;
  if (full == 0) return group(rest);
  return full * group(deal.resident) +
         (rest > 0 ? (group(rest) + rest / deal.resident * group(deal.resident)) / 2 : 0);
}

PricedGemm price(const ThreadGemm& g, const Constants& c, const GemmShape& shape,
                 const DeviceSpec& device) {
  const Dealt deal(g, c, shape, device);
  const Spills spill(g, deal, device);
  const double us = 1e6 / sustained_clock(device), outputs = shape.m * shape.n * shape.batch;
  const double fill = (g.sectors * 32 + spill.bytes * spill.missed) / g.fill_bytes,
               waits = exposed(g, c);
  const double reads = g.reads + spill.bytes / 128, own = g.chain + waits;
  const double one = joined({g.math, g.issue, reads, fill}, overlap);
  const double ends = deal.mine * (end_cycles / deal.active + g.bm * g.bn / g.store_rate);
  const double parts = deal.split > 1 ? 2 * deal.blocks * g.bm * g.bn * 4 : 0;
  double cycles = busiest(deal, one, own, fill) + ends + end_cycles;
  if (deal.split > 1)
    cycles += join_cycles + deal.mine * g.bm * g.bn * 4 / join_bytes / std::min(deal.active, 2.0);
  const double moved = deal.blocks * deal.slabs * (g.sectors * 32 + spill.bytes * spill.missed);
  const double l2 = (moved + outputs * shape.bytes + parts) / device.l2_bytes_per_s * 1e6;
  const bool spilled = parts > resident_in_l2 * static_cast<double>(device.l2_bytes);
  const double operands =
      operand_dram_bytes(shape, device, g.bm, g.bn, device.sms * deal.resident, g.group);
  const double dram =
      (operands + outputs * shape.bytes + (spilled ? parts : 0)) / device.dram_sustained * 1e6;
  PricedGemm priced;
  priced.us = joined({cycles * us, l2, dram}, memory_overlap) + device.launch_seconds * 1e6;
  const double a_cycle =
      deal.blocks * deal.slabs / std::min<double>(device.sms, deal.blocks) * us / priced.us;
  priced.resources = {of_size * log2_of(priced.us),
                      log2_of(g.math * a_cycle),
                      log2_of(g.issue * a_cycle),
                      log2_of(reads * a_cycle),
                      log2_of(fill * a_cycle),
                      log2_of(own * a_cycle / deal.active),
                      log2_of(waits * a_cycle / deal.active),
                      log2_of(l2 / priced.us),
                      log2_of(dram / priced.us),
                      log2_of(deal.resident),
                      log2_of(g.threads / 32 * deal.active),
                      log2_of(g.registers),
                      log2_of(1 + spill.registers),
                      log2_of(1 + g.serial),
                      log2_of(deal.split),
                      of_size * log2_of(deal.mine),
                      of_size * log2_of(deal.slabs),
                      log2_of(ends * us / priced.us),
                      log2_of(deal.mine * device.sms / deal.blocks),
                      log2_of(g.chain),
                      log2_of(g.fragment_loads)};
  return priced;
}

ThreadGemm with_tiles(const Constants& c) {
  ThreadGemm g;
  g.bm = constant_of(c, "BLOCK_M", 64);
  g.bn = constant_of(c, "BLOCK_N", 64);
  g.bk = constant_of(c, "BLOCK_K", 16);
  g.split = constant_of(c, "SPLIT", 1);
  g.group = constant_of(c, "GROUP_M", 1);
  return g;
}

Side side_of(const Constants& c, const GemmShape& shape, bool rows) {
  Side side;
  side.k_fast = rows ? !shape.trans_a : shape.trans_b;
  side.outer = static_cast<int>(constant_of(c, rows ? "BLOCK_M" : "BLOCK_N", 64));
  side.depth = static_cast<int>(constant_of(c, "BLOCK_K", 16));
  side.bytes = static_cast<int>(shape.bytes);
  side.pad = static_cast<int>(constant_of(c, "PAD", 0));
  side.swizzle = constant_of(c, "SWIZZLE", 0) > 0;
  return side;
}

double barriers(const Constants& c) {
  return barrier_cycles * (constant_of(c, "STAGES", 1) > 1 ? 1 : 2);
}

// gemm_simt
// ------------------------------------------------------------------------------------------------------------------
// Instructions are those that the virtual device counts of 349 kernels, within a quarter of most;
// an instruction beside the multiply-adds takes more of a scheduler than its own slot.

constexpr double simt_issue = 1.35;
constexpr double shared_latency = 25;

void add_simt_copies(ThreadGemm& g, const Constants& c, const GemmShape& shape) {
  const double unsure = constant_of(c, "FULL_PATH", 0) > 0 ? 0 : 1;
  for (const bool rows : {true, false}) {
    Side side = side_of(c, shape, rows);
    const bool turned = side.k_fast && constant_of(c, "TRANSPOSE", 0) > 0;
    const bool async = constant_of(c, "ASYNC", 0) > 0 && side.bytes == 4 && !turned;
    side.width = async && side.k_fast ? 1 : static_cast<int>(constant_of(c, "VECTOR", 1));
    const double converted = side.bytes == 2 ? 3.4 * side.width : 0,
                 placed = side.k_fast ? 4.8 * side.width : 1;
    const double loads = side.width == 1 ? 1 + 5 * unsure : 0.4 + 2 * unsure;
    const int piece =
        std::min(4, static_cast<int>(constant_of(c, rows ? "THREAD_M" : "THREAD_N", 4)));
    const double passes = simt_copy_passes(side, static_cast<int>(g.threads),
                                           constant_of(c, "PERMUTE", 0) > 0, piece, async);
    add_copies(g, side, async, passes,
               {0.7 + 4 * unsure, loads + placed + converted, side.width > 1});
  }
}

// gemm_mma
// -------------------------------------------------------------------------------------------------------------------
// Instructions are those that the virtual device counts of 209 kernels, within 0.3 octaves of most;
// addresses are 64 bits wide and swizzles computed anew, so that one takes more than its slot.

constexpr double mma_issue = 2.4;
constexpr double mma_gaps = 1.6;    // of a product's cycles at the sustained rate
constexpr double mma_latency = 18;  // of a step's first product, beyond its cycles
constexpr double fragment_latency = 30;
constexpr double sustained_bf16 =
    2620;  // operations an SM a cycle by mma.sync: 653 TFLOP/s of an H200 (src/roofline/chips.cpp)

// Cycles of a scheduler's tensor core for a 16 x 8 product over 32 bytes of K.
double product_cycles(const GemmShape& shape, const DeviceSpec& device) {
  const double operations = 2.0 * 16 * 8 * 32 / shape.bytes;
  const Precision precision = shape.bytes == 4 ? Precision::tf32 : Precision::bf16;
  const double sustained = device.sustained_flops[static_cast<std::size_t>(precision)];
  const double known = sustained / device.sms / sustained_clock(device);
  return mma_gaps * operations / ((known > 0 ? known : sustained_bf16 * 2 / shape.bytes) / 4);
}

void add_mma_copies(ThreadGemm& g, const Constants& c, const GemmShape& shape) {
  const double unsure = constant_of(c, "FULL_PATH", 0) > 0 ? 0 : 1;
  const bool together = issued_together(c);
  for (const bool rows : {true, false}) {
    Side side = side_of(c, shape, rows);
    side.width = std::min(static_cast<int>(constant_of(c, "VECTOR", 1)), side.line());
    const bool async = constant_of(c, "ASYNC", 0) > 0 && side.width * side.bytes >= 4,
               wide = side.width > 1;
    const double by_registers =
        (wide ? 11 : 10.4) * (together ? 0.5 : 1) + (wide ? 3.5 * unsure : 0);
    add_copies(g, side, async, mma_copy_passes(side),
               {1.3 + 3.5 * unsure, by_registers, wide && !together});
  }
}

double mma_registers(const ThreadGemm& g, const Constants& c) {
  const auto flag = [&](const char* name) { return constant_of(c, name, 0) > 0 ? 1.0 : 0.0; };
  const double wm = constant_of(c, "WARP_M", 32), wn = constant_of(c, "WARP_N", 32);
  return 45 + wm * wn / 32 + 0.66 * (wm + wn) / 4 * (1 + 0.65 * flag("FRAGMENTS")) +
         (2.6 + 0.4 * flag("PREFETCH")) * g.held - 1.6 * g.fetched + 1.1 * g.started +
         (g.split > 1 ? 14 : 0) - 11 * flag("LDMATRIX") + 10 * flag("SWIZZLE") -
         4.5 * flag("FULL_PATH");
}

}  // namespace

PricedGemm price_simt(const Constants& c, const GemmShape& shape, const DeviceSpec& device) {
  ThreadGemm g = with_tiles(c);
  const double tm = constant_of(c, "THREAD_M", 4), tn = constant_of(c, "THREAD_N", 4);
  const double unroll = constant_of(c, "UNROLL_K", 0), fragments = constant_of(c, "FRAGMENTS", 0);
  g.threads = g.bm * g.bn / (tm * tn);
  g.store_rate = 40;
  g.fill_bytes = 52;
  add_simt_copies(g, c, shape);
  const int lanes_n = 32 / static_cast<int>(constant_of(c, "LANES_M", 4));
  const FragmentReads a = simt_reads(static_cast<int>(tm), lanes_n, true),
                      b = simt_reads(static_cast<int>(tn), lanes_n, false);
  const double warps = g.threads / 32, products = g.bk * tm * tn;
  g.fragment_loads = g.bk * (a.loads + b.loads);
  g.math = warps * products / 4;
  const double loops = unroll > 0 && unroll < g.bk ? 6.5 * g.bk / unroll : 0;
  g.issue = (warps * (1.05 * products + 1.7 * g.fragment_loads + loops + 50) + g.copy_issue) / 4 *
            simt_issue;
  g.reads = warps * g.bk * (a.passes + b.passes) + g.passes + g.requests;
  g.registers = 50 + 0.96 * tm * tn + 0.95 * (tm + tn) * (1 + 0.6 * fragments) +
                (1.16 + 0.48 * constant_of(c, "PREFETCH", 0)) * g.held - 0.64 * g.fetched +
                0.27 * g.started + (g.split > 1 ? 6 : 0);
  g.shared = constant_of(c, "STAGES", 1) * g.bk * (g.bm + g.bn + 2 * constant_of(c, "PAD", 0)) * 4;
  const double load = shared_latency + a.passes + b.passes;
  g.chain = g.bk * (fragments > 0 ? std::max(load, tm * tn) : tm * tn + 0.6 * load) + barriers(c) +
            4 * g.fetched + 3 * g.started + 4 * g.bk;
  return price(g, c, shape, device);
}

PricedGemm price_mma(const Constants& c, const GemmShape& shape, const DeviceSpec& device) {
  ThreadGemm g = with_tiles(c);
  const double wm = constant_of(c, "WARP_M", 32), wn = constant_of(c, "WARP_N", 32);
  const double warps = g.bm / wm * (g.bn / wn), steps = g.bk * shape.bytes / 32, parts_m = wm / 16,
               parts_n = wn / 8;
  g.threads = 32 * warps;
  g.fill_bytes = 28;
  add_mma_copies(g, c, shape);
  const bool matrices = constant_of(c, "LDMATRIX", 0) > 0;
  const FragmentReads a = mma_rows(side_of(c, shape, true), matrices),
                      b = mma_columns(side_of(c, shape, false), matrices);
  const auto loads = [](const FragmentReads& r) { return r.loads * (r.halves ? 1.5 : 1); };
  const auto issued = [](const FragmentReads& r) {
    return r.loads == 1 ? 10 : r.loads * (r.halves ? 4.5 : 3.4);
  };
  const double products = steps * parts_m * parts_n, cycles = product_cycles(shape, device);
  const double passes = steps * (parts_m * a.passes + parts_n / 2 * b.passes);
  g.fragment_loads = steps * (parts_m * loads(a) + parts_n / 2 * loads(b));
  g.math = warps * products * cycles / 4;
  const double reading = steps * (parts_m * issued(a) + parts_n / 2 * issued(b));
  g.issue = (warps * (0.6 * products + reading + 10 * steps + 12) + g.copy_issue) / 4 * mma_issue;
  g.reads = warps * passes + g.passes + g.requests;
  g.registers = mma_registers(g, c);
  const double pad = constant_of(c, "PAD", 0), stages = constant_of(c, "STAGES", 1);
  const double slab_a = shape.trans_a ? g.bk * (g.bm + pad) : g.bm * (g.bk + pad);
  const double slab_b = shape.trans_b ? g.bn * (g.bk + pad) : g.bk * (g.bn + pad);
  g.shared = std::max(stages * (slab_a + slab_b) * shape.bytes,
                      constant_of(c, "STAGED", 0) * warps * 16 * (wn + 8) * 4);
  const double load = fragment_latency * steps + passes,
               multiply = mma_latency * steps + products * cycles / 2;
  g.chain = (constant_of(c, "FRAGMENTS", 0) > 0 ? std::max(load, multiply) : load + multiply) +
            barriers(c) + 1.3 * g.fragment_loads + 6 * g.fetched + 3 * g.started;
  return price(g, c, shape, device);
}

}  // namespace cupilot
