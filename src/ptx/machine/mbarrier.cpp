// mbarriers: phases of arrivals and bytes to come. Their state is kept by the cluster; the eight
// bytes in shared memory hold a word that only says which one it is and that nobody overwrote it.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 most_arrivals = (1u << 20) - 1;
constexpr std::int64_t most_bytes = (1 << 20) - 1;
constexpr u64 word_mark = 0x6d62000000000000ull;

u64 word_of(u32 index) { return word_mark | index; }

// Returns the result of arrive: the phase and the arrivals missing before it.
u64 token_of(const Mbarrier& b) { return (u64{b.phase} << 24) | (u64{b.pending} << 1) | 1; }
u32 token_phase(u64 token) { return static_cast<u32>(token >> 24); }
u32 token_pending(u64 token) { return static_cast<u32>(token >> 1) & most_arrivals; }

bool misuse(Warp& w, const Step& s, u32 lane, std::string message) {
  fault(w, s, lane, "run.divergence", std::move(message));
  return false;
}

void stamp_words(Block& block, u32 offset, u32 stamp) {
  if (block.writer.empty()) return;
  const u32 shift = block.program->shadow_shift;
  for (u32 c = offset >> shift; c < (offset + 8) >> shift; ++c) {
    block.writer[c] = stamp;
    block.reader[c] = 0;
  }
}

void settle(Cluster& cluster, Mbarrier& b) {
  while (b.live && b.pending == 0 && b.transactions == 0) {
    ++b.phase;
    b.pending = b.expected;
    merge_knowledge(b.done, b.open);
    for (Warp* w : b.waiting) {
      if (w->state == WarpState::polling) w->state = WarpState::ready;
    }
    b.waiting.clear();
    cluster.idle_rounds = 0;
    if (b.expected == 0) return;
  }
}

// The barrier that a lane's address names.
Mbarrier* named(Warp& w, const Step& s, u32 lane, const u32* place, u64 address, bool far_allowed) {
  SharedPlace at;
  if (!shared_place(w, s, lane, address, place_space(place), 8, 8, far_allowed, at)) return nullptr;
  return mbarrier_at(w, s, lane, at);
}

// list: place; o[1] count of arrivals.
void init(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  Cluster& cluster = *w.block->cluster;
  LaneAddresses a;
  place_addresses(w, s.list, a);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest), count = w.at<u32>(s.o[1])[lane];
    SharedPlace at;
    if (!shared_place(w, s, lane, a.at[lane], place_space(s.list), 8, 8, false, at)) return;
    Block& block = *at.block;
    if (count == 0 || count > most_arrivals) {
      misuse(w, s, lane, fmt::format("an mbarrier cannot expect {} arrivals", count));
      return;
    }
    if (block.mbarrier_at.empty()) block.mbarrier_at.assign(block.launch->shared_bytes / 8 + 1, 0);
    u16& index = block.mbarrier_at[at.offset / 8];
    Mbarrier* old = index != 0 ? &cluster.mbarriers[index - 1] : nullptr;
    if (old != nullptr && old->live &&
        (!old->waiting.empty() || old->transactions != 0 || old->pending != old->expected)) {
      misuse(w, s, lane,
             fmt::format("initialises again {}, which is in use", describe(cluster, *old)));
      return;
    }
    if (old != nullptr) old->live = false;
    if (old == nullptr && !check_shared_write(w, s, lane, at.offset, 8, false)) return;
    if (cluster.mbarriers.size() >= 65535)
      return fault(w, s, lane, "run.unsupported", "more than 65535 mbarriers in a cluster");
    Mbarrier& made = cluster.mbarriers.emplace_back();
    index = static_cast<u16>(cluster.mbarriers.size());
    made.rank = block.rank;
    made.offset = at.offset;
    made.slot = take_slot(cluster);
    made.live = true;
    made.expected = made.pending = count;
    made.owner = 32 * block.rank + w.index;
    made.owner_clock = w.clock;
    const u64 word = word_of(index);
    std::memcpy(block.shared.data() + at.offset, &word, 8);
    stamp_words(block, at.offset, stamp_barrier);
  }
}

