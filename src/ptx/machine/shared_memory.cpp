// Shared memory and its shadow: who wrote and read each cell last, and at which clock. An access is
// ordered after another when its warp knows (by barriers) a later clock of the other's warp; see
// Warp::known.
#include <cxxabi.h>

#include <bit>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/memory.hpp"
#include "ptx/machine/reader_stamp.hpp"
#include "ptx/machine/signal.hpp"

namespace cupilot::ptx {

namespace {

// "part" for _ZZ4copyE4part: what the source calls it.
std::string source_name(const std::string& name) {
  if (name.rfind("_Z", 0) != 0) return name;
  int status = 0;
  char* const spelled = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string whole = status == 0 ? spelled : name;
  std::free(spelled);
  const std::size_t scope = whole.rfind("::");
  return scope == std::string::npos ? whole : whole.substr(scope + 2);
}

}  // namespace

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
  std::uint32_t moved = 0;
  for (const SharedGap& gap : program.shared.gaps) {
    if (gap.end <= offset) moved = gap.moved;
  }
  if (best == nullptr) return fmt::format("shared offset {}", offset);
  return fmt::format("{}+{} (shared offset {})", source_name(best->name), address - best_at,
                     offset - moved);
}

bool past_variable(Warp& warp, const Step& step, std::uint32_t lane, const Block& target,
                   std::uint32_t offset) {
  fault(warp, step, lane, "run.out_of_bounds",
        "touches " + place_name(target, offset) + ", where no shared variable lies");
  return false;
}

void suspect_read(Warp& warp, const Step& step, std::uint32_t lane, const Block& target,
                  std::uint32_t offset) {
  Suspect& suspect = warp.block->suspect;
  if (suspect.warp == nullptr)
    suspect = {&warp, &step, warp.code, lane,
               "reads shared memory that nobody wrote: " + place_name(target, offset)};
}

namespace {

std::string place(const Warp& warp, std::uint32_t offset) {
  return place_name(*warp.block, offset);
}

// Two strong accesses do not race. Lanes of a warp step together here and need not on a device:
// among them only atomics and acquiring loads may count on each other, a volatile access may not.
bool excused(const Warp& warp, const Step& step, std::uint32_t stamp, bool strong) {
  if (!strong || (stamp & 0x80000000u) == 0) return false;
  return is_mark(stamp) || ((stamp >> 5) & 31) != warp.index || (step.flags & flag_strong) == 0 ||
         (step.aux & acquires) != 0;
}

// In the system's own memory cooperative groups follow a protocol of theirs: a lane acquires, a
// shuffle tells the others, and they read.
bool of_system(const Block& block, std::uint32_t offset) {
  return block.program->shared.reserved && offset < reserved_bytes;
}

bool explain_read(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset,
                  std::uint32_t stamp, bool strong) {
  const ExecuteOptions& options = *warp.block->launch->options;
  const std::uint32_t writer = stamp & 1023, me = warp.index * 32 + lane;
  if (stamp == stamp_gap) return past_variable(warp, step, lane, *warp.block, offset);
  if (stamp == stamp_never) {
    if (!options.check_initialised) return true;
    suspect_read(warp, step, lane, *warp.block, offset);
    return true;
  }
  if (!options.check_races || of_system(*warp.block, offset)) return true;
  if (is_mark(stamp) || stamp == stamp_barrier) {
    if (write_ordered(warp, *warp.block, stamp) || (strong && (stamp & 0x80000000u) != 0))
      return true;
    const std::string relaxed =
        relaxed_cause(warp, [&] { return write_ordered(warp, *warp.block, stamp); });
    fault(warp, step, lane, "run.race",
          fmt::format("reads {} while {}{}", place(warp, offset),
                      writer_name(warp, *warp.block, stamp), relaxed));
    return false;
  }
  if (stamp_clock(stamp) == clock_pending) {
    fault(warp, step, lane, "run.race",
          fmt::format("reads {} while the asynchronous copy issued by {} has not been waited for",
                      place(warp, offset), thread_name(warp, writer)));
    return false;
  }
  if (writer == me || excused(warp, step, stamp, strong) || lane_knows_write(warp, lane, stamp))
    return true;
  const std::string relaxed = relaxed_cause(
      warp, [&] { return write_known(warp, stamp) || lane_knows_write(warp, lane, stamp); });
  fault(warp, step, lane, "run.race",
        fmt::format("reads {} that {} wrote without a barrier between{}", place(warp, offset),
                    thread_name(warp, writer), relaxed));
  return false;
}

bool explain_reads(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset,
                   std::uint32_t bytes, bool strong) {
  const Block& block = *warp.block;
  const std::uint32_t shift = block.program->shadow_shift;
  for (std::uint32_t c = offset >> shift; c < (offset + bytes) >> shift; ++c) {
    const std::uint32_t s = block.writer[c];
    if (!write_known(warp, s) && !explain_read(warp, step, lane, c << shift, s, strong))
      return false;
  }
  return true;
}

// Near the block's memory by variable, else by number.
std::string address_name(const Block& block, std::uint64_t address) {
  constexpr std::uint64_t near = 1u << 20;
  if (address >= shared_base && address < near)
    return place_name(block, static_cast<std::uint32_t>(address) - shared_base);
  return fmt::format("shared address {} (offset {})", address,
                     static_cast<std::int64_t>(address) - shared_base);
}

bool in_range(Warp& warp, const Step& step, std::uint32_t lane, std::uint64_t address,
              std::uint32_t bytes) {
  if (address % bytes != 0) {
    fault(warp, step, lane, "run.misaligned",
          fmt::format("{} is not aligned to {} bytes", address_name(*warp.block, address), bytes));
    return false;
  }
  if (address >= shared_base && address - shared_base + bytes <= warp.block->launch->shared_bytes)
    return true;
  fault(warp, step, lane, "run.out_of_bounds",
        fmt::format("{} bytes at {}, but the block has {} bytes of shared memory", bytes,
                    address_name(*warp.block, address), warp.block->launch->device_shared));
  return false;
}

}  // namespace

