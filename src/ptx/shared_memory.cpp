// Shared memory and its shadow: who wrote and read each cell last, and at which clock. An access is ordered after another
// when its warp knows (by barriers) a later clock of the other's warp; see Warp::known.
#include <cstring>

#include <fmt/format.h>

#include "ptx/memory.hpp"

namespace cupilot::ptx {

std::string place_name(const Block& block, std::uint32_t offset) {
  const Program& program = *block.program;
  const std::uint64_t address = shared_base + offset;
  const Variable* best = nullptr;
  std::uint64_t best_at = 0;
  for (std::size_t i = 0; i < program.module->variables.size(); ++i) {
    const Variable& v = program.module->variables[i];
    if (v.space != Space::shared || program.variable_address[i] > address) continue;
    if (best == nullptr || program.variable_address[i] >= best_at) {
      best = &v;
      best_at = program.variable_address[i];
    }
  }
  if (best == nullptr) return fmt::format("shared offset {}", offset);
  return fmt::format("{}+{} (shared offset {})", best->name, address - best_at, offset);
}

void suspect_read(Warp& warp, const Step& step, std::uint32_t lane, const Block& target, std::uint32_t offset) {
  Suspect& suspect = warp.block->suspect;
  if (suspect.warp == nullptr)
    suspect = {&warp, &step, warp.code, lane, "reads shared memory that nobody wrote: " + place_name(target, offset)};
}

namespace {

std::string place(const Warp& warp, std::uint32_t offset) { return place_name(*warp.block, offset); }

std::string thread_name(const Warp& warp, std::uint32_t thread) {
  const Dim3& b = warp.block->launch->launch->block;
  return fmt::format("thread ({},{},{})", thread % b.x, thread / b.x % b.y, thread / (b.x * b.y));
}

std::uint32_t own_stamp(const Warp& warp, std::uint32_t lane, bool strong) {
  return (strong ? 0x80000000u : 0u) | (warp.known[warp.index] << 10) | (warp.index * 32 + lane);
}

// True when a write with this stamp is ordered before the warp's next access.
bool ordered(const Warp& warp, std::uint32_t stamp) { return stamp_clock(stamp) < warp.known[(stamp >> 5) & 31]; }
bool ordered_read(const Warp& warp, std::uint32_t stamp) {
  return (stamp >> 5) < warp.known[stamp & 31] || (stamp & 31) == warp.index;
}

// Two strong accesses do not race. Lanes of a warp step together here and need not on a device: among them only atomics may
// count on each other, a volatile access may not.
bool excused(const Warp& warp, const Step& step, std::uint32_t stamp, bool strong) {
  if (!strong || (stamp & 0x80000000u) == 0) return false;
  return is_mark(stamp) || ((stamp >> 5) & 31) != warp.index || (step.flags & flag_strong) == 0;
}

bool explain_read(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset, std::uint32_t stamp, bool strong) {
  const ExecuteOptions& options = *warp.block->launch->options;
  const std::uint32_t writer = stamp & 1023, me = warp.index * 32 + lane;
  if (stamp == stamp_never) {
    if (!options.check_initialised) return true;
    suspect_read(warp, step, lane, *warp.block, offset);
    return true;
  }
  if (!options.check_races) return true;
  if (is_mark(stamp) || stamp == stamp_barrier) {
    if (write_ordered(warp, *warp.block, stamp) || (strong && (stamp & 0x80000000u) != 0)) return true;
    fault(warp, step, lane, "run.race",
          fmt::format("reads {} while {}", place(warp, offset), writer_name(warp, *warp.block, stamp)));
    return false;
  }
  if (stamp_clock(stamp) == clock_pending) {
    fault(warp, step, lane, "run.race",
          fmt::format("reads {} while the asynchronous copy issued by {} has not been waited for", place(warp, offset),
                      thread_name(warp, writer)));
    return false;
  }
  if (writer == me || excused(warp, step, stamp, strong)) return true;
  fault(warp, step, lane, "run.race",
        fmt::format("reads {} that {} wrote without a barrier between", place(warp, offset), thread_name(warp, writer)));
  return false;
}

bool in_range(Warp& warp, const Step& step, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes) {
  const std::uint32_t size = warp.block->launch->shared_bytes;
  if (address % bytes != 0) {
    fault(warp, step, lane, "run.misaligned", fmt::format("shared address {} is not aligned to {} bytes", address, bytes));
    return false;
  }
  if (address >= shared_base && address - shared_base + bytes <= size) return true;
  fault(warp, step, lane, "run.out_of_bounds",
        fmt::format("{} bytes at shared address {} (offset {}), but the block has {} bytes of shared memory", bytes, address,
                    static_cast<std::int64_t>(address) - shared_base, size));
  return false;
}

}  // namespace

bool check_shared_read(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset, std::uint32_t bytes, bool strong) {
  Block& block = *warp.block;
  if (block.writer.empty()) return true;
  const std::uint32_t shift = block.program->shadow_shift;
  const std::uint32_t stamp = (warp.known[warp.index] << 5) | warp.index;
  const std::uint32_t cells = bytes >> shift, first = offset >> shift;
  for (std::uint32_t c = first; c < first + cells; ++c) {
    const std::uint32_t s = block.writer[c];
    if (!ordered(warp, s) && !explain_read(warp, step, lane, c << shift, s, strong)) return false;
    block.reader[c] = stamp;
  }
  return true;
}

bool check_shared_write(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset, std::uint32_t bytes,
                        bool strong) {
  Block& block = *warp.block;
  if (block.writer.empty() || !block.launch->options->check_races) return true;
  const std::uint32_t shift = block.program->shadow_shift, me = warp.index * 32 + lane;
  const std::uint32_t cells = bytes >> shift, first = offset >> shift;
  for (std::uint32_t c = first; c < first + cells; ++c) {
    const std::uint32_t s = block.writer[c], r = block.reader[c];
    const bool after_write = ordered(warp, s) || s == stamp_never || (stamp_clock(s) <= clock_max && (s & 1023) == me) ||
                             excused(warp, step, s, strong) || (is_mark(s) && write_ordered(warp, block, s));
    if (!after_write && (is_mark(s) || s == stamp_barrier)) {
      fault(warp, step, lane, "run.race",
            fmt::format("writes {} while {}", place(warp, c << shift), writer_name(warp, block, s)));
      return false;
    }
    if (!after_write) {
      const char* what = stamp_clock(s) == clock_pending ? "an asynchronous copy not waited for, issued by " : "";
      fault(warp, step, lane, "run.race",
            fmt::format("writes {} that {}{} wrote without a barrier between", place(warp, c << shift), what,
                        thread_name(warp, s & 1023)));
      return false;
    }
    if ((r >> 31) != 0) {
      if (read_ordered(warp, block, r)) continue;
      fault(warp, step, lane, "run.race",
            fmt::format("writes {} that {} may still read", place(warp, c << shift), reader_name(warp, block, r)));
      return false;
    }
    if (!ordered_read(warp, r)) {
      fault(warp, step, lane, "run.race",
            fmt::format("writes {} that warp {} read without a barrier between", place(warp, c << shift), r & 31));
      return false;
    }
  }
  return true;
}

void stamp_shared_write(Warp& warp, std::uint32_t lane, std::uint32_t offset, std::uint32_t bytes, bool strong) {
  Block& block = *warp.block;
  if (block.writer.empty()) return;
  const std::uint32_t shift = block.program->shadow_shift, stamp = own_stamp(warp, lane, strong);
  for (std::uint32_t c = offset >> shift; c < (offset + bytes) >> shift; ++c) block.writer[c] = stamp;
}

namespace {

bool in_range_all(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses, std::uint32_t bytes) {
  std::uint64_t all = 0, least = ~0ull, most = 0;
  if (mask == full_mask) {
    for (std::uint32_t i = 0; i < 32; ++i) {
      const std::uint64_t a = addresses.at[i];
      all |= a;
      least = a < least ? a : least;
      most = a > most ? a : most;
    }
    if ((all & (bytes - 1)) == 0 && least >= shared_base && most - shared_base + bytes <= warp.block->launch->shared_bytes)
      return true;
  }
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    if (!in_range(warp, step, lane, addresses.at[lane], bytes)) return false;
  }
  return true;
}

bool names_ranks(std::uint32_t mask, const LaneAddresses& addresses) {
  std::uint64_t all = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) all |= addresses.at[first_lane(rest)];
  return (all >> rank_shift) != 0;
}