void invalidate(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  LaneAddresses a;
  place_addresses(w, s.list, a);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    Mbarrier* b = named(w, s, lane, s.list, a.at[lane], false);
    if (b == nullptr) return;
    if (!b->waiting.empty()) {
      misuse(w, s, lane,
             "invalidates " + describe(*w.block->cluster, *b) + " while a warp waits for it");
      return;
    }
    b->live = false;
    w.block->mbarrier_at[b->offset / 8] = 0;
    stamp_words(*w.block, b->offset, (w.clock << 10) | (w.index * 32 + lane));
  }
}

enum ArriveFlag : u32 {
  arrive_counts = 1,
  arrive_bytes = 2,
  arrive_drops = 4,
  arrive_keeps = 8,
  arrive_relaxed = 16
};

bool arrive_once(Warp& w, const Step& s, u32 lane, Mbarrier& b, u32 count) {
  Cluster& cluster = *w.block->cluster;
  if (count == 0 || count > most_arrivals)
    return misuse(w, s, lane, fmt::format("arrives with a count of {}", count));
  if (count > b.pending)
    return misuse(
        w, s, lane,
        fmt::format("arrives {} times at {}: more than it expects", count, describe(cluster, b)));
  if ((s.aux & arrive_keeps) != 0 && count == b.pending)
    return misuse(w, s, lane, "arrive.noComplete completes the phase of " + describe(cluster, b));
  if ((s.aux & arrive_drops) != 0) b.expected -= std::min(b.expected, count);
  b.pending -= count;
  settle(cluster, b);
  return true;
}

// list: place; o[0] result or no_slot, o[1] count or bytes.
void arrive(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  LaneAddresses a;
  place_addresses(w, s.list, a);
  if (w.mask == 0) return;
  tick(w);
  const Mbarrier* told = nullptr;
  u64 token = 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    Mbarrier* b = named(w, s, lane, s.list, a.at[lane], (s.flags & flag_far) != 0);
    if (b == nullptr) return;
    // Lanes that arrive together are told the same, as on an H200.
    if (told != b || token_phase(token) != b->phase) token = token_of(*b);
    const u32 number = (s.aux & (arrive_counts | arrive_bytes)) != 0 ? w.at<u32>(s.o[1])[lane] : 1;
    if ((s.aux & arrive_bytes) != 0) {
      b->transactions += number;
      if (b->transactions > most_bytes) {
        misuse(w, s, lane, describe(*w.block->cluster, *b) + ": more than 1048575 bytes");
        return;
      }
    }
    if (told != b && (s.aux & arrive_relaxed) == 0) release_to(w, b->open);
    if (told != b && (s.aux & arrive_relaxed) != 0) note_relaxed(w, s, b->slot, b->phase);
    // Tells those that see the phase complete.
    if ((s.aux & arrive_relaxed) == 0 && b->rank != w.block->rank)
      note_far(w, *w.block->cluster->blocks[b->rank], w.clock - 1);
    told = b;
    if (!arrive_once(w, s, lane, *b, (s.aux & arrive_bytes) != 0 ? 1 : number)) return;
    if (s.o[0] != no_slot) w.at<u64>(s.o[0])[lane] = token;
  }
}

// aux 0: expect_tx, 1: complete_tx. list: place; o[1] bytes.
void transact(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  LaneAddresses a;
  place_addresses(w, s.list, a);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    Mbarrier* b = named(w, s, lane, s.list, a.at[lane], (s.flags & flag_far) != 0);
    if (b == nullptr) return;
    const std::int64_t bytes = w.at<u32>(s.o[1])[lane];
    b->transactions += s.aux == 0 ? bytes : -bytes;
    if (b->transactions > most_bytes || b->transactions < -most_bytes) {
      misuse(w, s, lane, describe(*w.block->cluster, *b) + ": more than 1048575 bytes");
      return;
    }
    if (s.aux == 1) settle(*w.block->cluster, *b);
  }
}

enum WaitFlag : u32 { wait_parity = 1, wait_relaxed = 2 };

constexpr u8 late_answers = 4;

// A first failing wait answers "not yet", so that code which does not ask again goes wrong; where
// copies are late the first four do, as on a device that a wait's time limit passes on. The next
// sleeps.
void not_yet(Warp& w, const Mbarrier& b, u32 index) {
  const u64 key = (u64{b.slot} << 32) | (b.phase + 1);
  w.stop = true;
  w.poll_at = index;
  w.polls = w.polled == key ? w.polls : u8{0};
  if (w.timed_out || w.polls < (w.block->launch->options->late ? late_answers : 1)) {
    w.polls = static_cast<u8>(std::min(w.polls + 1, 255));
    w.polled = key;
    w.timed_out = false;
    return;
  }
  w.state = WarpState::polling;
  --w.pc;
  --w.counts[w.pc].warps;
  w.counts[w.pc].missing -= 32 - static_cast<u32>(__builtin_popcount(w.mask));
}