bool check_shared_read(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset,
                       std::uint32_t bytes, bool strong) {
  Block& block = *warp.block;
  if (block.writer.empty()) return true;
  if (!explain_reads(warp, step, lane, offset, bytes, strong)) return false;
  const std::uint32_t shift = block.program->shadow_shift, base = read_base(warp),
                      who = strong ? read_strongly : lane;
  for (std::uint32_t c = offset >> shift; c < (offset + bytes) >> shift; ++c) {
    if (block.lanes.empty() || strong) {
      block.reader[c] = read_stamp(warp, block.reader[c], base, who);
    } else {
      stamp_lanes(warp, c, base, 1u << lane);
    }
  }
  return true;
}

bool check_shared_write(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset,
                        std::uint32_t bytes, bool strong) {
  Block& block = *warp.block;
  if (block.writer.empty() || !block.launch->options->check_races || of_system(block, offset))
    return true;
  const std::uint32_t shift = block.program->shadow_shift, me = warp.index * 32 + lane;
  const std::uint32_t cells = bytes >> shift, first = offset >> shift;
  for (std::uint32_t c = first; c < first + cells; ++c) {
    const std::uint32_t s = block.writer[c], r = block.reader[c];
    if (s == stamp_gap) return past_variable(warp, step, lane, block, c << shift);
    const bool after_write = write_known(warp, s) || s == stamp_never ||
                             (stamp_clock(s) <= clock_max && (s & 1023) == me) ||
                             excused(warp, step, s, strong) || lane_knows_write(warp, lane, s) ||
                             (is_mark(s) && write_ordered(warp, block, s));
    if (!after_write && (is_mark(s) || s == stamp_barrier)) {
      const std::string relaxed =
          relaxed_cause(warp, [&] { return write_ordered(warp, block, s); });
      fault(warp, step, lane, "run.race",
            fmt::format("writes {} while {}{}", place(warp, c << shift),
                        writer_name(warp, block, s), relaxed));
      return false;
    }
    if (!after_write) {
      const bool copy = stamp_clock(s) == clock_pending;
      std::string message = fmt::format(
          "writes {} that {}{} wrote without a barrier between", place(warp, c << shift),
          copy ? "an asynchronous copy not waited for, issued by " : "",
          thread_name(warp, s & 1023));
      if (!may_agree(warp, step, lane,
                     copy ? nullptr : block.shared.data() + (std::size_t{c} << shift), 1u << shift,
                     std::move(message)))
        return false;
    }
    if ((r >> 31) != 0) {
      if (read_ordered(warp, lane, block, r)) continue;
      const std::string relaxed =
          relaxed_cause(warp, [&] { return read_ordered(warp, lane, block, r); });
      fault(warp, step, lane, "run.race",
            fmt::format("writes {} that {} may still read{}", place(warp, c << shift),
                        reader_name(warp, block, r), relaxed));
      return false;
    }
    if (!after_reads(warp, lane, r, strong) && !lane_knows_reads(warp, lane, c)) {
      const std::string relaxed = relaxed_cause(warp, [&] {
        return after_reads(warp, lane, r, strong) || lane_knows_reads(warp, lane, c);
      });
      fault(warp, step, lane, "run.race",
            fmt::format("writes {} that {} read without a barrier between{}",
                        place(warp, c << shift), readers_name(warp, r), relaxed));
      return false;
    }
  }
  return true;
}

