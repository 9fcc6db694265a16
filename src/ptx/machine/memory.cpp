// Global, local and parameter memory, and the choice between the spaces.
#include "ptx/machine/memory.hpp"
#include "ptx/machine/block_order.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace cupilot::ptx {
namespace {

constexpr std::uint32_t written_bits = whole_word;
constexpr std::uint32_t owner_bits = 0x0fffffffu;

void depends(Warp& warp, const Step& step, const char* why) {
  LaunchContext& launch = *warp.block->launch;
  if (!launch.independent.load(std::memory_order_relaxed) || !launch.independent.exchange(false))
    return;
  const std::lock_guard<std::mutex> hold(launch.lock);
  const Function& f = launch.program->module->functions[warp.code->function];
  launch.dependence = fmt::format("{} (ptx line {})", why, f.instructions[step.instruction].line);
}

Buffer* locate(LaunchContext& launch, std::uint64_t address, std::uint64_t bytes) {
  if (Buffer* found = launch.memory->find(address, bytes)) return found;
  return launch.program->constants.find(address, bytes);
}

bool inside(const Buffer& buffer, std::uint64_t least, std::uint64_t most, std::uint32_t bytes) {
  return least >= buffer.address && most - buffer.address + bytes <= buffer.bytes && most >= least;
}

void explain_bounds(Warp& warp, const Step& step, std::uint32_t lane, std::uint64_t address,
                    std::uint32_t bytes, Intent intent) {
  const char* verb = intent == Intent::load    ? "reads"
                     : intent == Intent::store ? "writes"
                                               : "updates";
  constexpr std::uint64_t null_page = 1u << 16;
  LaunchContext& launch = *warp.block->launch;
  const std::string near = address == 0 ? "a null pointer"
                           : address < null_page
                               ? fmt::format("a null pointer and {} bytes", address)
                               : launch.memory->describe(address);
  fault(warp, step, lane, "run.out_of_bounds",
        fmt::format("{} {} bytes at address 0x{:x}: {}", verb, bytes, address, near));
}

// True if a load may see what `by` (a block's number and one) wrote in this launch; else the reason
// stands as a fault.
bool may_see(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t by,
             std::uint32_t owner, const Buffer& buffer, std::uint64_t offset) {
  if (by == 0 || !warp.block->launch->options->check_races) return true;
  if ((step.flags & flag_read_only) != 0 && (step.flags & space_mask) == space_global) {
    fault(warp, step, lane, "run.race",
          fmt::format("reads {}, which this launch wrote, by a load for memory that nobody writes",
                      buffer.place(offset)));
    return false;
  }
  const bool strong = (step.flags & flag_strong) != 0 && (step.aux & within_block) == 0;
  if (by == owner || warp.block->program->orders_blocks || strong) return true;
  fault(warp, step, lane, "run.race",
        fmt::format("reads {} that another block wrote, and the kernel has no fence, acquire or "
                    "release to order them",
                    buffer.place(offset)));
  return false;
}

// True if a thread may write or update a word that another block wrote; else the reason stands as a
// fault. Without a fence between blocks no lock can guard what a block reads and writes back,
// however strong both accesses are.
bool may_change(Warp& warp, const Step& step, std::uint32_t lane, const Buffer& buffer,
                std::uint64_t offset, Intent intent) {
  const Program& program = *warp.block->program;
  if (program.orders_blocks || !warp.block->launch->options->check_races) return true;
  const bool lost = intent == Intent::store && (step.flags & flag_strong) != 0 &&
                    block_read(warp, buffer, offset / 4);
  if (!lost && (intent != Intent::atomic || (step.aux & within_block) == 0)) return true;
  fault(warp, step, lane, "run.race",
        lost ? fmt::format("writes {}, which the block read and another block wrote: an update is "
                           "lost",
                           buffer.place(offset))
             : fmt::format("updates {}, which another block wrote, by an atomic of the block's "
                           "scope",
                           buffer.place(offset)));
  return false;
}

constexpr std::uint32_t several_readers = 0xffffffffu;

// Checks a word on one of several host threads: a word that another block touches too, one of both
// writing it, ends the launch, which then runs on one thread. Each side leaves its name before it
// looks for the other's, so that one of them sees it, and before it touches the data.
bool alone(Warp& warp, std::uint32_t& state, std::uint32_t& reader, std::uint32_t owner,
           std::uint32_t want, Intent intent) {
  const std::atomic_ref<std::uint32_t> written(state), read(reader);
  std::uint32_t other = 0;
  if (intent == Intent::load) {
    const std::uint32_t before = read.load();
    if (before != owner && before != several_readers && read.exchange(owner) != 0)
      read.store(several_readers);
    other = written.load() & owner_bits;
  } else {
    std::uint32_t before = written.load();
    while (!written.compare_exchange_weak(before, (before & written_bits) | want | owner)) {
    }
    other = before & owner_bits;
    if (other == 0 || other == owner) other = read.load();
  }
  if (other == 0 || other == owner) return true;
  LaunchContext& launch = *warp.block->launch;
  launch.conflict = launch.halt = true;
  warp.stop = warp.block->faulted = true;
  return false;
}

// The block (its number and one) that wrote those bytes of a word last, another's before one's own;
// `by`: the word's.
std::uint32_t last_writer(const Warp& warp, const Buffer& buffer, std::uint64_t word,
                          std::uint32_t bytes, std::uint32_t by, std::uint32_t owner) {
  if (by == 0 || warp.block->program->global_shift == 2) return by;
  if (!buffer.threads) return bytes == written_bits || by == owner ? by : 0;
  const ThreadStamps& stamps = *buffer.threads;
  const std::uint32_t width = 1u << stamps.shift;
  std::uint32_t out = 0;
  for (std::uint32_t i = 0; i < 4 && (out == 0 || out == owner); i += width) {
    if ((((1u << width) - 1) << (28 + i) & bytes) == 0) continue;
    if (const std::uint32_t one = stamps.writer((word << (2 - stamps.shift)) + (i >> stamps.shift)))
      out = one;
  }
  return out;
}

// True if blocks wait for one another by words or barriers, and some wrote near a word.
bool blocks_share(const LaunchContext& launch, const Buffer& buffer, std::uint64_t word) {
  constexpr std::uint64_t near = 1024;
  const Dim3& grid = launch.launch->grid;
  if (launch.parallel || !launch.program->orders_blocks ||
      std::uint64_t{grid.x} * grid.y * grid.z < 2)
    return false;
  const std::uint64_t end = std::min((buffer.bytes + 3) / 4, word + near);
  for (std::uint64_t w = word > near ? word - near : 0; w < end; ++w)
    if ((buffer.state[w] & owner_bits) != 0) return true;
  return false;
}

// State words of one access. Stores and atomics take them over for the block.
bool global_state(Warp& warp, const Step& step, std::uint32_t lane, Buffer& buffer,
                  std::uint64_t offset, std::uint32_t bytes, Intent intent, Agent agent) {
  const std::uint32_t owner = static_cast<std::uint32_t>(warp.block->index + 1) & owner_bits;
  std::uint32_t* state = buffer.state.get() + offset / 4;
  const std::uint32_t words = std::max(bytes / 4, 1u);
  const std::uint32_t want = bytes >= 4 ? written_bits : ((1u << bytes) - 1) << (28 + offset % 4);
  LaunchContext& launch = *warp.block->launch;
  if (intent != Intent::load) {
    if (launch.parallel) {
      buffer.note_names();
    } else {
      buffer.note_names(offset / 4, words);
    }
  }
  for (std::uint32_t w = 0; w < words; ++w) {
    const std::uint32_t s =
        launch.parallel ? std::atomic_ref<std::uint32_t>(state[w]).load() : state[w];
    const std::uint32_t by = last_writer(warp, buffer, offset / 4 + w, want, s & owner_bits, owner);
    if (launch.parallel &&
        !alone(warp, state[w], buffer.readers[offset / 4 + w], owner, want, intent))
      return false;
    if (intent != Intent::store && (s & want) != want && launch.options->check_initialised &&
        !buffer.later) {
      fault(warp, step, lane, "run.uninitialised",
            fmt::format("reads {} that nobody wrote{}", buffer.place(offset + 4 * w),
                        blocks_share(launch, buffer, offset / 4 + w)
                            ? " so far, and nothing makes this block wait for blocks that may "
                              "write it"
                            : ""));
      return false;
    }
    if (intent == Intent::load && !may_see(warp, step, lane, by, owner, buffer, offset + 4 * w))
      return false;
    const bool others = by != 0 && by != owner;
    if (others && agent != Agent::proxy &&
        !may_change(warp, step, lane, buffer, offset + 4 * w, intent))
      return false;
    if (others && intent != Intent::atomic) {
      depends(warp, step,
              intent == Intent::load ? "a block reads what another block wrote"
                                     : "two blocks write one address");
    }
    const WordAccess access{offset / 4 + w, want, intent, by == owner, agent};
    const bool shared =
        others || (intent != Intent::load && buffer.threads &&
                   buffer.threads->reads.load(std::memory_order_relaxed) != nullptr);
    if (buffer.threads && shared && agent == Agent::thread &&
        !blocks_ordered(warp, step, lane, buffer, access, by))
      return false;
    if (buffer.threads && !thread_ordered(warp, step, lane, buffer, access)) return false;
    if (intent == Intent::load || launch.parallel) continue;
    state[w] = (s & written_bits) | want | owner;
  }
  return true;
}

// The bits that are set in any lane's address when `offset` is added.
std::uint64_t bits_of(std::uint32_t mask, const LaneAddresses& addresses, std::uint64_t offset) {
  std::uint64_t bits = 0;
  if (mask == full_mask) {
    for (const std::uint64_t address : addresses.at) bits |= address + offset;
  } else {
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
      bits |= addresses.at[first_lane(rest)] + offset;
  }
  return bits;
}

struct Extent {
  std::uint64_t least, most;
};

// The least and the greatest address of the lanes of a mask.
Extent extent_of(std::uint32_t mask, const LaneAddresses& addresses, const PatternMemo& memo) {
  constexpr std::uint64_t half = 1ull << 31;
  const std::uint64_t base = addresses.at[first_lane(mask)];
  if (bits_of(mask, addresses, half - base) >> 32 == 0)
    return {base + static_cast<std::uint64_t>(std::int64_t{memo.least}),
            base + static_cast<std::uint64_t>(std::int64_t{memo.most})};
  Extent e{base, base};
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint64_t a = addresses.at[first_lane(rest)];
    e = {std::min(e.least, a), std::max(e.most, a)};
  }
  return e;
}

