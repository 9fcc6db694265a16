#include "agents/forecast_terms.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "agents/forecast_shapes.hpp"

namespace cupilot {
namespace {

constexpr double overlap = 6;           // exponent of the norm that joins an SM's pipes
constexpr double memory_overlap = 5;    // the same for the SMs, L2 and DRAM
constexpr double warp_slack = 0.4;      // issue slots lost by a scheduler with one warp to choose from
constexpr double round_cycles = 60;     // of a barrier and the first reads after it
constexpr double latency_cycles = 900;  // of a slab that mostly comes from L2, until its first bytes are there
constexpr double fill_bytes = 55;       // from L2 into one SM, a cycle
constexpr double join_cycles = 4000;    // of parts of a tile: fence, ticket, fence
constexpr double join_bytes = 40;       // of parts, written and read again, an SM a cycle
constexpr double serial_cycles = 450;   // of a load that the next one waits for
constexpr double of_size = 0.3;         // weight of what grows with the problem: outcomes at one shape should tell of another
constexpr double resident_in_l2 = 0.5;  // share of L2 that data of one launch finds free

double joined(std::initializer_list<double> parts, double power) {
  const double largest = std::max(parts);
  if (largest <= 0) return 0;
  double sum = 0;
  for (const double part : parts) sum += std::pow(std::max(part, 0.0) / largest, power);
  return largest * std::pow(sum, 1 / power);
}

// A setting at a shape on a device: how tiles, parts and slabs are dealt.
struct Deal {
  const GemmShape& shape;
  const GemmSetting& set;
  const DeviceSpec& device;
  double clock, resident, tiles_m, tiles_n, tiles, chunk, split, places, turns;

  Deal(const GemmShape& at, const GemmSetting& setting, const DeviceSpec& on) : shape(at), set(setting), device(on) {
    const auto fp32 = static_cast<std::size_t>(Precision::fp32_strict);
    const bool known = device.peak_flops[fp32] > 0 && device.sustained_flops[fp32] > 0;
    clock = device.clock_hz * (known ? device.sustained_flops[fp32] / device.peak_flops[fp32] : 1);
    resident = set.resident > 0
                   ? set.resident
                   : std::max(1, resident_blocks(device, static_cast<int>(set.threads), static_cast<int>(set.registers),
                                                 static_cast<std::int64_t>(set.shared)));
    tiles_m = std::ceil(shape.m / (set.bm * set.cluster_m)) * set.cluster_m;
    tiles_n = std::ceil(shape.n / (set.bn * set.cluster_n)) * set.cluster_n;
    tiles = tiles_m * tiles_n * shape.batch;
    const double slabs = std::ceil(shape.k / set.bk);
    chunk = std::ceil(slabs / std::min(set.split, slabs));
    split = std::ceil(slabs / chunk);
    places = device.sms * resident;
    const double cluster = set.cluster_m * set.cluster_n;
    turns = std::ceil(tiles * split / (std::floor(device.sms / cluster) * cluster));
    if (set.even) turns = tiles * split / device.sms;
  }