void stamp_shared_write(Warp& warp, std::uint32_t lane, std::uint32_t offset, std::uint32_t bytes,
                        bool strong) {
  Block& block = *warp.block;
  if (block.writer.empty()) return;
  const std::uint32_t shift = block.program->shadow_shift, stamp = own_stamp(warp, lane, strong);
  for (std::uint32_t c = offset >> shift; c < (offset + bytes) >> shift; ++c)
    block.writer[c] = stamp;
}

namespace {

// True if all addresses of a known pattern are aligned and inside. Of addresses below 2^32 the
// pattern tells all.
bool fits(const Step& step, std::uint32_t mask, const PatternMemo& memo,
          const LaneAddresses& addresses, std::uint32_t bytes, std::uint32_t size) {
  std::uint64_t all = 0;
  if ((step.flags & flag_narrow) == 0) {
    if (mask != full_mask) return false;
    for (std::uint32_t i = 0; i < 32; ++i) all |= addresses.at[i];
  }
  const auto first = static_cast<std::int64_t>(addresses.at[first_lane(mask)]);
  return (all >> 32) == 0 && ((static_cast<std::uint64_t>(first) | memo.odd) & (bytes - 1)) == 0 &&
         first + memo.least >= shared_base &&
         first + memo.most + bytes <= std::int64_t{shared_base} + size;
}

bool in_range_all(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses,
                  std::uint32_t bytes) {
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    if (!in_range(warp, step, lane, addresses.at[lane], bytes)) return false;
  }
  return true;
}

bool names_ranks(std::uint32_t mask, const LaneAddresses& addresses) {
  std::uint64_t all = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
    all |= addresses.at[first_lane(rest)];
  return (all >> rank_shift) != 0;
}

// True if four cells hold the same, but for the bits left out.
bool alike(const std::uint32_t* cells, std::uint64_t without) {
  std::uint64_t low = 0, high = 0;
  std::memcpy(&low, cells, 8);
  std::memcpy(&high, cells + 2, 8);
  return (((low ^ high) | (low ^ std::rotl(low, 32))) & ~without) == 0;
}
constexpr std::uint64_t lane_bits =
    0x8000001f'8000001full;  // of a writer's stamp, and its strength

// Reads of cells by one warp at one moment.
struct CellReads {
  Warp& warp;
  std::uint32_t *writer, *reader;
  std::uint32_t base;
  bool fine = true;  // all writes come before
  // Neighbours were mostly read together before.
  std::uint32_t seen = read_mark, asked = read_by_warps, next = 0;