bool read_checks(Warp& warp, const Step& step, std::uint32_t mask, const PatternMemo& memo, const LaneAddresses& addresses,
                 std::uint32_t bytes, bool strong) {
  Block& block = *warp.block;
  const std::uint32_t shift = block.program->shadow_shift;
  const std::uint32_t cells = bytes >> shift;
  const std::uint32_t stamp = (warp.known[warp.index] << 5) | warp.index;
  std::uint32_t* const writer = block.writer.data();
  std::uint32_t* const reader = block.reader.data();
  bool fine = true;
  for (std::uint32_t rest = memo.leaders; rest != 0; rest &= rest - 1) {
    const auto first = static_cast<std::uint32_t>(addresses.at[first_lane(rest)] - shared_base) >> shift;
    for (std::uint32_t c = first; c < first + cells; ++c) {
      const std::uint32_t s = writer[c];
      fine &= ((s >> 10) & 0x1fffffu) < warp.known[(s >> 5) & 31];
      reader[c] = stamp;
    }
  }
  if (fine) return true;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    if (!check_shared_read(warp, step, lane, static_cast<std::uint32_t>(addresses.at[lane] - shared_base), bytes, strong))
      return false;
  }
  return true;
}

bool write_checks(Warp& warp, const Step& step, std::uint32_t mask, const PatternMemo& memo, const LaneAddresses& addresses,
                  std::uint32_t bytes, bool strong, bool distinct_only) {
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    const auto offset = static_cast<std::uint32_t>(addresses.at[lane] - shared_base);
    if (distinct_only && ((memo.leaders >> lane) & 1) == 0) continue;
    if (!check_shared_write(warp, step, lane, offset, bytes, strong)) return false;
  }
  for (std::uint32_t rest = memo.leaders; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    stamp_shared_write(warp, lane, static_cast<std::uint32_t>(addresses.at[lane] - shared_base), bytes, strong);
  }
  return true;
}

}  // namespace