// Patterns are of aligned addresses only.
bool aligned(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses,
             std::uint32_t bytes) {
  if ((bits_of(mask, addresses, 0) & (bytes - 1)) == 0) return true;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    if ((addresses.at[lane] & (bytes - 1)) == 0) continue;
    fault(warp, step, lane, "run.misaligned",
          fmt::format("address 0x{:x} ({}) is not aligned to {} bytes", addresses.at[lane],
                      warp.block->launch->memory->describe(addresses.at[lane]), bytes));
    return false;
  }
  return true;
}

// Points the lanes into one buffer, in which their accesses need no further look. (Other lanes
// point anywhere.)
void point_into(const Buffer& buffer, const LaneAddresses& addresses, LanePointers& out) {
  const std::uint64_t from = reinterpret_cast<std::uintptr_t>(buffer.data.get()) - buffer.address;
  for (std::uint32_t i = 0; i < 32; ++i)
    out.at[i] = reinterpret_cast<std::uint8_t*>(from + addresses.at[i]);
}

void count_global(Warp& warp, Intent intent, std::uint32_t sectors) {
  if (intent == Intent::atomic) {
    count_up(warp, Counter::atomic_requests, 1);
    count_up(warp, Counter::atomic_sectors, sectors);
    return;
  }
  const bool load = intent == Intent::load;
  count_up(warp, load ? Counter::global_load_requests : Counter::global_store_requests, 1);
  count_up(warp, load ? Counter::global_load_sectors : Counter::global_store_sectors, sectors);
}