  void note(std::uint32_t r, std::uint32_t who) {
    if (r == seen && who == asked) return;
    seen = r;
    asked = who;
    next = read_stamp(warp, r, base, who);
  }
  void check(std::uint32_t s) { fine &= stamp_clock(s) < warp.known[(s >> 5) & 31]; }
  void four(std::uint32_t c, std::uint32_t who) {
    if (!alike(writer + c, lane_bits) || !alike(reader + c, 0)) {
      for (std::uint32_t k = c; k < c + 4; ++k) one(k, who);
      return;
    }
    check(writer[c]);
    note(reader[c], who);
    for (std::uint32_t k = c; k < c + 4; ++k) reader[k] = next;
  }
  void one(std::uint32_t c, std::uint32_t who) {
    check(writer[c]);
    note(reader[c], who);
    reader[c] = next;
  }
};

// Notes the cells' reads for read_checks, where it matters which lanes of several read one.
bool read_by_each(Warp& warp, std::uint32_t mask, std::uint32_t several,
                  const LaneAddresses& addresses, std::uint32_t bytes) {
  Block& block = *warp.block;
  const std::uint32_t shift = block.program->shadow_shift, cells = bytes >> shift,
                      base = read_base(warp);
  bool fine = true;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest),
                        lanes = several == full_mask ? full_mask : 1u << lane;
    const auto first = static_cast<std::uint32_t>(addresses.at[lane] - shared_base) >> shift;
    for (std::uint32_t c = first; c < first + cells; ++c) {
      fine &= stamp_clock(block.writer[c]) < warp.known[(block.writer[c] >> 5) & 31];
      stamp_lanes(warp, c, base, lanes);
    }
  }
  return fine;
}

// `rows`: what an address names is handed out among the lanes. An atomic is known by its write.
bool read_checks(Warp& warp, const Step& step, std::uint32_t mask, std::uint32_t leaders,
                 std::uint32_t several, const LaneAddresses& addresses, std::uint32_t bytes,
                 Intent intent) {
  Block& block = *warp.block;
  const std::uint32_t shift = block.program->shadow_shift, cells = bytes >> shift;
  const bool strong = intent == Intent::atomic || (step.flags & flag_strong) != 0;
  CellReads reads{warp, block.writer.data(), block.reader.data(), read_base(warp)};
  reads.fine = warp.doubts.empty();
  const bool each = !block.lanes.empty() && !strong;
  if (each) reads.fine &= read_by_each(warp, mask, several, addresses, bytes);
  for (std::uint32_t rest = each ? 0 : mask & leaders; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    const std::uint32_t who = strong                         ? read_strongly
                              : ((several >> lane) & 1) != 0 ? read_by_lanes
                                                             : lane;
    const auto first = static_cast<std::uint32_t>(addresses.at[lane] - shared_base) >> shift;
    if (intent == Intent::atomic) {
      for (std::uint32_t c = first; c < first + cells; ++c) reads.check(reads.writer[c]);
    } else if (cells % 4 == 0) {
      for (std::uint32_t c = first; c < first + cells; c += 4) reads.four(c, who);
    } else {
      for (std::uint32_t c = first; c < first + cells; ++c) reads.one(c, who);
    }
  }
  if (reads.fine) return true;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    if (!explain_reads(warp, step, lane,
                       static_cast<std::uint32_t>(addresses.at[lane] - shared_base), bytes, strong))
      return false;
  }
  return true;
}

// True if the cells' last write and reads come before what the warp does now; no: the slow way
// tells why, or excuses it.
bool untouched(const Warp& warp, const Block& block, std::uint32_t first, std::uint32_t cells) {
  bool fine = true;
  for (std::uint32_t c = first; c < first + cells; ++c) {
    const std::uint32_t s = block.writer[c], r = block.reader[c];
    fine &= write_known(warp, s) || s == stamp_never;
    fine &= (r & read_mark) == 0 && !reads_open(warp, r);
  }
  return fine;
}

