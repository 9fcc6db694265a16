#include "ptx/machine/thread_order.hpp"

#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ptx/machine/reader_stamp.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Cell {
  u64 index = 0;
  u32 bytes = 0;  // of the word
};

struct Touch {
  Warp& warp;
  const Step& step;
  u32 lane;
  Buffer& buffer;
  const WordAccess& at;
  bool strong;

  u64 reader() const { return buffer.threads->reader(warp.block->index); }
};

std::string place(const Touch& a, const Cell& cell) {
  const u64 offset = 4 * a.at.word + static_cast<u32>(std::countr_zero(cell.bytes >> 28));
  return a.buffer.place(offset);
}

std::string race_text(const Touch& a, const char* verb, const Cell& cell, const std::string& who) {
  return fmt::format("{} {} that {} without a barrier or fences between", verb, place(a, cell),
                     who);
}

bool race(const Touch& a, const char* verb, const Cell& cell, const std::string& who) {
  fault(a.warp, a.step, a.lane, "run.race", race_text(a, verb, cell, who));
  return false;
}

const char* verb_of(Intent intent) {
  return intent == Intent::load ? "reads" : intent == Intent::store ? "writes" : "updates";
}

// Bit 30 of a write's stamp, which clocks leave free: an atomic made it.
constexpr u32 by_atomic = 1u << 30;
static_assert(clock_max << 10 < by_atomic);

// Two strong accesses do not race. Lanes of one warp step together here and need not on a device: a
// warp may poll what one of its lanes adds to by an atomic, and not count on what a lane stores,
// were it volatile.
bool after_write(const Touch& a, u32 written) {
  const u32 stamp = written & ~by_atomic;
  const bool atomic = a.at.intent == Intent::atomic || stamp != written;
  const bool both_strong =
      a.strong && (stamp >> 31) != 0 && (atomic || ((stamp >> 5) & 31) != a.warp.index);
  return both_strong || write_known(a.warp, stamp) ||
         (stamp & 1023) == a.warp.index * 32 + a.lane || lane_knows_write(a.warp, a.lane, stamp);
}

// True if the block wrote the cell before in this launch.
bool is_mine(const Touch& a, const Cell& cell) {
  const ThreadStamps& stamps = *a.buffer.threads;
  return stamps.owners ? stamps.owners[cell.index] == a.reader() : a.at.mine;
}

bool check_write_before(const Touch& a, const Cell& cell) {
  if (!is_mine(a, cell)) return true;
  const u32 stamp =
      std::atomic_ref<u32>(a.buffer.threads->writes[cell.index]).load(std::memory_order_relaxed);
  if (after_write(a, stamp)) return true;
  const std::string who = thread_name(a.warp, stamp & 1023) + " wrote";
  const bool plain =
      a.at.intent == Intent::store && a.at.agent == Agent::thread && (stamp & by_atomic) == 0;
  const auto first = static_cast<u32>(std::countr_zero(cell.bytes >> 28));
  return may_agree(
      a.warp, a.step, a.lane, plain ? a.buffer.data.get() + 4 * a.at.word + first : nullptr,
      static_cast<u32>(std::popcount(cell.bytes)), race_text(a, verb_of(a.at.intent), cell, who));
}

// Passes reads by lanes of the own warp: where barriers order some lanes of a warp only, the lanes
// that read are not kept.
bool check_reads_before(const Touch& a, const Cell& cell) {
  u64* reads = a.buffer.threads->reads.load(std::memory_order_acquire);
  if (reads == nullptr) return true;
  const u64 entry = std::atomic_ref<u64>(reads[cell.index]).load(std::memory_order_relaxed);
  const auto stamp = static_cast<u32>(entry);
  if (entry >> 32 != a.reader() || after_reads(a.warp, a.lane, stamp, a.strong)) return true;
  if (a.warp.block->program->lanes_in_part && read_who(stamp) != read_by_set &&
      read_warp(stamp) == a.warp.index)
    return true;
  return race(a, verb_of(a.at.intent), cell, readers_name(a.warp, stamp) + " read");
}