  double slab_bytes() const { return (set.bm / set.cluster_n + set.bn / set.cluster_m) * set.bk * shape.bytes; }
  double fill() const { return slab_bytes() / fill_bytes; }
  double parts_bytes() const { return split > 1 ? 2 * tiles * split * set.bm * set.bn * 4 : 0; }
};

// Cycles of one slab of `active` blocks side by side on an SM.
double slab_cycles(const Deal& deal, double active) {
  const GemmSetting& set = deal.set;
  const double warps = std::max(0.25, active * set.threads / 32 / 4);
  const double one = joined({set.math, set.issue, set.reads, deal.fill()}, overlap) * (1 + warp_slack / warps);
  const double latency = latency_cycles + deal.fill();
  if (set.persistent) return joined({active * one, (latency + one) / std::max(1.0, set.ahead)}, overlap);
  const double waits = round_cycles + std::max(0.0, latency - set.ahead * active * one) + set.serial * serial_cycles;
  return one + joined({(active - 1) * one, waits}, 3);
}

// Cycles of the busiest SM. The last, smaller group of blocks is priced half as its own, half as its share of a full one.
double busiest(const Deal& deal) {
  const double mine = deal.turns, r = deal.resident;
  const double full = std::floor(mine / r), rest = mine - full * r;
  const double group = slab_cycles(deal, r) * deal.chunk;
  double cycles = full * group;
  if (rest > 0 && full == 0) cycles = slab_cycles(deal, std::max(1.0, rest)) * deal.chunk * std::min(1.0, rest);
  if (rest > 0 && full > 0) cycles += (slab_cycles(deal, rest) * deal.chunk + rest / r * group) / 2;
  cycles += mine * deal.set.store + latency_cycles;
  if (deal.split > 1 || deal.set.even) cycles += join_cycles;
  if (deal.split > 1) cycles += mine * deal.set.bm * deal.set.bn * 4 / join_bytes;
  return cycles;
}

// Bytes that DRAM delivers: each wave of tiles, walked in bands of `group` tile rows, asks anew for the rows and columns it
// spans.
double dram_reads(const Deal& deal) {
  const GemmSetting& set = deal.set;
  const double once = (deal.shape.m + deal.shape.n) * deal.shape.k * deal.shape.bytes * deal.shape.batch;
  if (once < resident_in_l2 * static_cast<double>(deal.device.l2_bytes)) return once;
  const double all = deal.tiles_m * deal.tiles_n, wave = std::min(deal.places, all);
  const double band = std::min(set.group, deal.tiles_m);
  double rows = std::min(band, wave), columns = std::min(deal.tiles_n, std::max(1.0, wave / band));
  if (wave > band * deal.tiles_n) {
    rows = std::min(deal.tiles_m, wave / deal.tiles_n);
    columns = deal.tiles_n;
  }
  const double a_wave = (rows * set.bm + columns * set.bn) * deal.shape.k * deal.shape.bytes;
  return std::max(once, a_wave * all / wave * deal.shape.batch);
}

double log2_of(double value) { return std::log2(std::max(value, 1e-3)); }

std::vector<double> knob_places(const Tunable& tunable, const Constants& constants) {
  std::vector<double> places;
  for (const TunableParameter& parameter : tunable.parameters) {
    std::vector<std::int64_t> domain = parameter.domain;
    std::sort(domain.begin(), domain.end());
    const auto found = constants.find(parameter.constant);
    const std::int64_t value = found == constants.end() ? parameter.plain : found->second;
    const auto at = std::lower_bound(domain.begin(), domain.end(), value) - domain.begin();
    places.push_back(domain.size() < 2 ? 0 : static_cast<double>(at) / static_cast<double>(domain.size() - 1));
  }
  return places;
}

}  // namespace

std::optional<ForecastTerms> forecast_terms(const Tunable& tunable, const Constants& constants, const Task& task,
                                            const DeviceSpec& device) {
  const auto shape = gemm_shape(task);
  if (!shape) return std::nullopt;
  const auto setting = gemm_setting(tunable, constants, *shape);
  if (!setting) return std::nullopt;
  const Deal deal(*shape, *setting, device);
  const double us = 1e6 / deal.clock, blocks = deal.tiles * deal.split;
  const double sm = busiest(deal) * us;
  const double outputs = shape->m * shape->n * shape->batch * shape->out_bytes;
  const double l2 = (blocks * deal.chunk * deal.slab_bytes() + outputs + deal.parts_bytes()) / device.l2_bytes_per_s * 1e6;
  const bool spilled = deal.parts_bytes() > resident_in_l2 * static_cast<double>(device.l2_bytes);
  const double dram = (dram_reads(deal) + outputs + (spilled ? deal.parts_bytes() : 0)) / device.dram_sustained * 1e6;
  ForecastTerms terms;
  terms.us = joined({sm, l2, dram}, memory_overlap) + device.launch_seconds * 1e6;
  terms.knobs = knob_places(tunable, constants);
  const double slabs = deal.turns * deal.chunk * us;
  terms.resources = {of_size * log2_of(terms.us),
                     log2_of(slabs * setting->math / terms.us),
                     log2_of(slabs * setting->issue / terms.us),
                     log2_of(slabs * setting->reads / terms.us),
                     log2_of(slabs * deal.fill() / terms.us),
                     log2_of(l2 / terms.us),
                     log2_of(dram / terms.us),
                     log2_of(slabs * latency_cycles / std::max(1.0, setting->ahead * deal.resident) / terms.us),
                     log2_of(deal.resident),
                     log2_of(setting->threads * deal.resident / 32),
                     log2_of(std::max(1.0, setting->registers)),
                     of_size * log2_of(deal.turns),
                     log2_of(deal.split),
                     of_size * log2_of(deal.chunk),
                     log2_of(1 + setting->serial)};
  return terms;
}

}  // namespace cupilot