bool write_checks(Warp& warp, const Step& step, std::uint32_t lanes, const LaneAddresses& addresses,
                  std::uint32_t bytes, bool strong) {
  Block& block = *warp.block;
  const std::uint32_t shift = block.program->shadow_shift, cells = bytes >> shift;
  // The last stamps that were fine: neighbours mostly have the same but for the writer's lane,
  // which only doubts ask for.
  constexpr std::uint32_t none = 1;
  std::uint32_t writer = none, reader = none;
  const auto fine = [&](std::uint32_t c) {
    const std::uint32_t s = block.writer[c] & ~static_cast<std::uint32_t>(lane_bits),
                        r = block.reader[c];
    if (s == writer && r == reader) return true;
    if (!untouched(warp, block, c, 1)) return false;
    if (warp.doubts.empty()) {
      writer = s;
      reader = r;
    }
    return true;
  };
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest), stamp = own_stamp(warp, lane, strong);
    const auto offset = static_cast<std::uint32_t>(addresses.at[lane] - shared_base);
    const std::uint32_t first = offset >> shift;
    bool all = true;
    for (std::uint32_t c = first; c < first + cells; ++c) all = all && fine(c);
    if (!all && !check_shared_write(warp, step, lane, offset, bytes, strong)) return false;
    for (std::uint32_t c = first; c < first + cells; ++c) block.writer[c] = stamp;
  }
  return true;
}

PatternKind kind_of(Intent intent, CountBy tally) {
  if (tally == CountBy::rows) return PatternKind::rows;
  if (intent == Intent::load) return PatternKind::load;
  return intent == Intent::store || tally == CountBy::together ? PatternKind::store
                                                               : PatternKind::atomic;
}

// Checks the lanes of `mask`; those of `leaders` name every cell.
bool checks(Warp& warp, const Step& step, std::uint32_t mask, std::uint32_t leaders,
            std::uint32_t several, const LaneAddresses& addresses, std::uint32_t bytes,
            Intent intent) {
  const bool strong = intent == Intent::atomic || (step.flags & flag_strong) != 0;
  if (intent != Intent::store &&
      !read_checks(warp, step, mask, leaders, several, addresses, bytes, intent))
    return false;
  return intent == Intent::load ||
         write_checks(warp, step, mask & leaders, addresses, bytes, strong);
}

}  // namespace

bool resolve_shared(Warp& warp, const Step& step, std::uint32_t mask,
                    const LaneAddresses& addresses, std::uint32_t bytes, Intent intent,
                    LanePointers& out, CountBy tally) {
  if ((step.flags & flag_far) != 0 && warp.block->beyond && names_ranks(mask, addresses))
    return resolve_far(warp, step, mask, addresses, bytes, intent, out);
  Block& block = *warp.block;
  const PatternMemo& memo = pattern_of(warp, step, mask, addresses, bytes, kind_of(intent, tally));
  if (!fits(step, mask, memo, addresses, bytes, block.launch->shared_bytes) &&
      !in_range_all(warp, step, mask, addresses, bytes))
    return false;
  if (tally != CountBy::none && block.launch->options->count) {
    count_up(
        warp,
        intent == Intent::load ? Counter::shared_load_wavefronts : Counter::shared_store_wavefronts,
        memo.passes);
    count_up(warp, Counter::shared_conflicts, memo.passes - memo.ideal);
  }
  if (!block.writer.empty()) {
    warp.touched |= mask;
    const std::uint32_t late = mask & warp.behind;
    const std::uint32_t several = tally == CountBy::rows ? full_mask : memo.doubled;
    if (!checks(warp, step, mask & ~late, memo.leaders, several, addresses, bytes, intent))
      return false;
    const AsLane as(warp, late != 0);
    if (late != 0 && !checks(warp, step, late, late, several, addresses, bytes, intent))
      return false;
  }
  // As numbers: a lane that takes no part may have any address.
  const auto base = reinterpret_cast<std::uintptr_t>(block.shared.data()) - shared_base;
  for (std::uint32_t i = 0; i < 32; ++i)
    out.at[i] = reinterpret_cast<std::uint8_t*>(base + addresses.at[i]);
  return true;
}

}  // namespace cupilot::ptx