// Counts what the first level holds of a load that takes less than half of each sector; one that
// takes more is taken to bring all anew.
void count_kept(Warp& warp, const PatternMemo& memo, const LaneAddresses& addresses,
                std::uint32_t bytes) {
  const auto taken = static_cast<std::uint32_t>(__builtin_popcount(memo.leaders)) * bytes;
  if (32 * memo.passes <= 2 * taken) return;
  if (!warp.kept) warp.kept = std::make_unique<KeptSectors>();
  warp.kept->begin();
  for (std::uint32_t rest = memo.leaders; rest != 0; rest &= rest - 1)
    warp.block->worker->kept_sectors += warp.kept->keeps(addresses.at[first_lane(rest)]) ? 1 : 0;
}

void note_lanes(Warp& warp, Intent intent, std::uint32_t lanes, const LaneAddresses& addresses,
                std::uint32_t bytes) {
  if (!notes_lines(warp, intent)) return;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    note_lines(warp, intent, addresses.at[first_lane(rest)], bytes);
}

bool resolve_global(Warp& warp, const Step& step, std::uint32_t mask,
                    const LaneAddresses& addresses, std::uint32_t bytes, Intent intent,
                    LanePointers& out, CountBy tally) {
  if (!aligned(warp, step, mask, addresses, bytes)) return false;
  LaunchContext& launch = *warp.block->launch;
  const PatternKind kind = intent == Intent::atomic && tally != CountBy::together
                               ? PatternKind::atomic_sectors
                               : PatternKind::sectors;
  PatternMemo& memo = pattern_of(warp, step, mask, addresses, bytes, kind);
  if (tally != CountBy::none && launch.options->count) {
    count_global(warp, intent, memo.passes);
    // A strong load asks L2: others may have changed what the first level holds.
    const bool strong = (step.flags & flag_strong) != 0;
    note_lanes(warp, intent, memo.leaders, addresses, bytes);
    if (intent == Intent::load && !strong) count_kept(warp, memo, addresses, bytes);
  }
  const auto [least, most] = extent_of(mask, addresses, memo);
  Buffer* common = memo.buffer;
  if (common == nullptr || !inside(*common, least, most, bytes)) {
    common = locate(launch, least, bytes);
    if (common != nullptr && !inside(*common, least, most, bytes)) common = nullptr;
    memo.buffer = common;
  }
  const bool writable = common != nullptr && common->access == Access::read_write;
  const bool taken =
      writable && take_stretch(warp, step, mask, memo, *common, least - common->address, intent);
  if (taken && intent == Intent::load) {
    // All of the stretch is of one block.
    const std::uint32_t by = common->state[(least - common->address) / 4] & owner_bits;
    if (by != 0 && by != (static_cast<std::uint32_t>(warp.block->index + 1) & owner_bits))
      depends(warp, step, "a block reads what another block wrote");
  }
  const bool stateless =
      common != nullptr && !common->state && (writable || intent == Intent::load);
  if ((taken || stateless) && !common->later) {
    point_into(*common, addresses, out);
    warp.touched |= common->threads ? mask : 0;
    return true;
  }
  std::uint32_t touched = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    Buffer* buffer = common != nullptr ? common : locate(launch, addresses.at[lane], bytes);
    if (buffer == nullptr) {
      explain_bounds(warp, step, lane, addresses.at[lane], bytes, intent);
      return false;
    }
    const std::uint64_t offset = addresses.at[lane] - buffer->address;
    if (buffer->access == Access::read_only && intent != Intent::load) {
      fault(warp, step, lane, "run.input_write",
            fmt::format("writes {} bytes at offset {} of {}, which is read-only", bytes, offset,
                        buffer->name));
      return false;
    }
    // A buffer that was writable before, as a table is to setup launches, remembers which of it was
    // written.
    const Agent agent =
        intent == Intent::load || ((memo.leaders >> lane) & 1) != 0 ? Agent::thread : Agent::alike;
    if (!taken && buffer->state &&
        !global_state(warp, step, lane, *buffer, offset, bytes, intent, agent))
      return false;
    touched |= buffer->threads ? 1u << lane : 0u;
    out.at[lane] = buffer->at(offset, bytes);
  }
  warp.touched |= touched;
  return true;
}