// list: place; o[0] predicate, o[1] parity or token.
void wait(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  Cluster& cluster = *w.block->cluster;
  LaneAddresses a;
  place_addresses(w, s.list, a);
  u32 ready = 0;
  Mbarrier* starved = nullptr;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    Mbarrier* b = named(w, s, lane, s.list, a.at[lane], false);
    if (b == nullptr) return;
    bool done = false;
    if ((s.aux & wait_parity) != 0) {
      done = (b->phase & 1) != (w.at<u32>(s.o[1])[lane] & 1);
    } else {
      const u64 token = w.at<u64>(s.o[1])[lane];
      const u32 phase = token_phase(token);
      if ((token & 1) == 0 || phase > b->phase || phase + 1 < b->phase) {
        misuse(w, s, lane,
               fmt::format(
                   "waits for phase {} of {}: only the current and the one before may be asked for",
                   phase, describe(cluster, *b)));
        return;
      }
      done = phase < b->phase;
    }
    if (!done) {
      starved = b;
      continue;
    }
    ready |= 1u << lane;
    if ((s.aux & wait_relaxed) == 0) acquire_from(w, b->done);
    observe(w, w.mask, b->slot, b->phase);
  }
  if (starved != nullptr) {
    not_yet(w, *starved, static_cast<u32>(w.block->mbarrier_at[starved->offset / 8] - 1));
    if (w.state == WarpState::polling) return starved->waiting.push_back(&w);
  } else {
    w.polled = 0;
  }
  u32& p = w.predicate(s.o[0]);
  p = (p & ~w.mask) | ready;
}

void pending_count(Lanes& l, const Step& s) {
  u32* d = l.at<u32>(s.o[0]);
  const u64* token = l.at<u64>(s.o[1]);
  for (u32 i = 0; i < 32; ++i) d[i] = ((l.mask >> i) & 1) != 0 ? token_pending(token[i]) : d[i];
}

bool one_of(const Form& form, std::initializer_list<const char*> allowed) {
  return std::all_of(form.modifiers.begin() + 1, form.modifiers.end(), [&](const std::string& m) {
    return std::any_of(allowed.begin(), allowed.end(), [&](const char* a) { return m == a; });
  });
}

void decode_place(Decoder& d, Step& step, std::size_t operand) {
  std::vector<u32> list;
  add_place(d, list, d.operand(operand), d.memory_space());
  step.flags = static_cast<u8>(list[1]);
  step.list = d.list(std::move(list));
}

bool decode_arrive(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (!one_of(form, {"noComplete", "expect_tx", "release", "relaxed", "cta", "cluster", "shared",
                     "shared::cta", "shared::cluster", "b64"}))
    return false;
  const bool bytes = form.has("expect_tx");
  d.want_operands(bytes ? 3 : 2, 3);
  step.aux = (bytes                    ? arrive_bytes
              : d.operand_count() == 3 ? arrive_counts
                                       : 0u) |
             (form.modifiers[0] == "arrive_drop" ? arrive_drops : 0u) |
             (form.has("noComplete") ? arrive_keeps : 0u) |
             (form.has("relaxed") ? arrive_relaxed : 0u);
  if (form.has("noComplete") && d.operand_count() != 3) d.refuse("needs a count");
  step.o[0] = d.target(d.operand(0), 8);
  if (form.has("shared::cluster") && step.o[0] != no_slot)
    d.refuse("gives no state of a barrier that may be another block's");
  if (d.operand_count() == 3) step.o[1] = d.source(d.operand(2), 4);
  decode_place(d, step, 1);
  step.run = arrive;
  return true;
}

bool decode_wait(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (!one_of(form,
              {"parity", "acquire", "relaxed", "cta", "cluster", "shared", "shared::cta", "b64"}))
    return false;
  const bool hint = form.modifiers[0] == "try_wait";
  d.want_operands(3, hint ? 4 : 3);
  step.aux = (form.has("parity") ? wait_parity : 0u) | (form.has("relaxed") ? wait_relaxed : 0u);
  step.o[0] = d.target_predicate(d.operand(0));
  if (step.o[0] == 0) d.refuse("the result cannot be left out");
  step.o[1] = d.source(d.operand(2), form.has("parity") ? 4 : 8);
  if (d.operand_count() == 4) d.source(d.operand(3), 4);
  decode_place(d, step, 1);
  step.run = wait;
  return true;
}

}  // namespace

