#include "ptx/machine/block_order.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include <fmt/format.h>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/reader_stamp.hpp"

namespace cupilot::ptx {

namespace {

// A grid of more blocks is judged by as many of its first and of its last.
constexpr std::uint64_t most_blocks = 4096, watched_at_an_end = 128;

std::uint64_t blocks_of(const LaunchContext& launch) {
  const Dim3& grid = launch.launch->grid;
  return std::uint64_t{grid.x} * grid.y * grid.z;
}

bool is_watched(const LaunchContext& launch, std::uint64_t block) {
  const std::uint64_t blocks = blocks_of(launch);
  return blocks <= most_blocks || block < watched_at_an_end || block + watched_at_an_end >= blocks;
}

using ClocksPtr = std::shared_ptr<const Clocks>;

ClocksPtr later(const ClocksPtr& a, const ClocksPtr& b) {
  if (a == b) return a;
  bool first = true, second = true;
  for (std::size_t i = 0; i < a->size(); ++i) {
    first &= (*a)[i] >= (*b)[i];
    second &= (*b)[i] >= (*a)[i];
  }
  if (first || second) return first ? a : b;
  auto out = std::make_shared<Clocks>(*a);
  for (std::size_t i = 0; i < out->size(); ++i) (*out)[i] = std::max((*out)[i], (*b)[i]);
  return out;
}

bool before(const Foreign::Of& of, std::uint64_t block) { return of.block < block; }

void add(Foreign& into, const Foreign::Of& one) {
  const auto at = std::lower_bound(into.blocks.begin(), into.blocks.end(), one.block, before);
  if (at != into.blocks.end() && at->block == one.block) {
    at->clocks = later(at->clocks, one.clocks);
  } else {
    into.blocks.insert(at, one);
  }
}

void add(Foreign& into, const Foreign& from) {
  std::vector<Foreign::Of> all;
  all.reserve(into.blocks.size() + from.blocks.size());
  auto a = into.blocks.begin();
  auto b = from.blocks.begin();
  while (a != into.blocks.end() || b != from.blocks.end()) {
    if (b == from.blocks.end() || (a != into.blocks.end() && a->block < b->block)) {
      all.push_back(std::move(*a++));
    } else if (a == into.blocks.end() || b->block < a->block) {
      all.push_back(*b++);
    } else {
      all.push_back({a->block, later(a->clocks, b->clocks)});
      ++a;
      ++b;
    }
  }
  into.blocks = std::move(all);
}

// True if `more` is seen to hold all of `less` without a look at clocks.
bool holds(const Foreign& more, const Foreign& less) {
  if (more.word != nullptr && more.word == less.word) return more.tellings >= less.tellings;
  auto at = more.blocks.begin();
  return std::all_of(less.blocks.begin(), less.blocks.end(), [&](const Foreign::Of& one) {
    at = std::lower_bound(at, more.blocks.end(), one.block, before);
    return at != more.blocks.end() && at->block == one.block && at->clocks == one.clocks;
  });
}

std::shared_ptr<const Foreign> copy_of_word(const Foreign& all) {
  auto copy = std::make_shared<Foreign>(all);
  copy->word = &all;
  return copy;
}

}  // namespace

struct Tellings {
  struct Word {
    Foreign all, assumed;
    Told given;  // copies of them; null once they have grown
  };
  std::unordered_map<std::uint64_t, Word> words;
};

void watch_blocks(LaunchContext& launch) {
  const bool wanted = launch.options->check_races && launch.program->orders_blocks &&
                      !launch.parallel && blocks_of(launch) > 1;
  launch.tellings = wanted ? std::make_shared<Tellings>() : nullptr;
}

void learn_foreign(std::shared_ptr<const Foreign>& into,
                   const std::shared_ptr<const Foreign>& from) {
  if (from == nullptr || into == from) return;
  // Blocks that wait in turn hear the same word again and again.
  if (into == nullptr || holds(*from, *into)) {
    into = from;
    return;
  }
  if (holds(*into, *from)) return;
  auto both = std::make_shared<Foreign>();
  both->blocks = into->blocks;
  add(*both, *from);
  into = std::move(both);
}

void tell_blocks(Warp& warp, std::uint64_t word, const ClocksPtr& clocks, const Told& others) {
  Tellings::Word& told = warp.block->launch->tellings->words[word];
  told.given.known = nullptr;
  ++told.all.tellings;
  if (is_watched(*warp.block->launch, warp.block->index))
    add(told.all, {warp.block->index, clocks});
  if (others.known != nullptr && others.known->word != &told.all) add(told.all, *others.known);
  if (others.assumed == nullptr || others.assumed->word == &told.assumed) return;
  told.given.assumed = nullptr;
  ++told.assumed.tellings;
  add(told.assumed, *others.assumed);
}

Told told_to(const Warp& warp, std::uint64_t word) {
  auto& words = warp.block->launch->tellings->words;
  const auto found = words.find(word);
  if (found == words.end()) return {};
  Tellings::Word& told = found->second;
  if (told.given.known == nullptr) told.given.known = copy_of_word(told.all);
  if (told.given.assumed == nullptr && !told.assumed.blocks.empty())
    told.given.assumed = copy_of_word(told.assumed);
  return told.given;
}

namespace {

bool is_in(const Foreign* foreign, std::uint64_t block, std::uint32_t other, std::uint32_t clock) {
  if (foreign == nullptr) return false;
  const auto& all = foreign->blocks;
  const auto at = std::lower_bound(all.begin(), all.end(), block, before);
  return at != all.end() && at->block == block && clock < (*at->clocks)[other];
}

}  // namespace

bool block_assumed(const Warp& warp, std::uint64_t block, std::uint32_t other,
                   std::uint32_t clock) {
  return is_in(warp.assumed.get(), block, other, clock);
}

bool block_knows(const Warp& warp, std::uint64_t block, std::uint32_t other, std::uint32_t clock) {
  if (is_in(warp.foreign.get(), block, other, clock)) return true;
  const auto& near = warp.block->cluster->blocks;
  for (std::size_t rank = 0; near.size() > 1 && rank < near.size(); ++rank) {
    if (near[rank]->index != block) continue;
    const std::size_t slot = 32 * rank + other;
    return slot < warp.beyond.far.size() && clock < warp.beyond.far[slot];
  }
  return false;
}

namespace {

std::string thread_of(const Warp& warp, std::uint64_t block, const std::string& thread) {
  const Dim3& grid = warp.block->launch->launch->grid;
  return fmt::format("{} of block ({},{},{})", thread, block % grid.x, block / grid.x % grid.y,
                     block / (std::uint64_t{grid.x} * grid.y));
}

struct CellTouch {
  Warp& warp;
  const Step& step;
  std::uint32_t lane;
  Buffer& buffer;
  const WordAccess& at;
  std::uint64_t cell;
  std::uint32_t first, bytes;  // of the word
  bool strong;