bool resolve_local(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses,
                   std::uint32_t bytes, Intent intent, LanePointers& out) {
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    const std::uint64_t at = addresses.at[lane];
    if (at % bytes != 0) {
      fault(warp, step, lane, "run.misaligned",
            fmt::format("local address {} is not aligned to {} bytes", at, bytes));
      return false;
    }
    if (at + bytes > warp.local_top || at + bytes < at) {
      fault(warp, step, lane, "run.out_of_bounds",
            fmt::format("{} bytes at local offset {}, but the thread has {} bytes", bytes,
                        static_cast<std::int64_t>(at), warp.local_top));
      return false;
    }
    const std::size_t index = static_cast<std::size_t>(lane) * warp.local_stride + at;
    std::uint8_t* written = warp.local_written.data() + index;
    // Compilers load more than they use (a struct's padding, an array speculatively): what was
    // never written holds anything.
    if (intent != Intent::store && std::memchr(written, 0, bytes) != nullptr) {
      for (std::uint32_t b = 0; b < bytes; ++b) {
        if (written[b] == 0) warp.local[index + b] = warp.unwritten.at(index + b);
      }
    }
    if (intent != Intent::load) std::memset(written, 1, bytes);
    out.at[lane] = warp.local.data() + index;
  }
  const auto lanes = static_cast<std::uint32_t>(__builtin_popcount(mask));
  if ((step.flags & flag_frame) == 0)
    count_up(warp, Counter::local_bytes, std::uint64_t{lanes} * bytes);
  return true;
}