std::string describe(const Cluster& cluster, const Mbarrier& b) {
  const Block& block = *cluster.blocks[b.rank];
  std::string out = "the mbarrier at " + place_name(block, b.offset);
  if (cluster.blocks.size() > 1) out += fmt::format(" of block {} of the cluster", b.rank);
  return out + fmt::format(" (phase {}: {} of {} arrivals and {} bytes to come)", b.phase,
                           b.pending, b.expected, b.transactions);
}

void fence_mbarriers(Warp& w) {
  const u32 owner = 32 * w.block->rank + w.index;
  for (Mbarrier& b : w.block->cluster->mbarriers) b.fenced |= b.owner == owner;
}

Mbarrier* mbarrier_at(Warp& w, const Step& s, u32 lane, const SharedPlace& place) {
  Block& block = *place.block;
  Cluster& cluster = *block.cluster;
  const u32 index = block.mbarrier_at.empty() ? 0u : block.mbarrier_at[place.offset / 8];
  if (index == 0) {
    fault(w, s, lane, "run.uninitialised",
          fmt::format("uses {} as an mbarrier, which nobody initialised",
                      place_name(block, place.offset)));
    return nullptr;
  }
  Mbarrier& b = cluster.mbarriers[index - 1];
  u64 word = 0;
  std::memcpy(&word, block.shared.data() + place.offset, 8);
  if (word != word_of(index)) {
    fault(w, s, lane, "run.race", "the words of " + describe(cluster, b) + " were overwritten");
    return nullptr;
  }
  const u32 warp = b.owner & 31;
  const bool own = block.rank == w.block->rank;
  const bool ordered = own ? warp == w.index || b.owner_clock < w.known[warp]
                           : b.owner_clock < w.beyond.far[b.owner];
  if (ordered || b.told < w.cluster_seen || !w.block->launch->options->check_races) return &b;
  fault(w, s, lane, "run.race",
        fmt::format("uses {} without a barrier after its initialisation", describe(cluster, b)));
  return nullptr;
}

void complete_bytes(Cluster& cluster, Mbarrier& b, std::int64_t bytes) {
  b.transactions -= bytes;
  settle(cluster, b);
}

void arrive_for_copies(Cluster& cluster, Mbarrier& b) {
  if (b.pending != 0) --b.pending;
  settle(cluster, b);
}

bool expire_waits(Cluster& cluster) {
  bool any = false;
  for (Mbarrier& b : cluster.mbarriers) {
    for (Warp* w : b.waiting) {
      if (w->state != WarpState::polling) continue;
      w->state = WarpState::ready;
      w->timed_out = any = true;
    }
    b.waiting.clear();
  }
  return any;
}

bool decode_mbarrier(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.opcode != Opcode::op_mbarrier || form.modifiers.empty()) return false;
  d.program.async = d.program.meets_in_part = true;
  const std::string& kind = form.modifiers[0];
  if (kind == "arrive" || kind == "arrive_drop") return decode_arrive(d, step);
  if (kind == "test_wait" || kind == "try_wait") return decode_wait(d, step);
  if (kind == "pending_count") {
    d.want_operands(2, 2);
    step.o[0] = d.target(d.operand(0), 4);
    if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
    step.o[1] = d.source(d.operand(1), 8);
    step.run = pending_count;
    return true;
  }
  if (!one_of(form,
              {"relaxed", "cta", "cluster", "shared", "shared::cta", "shared::cluster", "b64"}))
    return false;
  const bool inval = kind == "inval";
  d.want_operands(inval ? 1 : 2, inval ? 1 : 2);
  if (!inval) step.o[1] = d.source(d.operand(1), 4);
  decode_place(d, step, 0);
  step.aux = kind == "complete_tx" ? 1 : 0;
  step.run = kind == "init"                                 ? init
             : inval                                        ? invalidate
             : kind == "expect_tx" || kind == "complete_tx" ? transact
                                                            : nullptr;
  return step.run != nullptr;
}

}  // namespace cupilot::ptx