bool resolve_shared(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses, std::uint32_t bytes,
                    Intent intent, LanePointers& out) {
  if ((step.flags & flag_far) != 0 && warp.block->beyond && names_ranks(mask, addresses))
    return resolve_far(warp, step, mask, addresses, bytes, intent, out);
  if (!in_range_all(warp, step, mask, addresses, bytes)) return false;
  Block& block = *warp.block;
  const PatternMemo& memo = pattern_of(warp, step, mask, addresses, bytes, true);
  count_up(warp, intent == Intent::load ? Counter::shared_load_wavefronts : Counter::shared_store_wavefronts, memo.passes);
  count_up(warp, Counter::shared_conflicts, memo.passes - memo.least);
  const bool strong = intent == Intent::atomic || (step.flags & flag_strong) != 0;
  if (!block.writer.empty()) {
    if (intent != Intent::store && !read_checks(warp, step, mask, memo, addresses, bytes, strong)) return false;
    if (intent != Intent::load && !write_checks(warp, step, mask, memo, addresses, bytes, strong, true)) return false;
  }
  std::uint8_t* const base = block.shared.data() - shared_base;
  for (std::uint32_t i = 0; i < 32; ++i) out.at[i] = base + addresses.at[i];
  return true;
}

}  // namespace cupilot::ptx