bool resolve_param(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses,
                   std::uint32_t bytes, Intent intent, LanePointers& out) {
  const std::vector<std::uint8_t>& block = warp.block->launch->launch->parameters;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    const std::uint64_t at = addresses.at[lane] - param_window;
    if (at > block.size() || bytes > block.size() - at) {
      fault(warp, step, lane, "run.out_of_bounds",
            fmt::format("{} bytes at parameter offset {}, but there are {}", bytes,
                        static_cast<std::int64_t>(at), block.size()));
      return false;
    }
    if (at % bytes != 0) {
      fault(warp, step, lane, "run.misaligned",
            fmt::format("parameter offset {} is not aligned to {} bytes", at, bytes));
      return false;
    }
    if (intent != Intent::load) {
      fault(warp, step, lane, "run.input_write", "writes a kernel parameter");
      return false;
    }
    out.at[lane] = const_cast<std::uint8_t*>(block.data()) + at;  // only read
  }
  return true;
}

bool resolve_generic(Warp& warp, const Step& step, std::uint32_t mask,
                     const LaneAddresses& addresses, std::uint32_t bytes, Intent intent,
                     LanePointers& out, CountBy tally) {
  std::uint32_t in_shared = 0, in_local = 0, in_param = 0;
  LaneAddresses inner = addresses;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    const std::uint64_t window = addresses.at[lane] & window_mask;
    if (window == shared_window) in_shared |= 1u << lane;
    if (window == local_window) in_local |= 1u << lane;
    if (window == param_window) in_param |= 1u << lane;
    if (window == shared_window || window == local_window) inner.at[lane] &= ~window_mask;
  }
  const std::uint32_t in_global = mask & ~(in_shared | in_local | in_param);
  return (in_global == 0 ||
          resolve_global(warp, step, in_global, addresses, bytes, intent, out, tally)) &&
         (in_shared == 0 ||
          resolve_shared(warp, step, in_shared, inner, bytes, intent, out, tally)) &&
         (in_local == 0 || resolve_local(warp, step, in_local, inner, bytes, intent, out)) &&
         (in_param == 0 || resolve_param(warp, step, in_param, addresses, bytes, intent, out));
}

}  // namespace

void note_returning_atomic(Warp& warp, const Step& step, const LaneAddresses& addresses) {
  const std::uint8_t space = step.flags & space_mask;
  const bool global = space == space_global ||
                      (space == space_generic &&
                       (addresses.at[first_lane(warp.mask)] & window_mask) != shared_window);
  if (global) depends(warp, step, "an atomic's result is used");
}

void add_place(Decoder& d, std::vector<std::uint32_t>& list, const Operand& operand,
               MemorySpace space) {
  Step step;
  d.address(step, operand, space, 0);
  const auto offset = static_cast<std::uint64_t>(step.offset);
  list.insert(list.end(), {step.o[0], step.flags, static_cast<std::uint32_t>(offset),
                           static_cast<std::uint32_t>(offset >> 32)});
}

void place_addresses(const Warp& warp, const std::uint32_t* place, LaneAddresses& out) {
  Step step;
  step.flags = static_cast<std::uint8_t>(place[1]);
  step.offset = static_cast<std::int64_t>(place[2] | (std::uint64_t{place[3]} << 32));
  lane_addresses(warp, step, place[0], out);
}