u64* reads_of(const Touch& a) {
  ThreadStamps& stamps = *a.buffer.threads;
  if (u64* reads = stamps.reads.load(std::memory_order_acquire)) return reads;
  const std::lock_guard<std::mutex> hold(a.warp.block->launch->lock);
  if (stamps.reads.load(std::memory_order_relaxed) == nullptr)
    stamps.reads.store(new u64[stamps.cells](), std::memory_order_release);
  return stamps.reads.load(std::memory_order_relaxed);
}

void note_read(const Touch& a, const Cell& cell) {
  const std::atomic_ref<u64> entry(reads_of(a)[cell.index]);
  const u64 before = entry.load(std::memory_order_relaxed);
  const u32 earlier = before >> 32 == a.reader() ? static_cast<u32>(before) : 0;
  const u32 now = read_stamp(a.warp, earlier, read_base(a.warp), a.strong ? read_strongly : a.lane);
  entry.store(a.reader() << 32 | now, std::memory_order_relaxed);
}

void note_write(const Touch& a, const Cell& cell, bool whole) {
  if (a.buffer.threads->owners) a.buffer.threads->owners[cell.index] = static_cast<u32>(a.reader());
  const std::atomic_ref<u32> entry(a.buffer.threads->writes[cell.index]);
  const u32 stamp =
      own_stamp(a.warp, a.lane, a.strong) | (a.at.intent == Intent::atomic ? by_atomic : 0);
  entry.store(whole && a.at.agent == Agent::thread ? stamp : 0, std::memory_order_relaxed);
}

// Keeps no writer of a cell that is touched in part: another may touch the rest.
bool check_cell(const Touch& a, const Cell& cell) {
  const bool whole = (cell.bytes & ~a.at.bytes) == 0;
  if (!check_write_before(a, cell)) return false;
  if (a.at.intent == Intent::load) {
    if (a.at.agent == Agent::thread) note_read(a, cell);
    return true;
  }
  if (whole && !check_reads_before(a, cell)) return false;
  note_write(a, cell, whole);
  return true;
}

}  // namespace

bool may_agree(Warp& warp, const Step& step, u32 lane, const std::uint8_t* at, u32 bytes,
               std::string message) {
  if (at == nullptr || !warp.storing) {
    fault(warp, step, lane, "run.race", std::move(message));
    return false;
  }
  Rival rival{lane, bytes, at, 0, std::move(message)};
  std::memcpy(&rival.before, at, bytes);
  warp.rivals.push_back(std::move(rival));
  return true;
}

void settle_rivals(Warp& warp, const Step& step) {
  for (const Rival& rival : std::exchange(warp.rivals, {})) {
    u64 now = 0;
    std::memcpy(&now, rival.at, rival.bytes);
    if (now != rival.before) return fault(warp, step, rival.lane, "run.race", rival.message);
    remark(warp, step, rival.lane, "same_value", rival.message);
  }
}

bool block_read(const Warp& warp, const Buffer& buffer, u64 word) {
  u64* const reads =
      buffer.threads ? buffer.threads->reads.load(std::memory_order_acquire) : nullptr;
  const u32 cells = 4 >> (buffer.threads ? buffer.threads->shift : 2);
  for (u32 i = 0; reads != nullptr && i < cells; ++i) {
    const u64 entry = std::atomic_ref<u64>(reads[word * cells + i]).load(std::memory_order_relaxed);
    if (entry >> 32 == buffer.threads->reader(warp.block->index)) return true;
  }
  return false;
}

bool check_word(Warp& warp, const Step& step, u32 lane, Buffer& buffer, const WordAccess& at) {
  const Touch a{warp,   step, lane,
                buffer, at,   at.intent == Intent::atomic || (step.flags & flag_strong) != 0};
  const AsLane as(warp, lane);
  const u32 shift = buffer.threads->shift, wide = 1u << shift;
  for (u32 i = 0; i < 4; i += wide) {
    const Cell cell{(at.word << (2 - shift)) + (i >> shift), ((1u << wide) - 1) << (28 + i)};
    if ((cell.bytes & at.bytes) != 0) {
      if (!check_cell(a, cell)) return false;
    } else if (at.intent != Intent::load && !at.mine && !buffer.threads->owners) {
      note_write(a, cell, false);
    }
  }
  return true;
}

}  // namespace cupilot::ptx
