// Which thread of a block touched each cell of global memory last, as reader_stamp.hpp has it of
// shared memory: two threads that touch a cell, one of them writing, must be ordered. Internal.
#pragma once

#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {

// proxy: asynchronous. alike: a thread whose lane's address another lane of the instruction has and
// answers for.
enum class Agent : std::uint8_t { thread, alike, proxy };

// An access to a word, 4 bytes of a buffer. `bytes`: which of them, as the state word has it.
// `mine`: the block wrote the word before in this launch.
struct WordAccess {
  std::uint64_t word = 0;
  std::uint32_t bytes = 0;
  Intent intent = Intent::load;
  bool mine = false;
  Agent agent = Agent::thread;
};

// The slow ways: a cell that the block touched before, or that is smaller than a word.
bool check_word(Warp& warp, const Step& step, std::uint32_t lane, Buffer& buffer,
                const WordAccess& access);

// True if the warp's block was the last to read any of a word in this launch.
bool block_read(const Warp& warp, const Buffer& buffer, std::uint64_t word);

// False after a fault.
inline bool thread_ordered(Warp& warp, const Step& step, std::uint32_t lane, Buffer& buffer,
                           const WordAccess& access) {
  if (access.agent == Agent::alike) return true;
  ThreadStamps& stamps = *buffer.threads;
  const bool first = access.intent == Intent::store && !access.mine &&
                     access.agent == Agent::thread && stamps.shift == 2 &&
                     stamps.reads.load(std::memory_order_relaxed) == nullptr &&
                     access.bytes == whole_word;
  if (!first) return check_word(warp, step, lane, buffer, access);
  const std::uint32_t strong = (step.flags & flag_strong) != 0 ? 0x80000000u : 0u;
  const std::atomic_ref<std::uint32_t> cell(stamps.writes[access.word]);
  cell.store(strong | (warp.clock << 10) | (warp.index * 32 + lane), std::memory_order_relaxed);
  return true;
}

}  // namespace cupilot::ptx