namespace {

// True if the asynchronous proxy may read what threads of this launch wrote; else the reason stands
// as a fault.
bool proxy_may_see(Warp& warp, const Step& step, std::uint32_t lane, const Buffer& buffer,
                   std::uint64_t offset, std::uint64_t bytes) {
  const LaunchContext& launch = *warp.block->launch;
  if (launch.program->orders_proxies || !launch.options->check_races) return true;
  for (std::uint64_t w = offset / 4; w < (offset + bytes + 3) / 4; ++w) {
    const std::uint32_t state =
        launch.parallel ? std::atomic_ref<std::uint32_t>(buffer.state[w]).load() : buffer.state[w];
    if ((state & owner_bits) == 0) continue;
    fault(warp, step, lane, "run.race",
          fmt::format("has the asynchronous proxy read {}, which this launch wrote, without a "
                      "fence.proxy.async for global memory",
                      buffer.place(4 * w)));
    return false;
  }
  return true;
}

}  // namespace

// Bytes at the ends of a span share their state word with others.
std::uint8_t* global_span(Warp& warp, const Step& step, std::uint32_t lane, std::uint64_t address,
                          std::uint64_t bytes, Intent intent) {
  LaunchContext& launch = *warp.block->launch;
  Buffer* buffer = locate(launch, address, bytes);
  if (buffer == nullptr) {
    explain_bounds(warp, step, lane, address, static_cast<std::uint32_t>(bytes), intent);
    return nullptr;
  }
  const std::uint64_t offset = address - buffer->address;
  if (buffer->access == Access::read_only && intent != Intent::load) {
    fault(warp, step, lane, "run.input_write",
          fmt::format("writes {} bytes at offset {} of {}, which is read-only", bytes, offset,
                      buffer->name));
    return nullptr;
  }
  if (buffer->state) {
    if (intent == Intent::load && !proxy_may_see(warp, step, lane, *buffer, offset, bytes))
      return nullptr;
    for (std::uint64_t at = offset; at < offset + bytes;) {
      const std::uint64_t left = offset + bytes - at;
      const std::uint32_t piece = at % 4 == 0 && left >= 4
                                      ? static_cast<std::uint32_t>(left & ~std::uint64_t{3})
                                  : at % 2 == 0 && left >= 2 ? 2u
                                                             : 1u;
      if (!global_state(warp, step, lane, *buffer, at, piece, intent, Agent::proxy)) return nullptr;
      at += piece;
    }
  }
  return buffer->at(offset, bytes);
}

void lane_addresses(const Warp& warp, const Step& step, std::uint32_t slot, LaneAddresses& out) {
  const std::uint64_t frame = (step.flags & flag_frame) != 0 ? warp.frames[warp.depth].local_at : 0;
  const std::uint64_t offset = static_cast<std::uint64_t>(step.offset) + frame;
  if ((step.flags & flag_narrow) != 0) {
    const std::uint32_t* base = warp.at<std::uint32_t>(slot);
    if ((step.flags & space_mask) == space_shared || (step.flags & space_mask) == space_local) {
      const auto narrow = static_cast<std::uint32_t>(offset);
      for (int i = 0; i < 32; ++i) out.at[i] = base[i] + narrow;
    } else {
      for (int i = 0; i < 32; ++i) out.at[i] = base[i] + offset;
    }
    return;
  }
  const std::uint64_t* base = warp.at<std::uint64_t>(slot);
  for (int i = 0; i < 32; ++i) out.at[i] = base[i] + offset;
}

bool resolve(Warp& warp, const Step& step, std::uint8_t space, std::uint32_t mask,
             const LaneAddresses& addresses, std::uint32_t bytes, Intent intent, LanePointers& out,
             CountBy tally) {
  const bool strong = intent == Intent::atomic || (step.flags & flag_strong) != 0;
  if (strong && warp.block->gives_way && space != space_local) warp.stop = warp.gave_way = true;
  switch (space) {
    case space_shared:
      return resolve_shared(warp, step, mask, addresses, bytes, intent, out, tally);
    case space_global:
      return resolve_global(warp, step, mask, addresses, bytes, intent, out, tally);
    case space_constant:  // has a cache of its own
      return resolve_global(warp, step, mask, addresses, bytes, intent, out, CountBy::none);
    case space_local:
      return resolve_local(warp, step, mask, addresses, bytes, intent, out);
    case space_param:
      if ((addresses.at[first_lane(mask)] & window_mask) == param_window)
        return resolve_param(warp, step, mask, addresses, bytes, intent, out);
      return resolve_generic(warp, step, mask, addresses, bytes, intent, out, tally);
    default:
      return resolve_generic(warp, step, mask, addresses, bytes, intent, out, tally);
  }
}

}  // namespace cupilot::ptx