  // "reads p at offset 8 that thread (0,0,0) of block (1,0,0) wrote"
  std::string what(const std::string& who, const char* did) const {
    const char* verb = at.intent == Intent::load    ? "reads"
                       : at.intent == Intent::store ? "writes"
                                                    : "updates";
    return fmt::format("{} {} that {} {}", verb, buffer.place(4 * at.word + first), who, did);
  }

  std::string race(const std::string& who, const char* did) const {
    return what(who, did) +
           ", and nothing orders the two: no release by that block that this thread acquired";
  }
};

// Remarks once on an access that comes after another's by an atomic's result alone.
void say_assumed(const CellTouch& a, std::uint64_t block, std::uint32_t thread, const char* did) {
  const std::vector<Fault>& said = a.warp.block->launch->remarks;
  if (std::none_of(said.begin(), said.end(),
                   [](const Fault& one) { return one.code == "assumed_order"; }))
    remark(a.warp, a.step, a.lane, "assumed_order",
           a.what(thread_of(a.warp, block, thread_name(a.warp, thread)), did));
}

bool after_writer(const CellTouch& a, std::uint64_t block) {
  if (!is_watched(*a.warp.block->launch, block)) return true;
  const std::uint32_t stamp = a.buffer.threads->writes[a.cell];
  if (stamp == 0) return true;  // by no thread that is known
  const bool both_strong = a.strong && (stamp >> 31) != 0;
  if (both_strong || block_knows_write(a.warp, block, stamp)) return true;
  const std::uint32_t thread = stamp & 1023;
  const bool atomic = ((stamp >> 30) & 1) != 0;
  if (block_assumed(a.warp, block, thread / 32, stamp_clock(stamp) & 0xfffff)) {
    say_assumed(a, block, thread, atomic ? "updated" : "wrote");
    return true;
  }
  const bool plain = a.at.intent == Intent::store && !a.strong && (stamp >> 30) == 0;
  return may_agree(
      a.warp, a.step, a.lane, plain ? a.buffer.data.get() + 4 * a.at.word + a.first : nullptr,
      a.bytes,
      a.race(thread_of(a.warp, block, thread_name(a.warp, thread)), atomic ? "updated" : "wrote"));
}

bool after_reader(const CellTouch& a) {
  const std::uint64_t* reads = a.buffer.threads->reads.load(std::memory_order_acquire);
  if (reads == nullptr) return true;
  const std::uint64_t entry = reads[a.cell];
  const auto reader = static_cast<std::uint32_t>(entry >> 32);
  const std::uint32_t mine = a.buffer.threads->reader(a.warp.block->index);
  if (reader == mine || (reader & ~whole_word) == 0 || ((reader ^ mine) & whole_word) != 0)
    return true;
  const auto stamp = static_cast<std::uint32_t>(entry);
  const std::uint32_t who = read_who(stamp);
  const std::uint64_t block = (reader & ~whole_word) - 1;
  if (!is_watched(*a.warp.block->launch, block)) return true;
  if (who == read_by_set || (who == read_strongly && a.strong)) return true;
  if (block_knows(a.warp, block, read_warp(stamp), read_clock(stamp))) return true;
  if (block_assumed(a.warp, block, read_warp(stamp), read_clock(stamp))) return true;
  const std::string thread = who < 32 ? thread_name(a.warp, read_warp(stamp) * 32 + who)
                                      : fmt::format("warp {}", read_warp(stamp));
  fault(a.warp, a.step, a.lane, "run.race", a.race(thread_of(a.warp, block, thread), "read"));
  return false;
}

}  // namespace

bool blocks_ordered(Warp& warp, const Step& step, std::uint32_t lane, Buffer& buffer,
                    const WordAccess& at, std::uint32_t by) {
  const LaunchContext& launch = *warp.block->launch;
  if (!launch.options->check_races || launch.parallel) return true;
  if (launch.program->orders_blocks && launch.tellings == nullptr) return true;
  const bool strong = at.intent == Intent::atomic || (step.flags & flag_strong) != 0;
  const bool wide = strong && (step.aux & within_block) == 0;
  // Without any order between blocks a load was judged by what wrote.
  const bool judged = at.intent == Intent::load && !launch.program->orders_blocks;
  const AsLane as(warp, lane);
  const ThreadStamps& stamps = *buffer.threads;
  const std::uint32_t shift = stamps.shift, width = 1u << shift;
  for (std::uint32_t i = 0; i < 4; i += width) {
    if ((((1u << width) - 1) << (28 + i) & at.bytes) == 0) continue;
    const std::uint64_t cell = (at.word << (2 - shift)) + (i >> shift);
    const CellTouch touch{warp, step, lane, buffer, at, cell, i, width, wide};
    const std::uint32_t writer = stamps.owners == nullptr ? by : stamps.writer(cell);
    const bool other = writer != 0 && writer - 1 != warp.block->index;
    if (other && !judged && !after_writer(touch, writer - 1)) return false;
    if (at.intent != Intent::load && !after_reader(touch)) return false;
  }
  return true;
}

}  // namespace cupilot::ptx
