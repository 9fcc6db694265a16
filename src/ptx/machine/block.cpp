#include "ptx/machine/block.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cupilot::ptx {

namespace {

// The instructions that starting a warp is charged for.
constexpr std::int64_t start_cost = 8;

std::uint64_t cluster_value(const Block& block, Special special) {
  const Dim3 &grid = block.launch->launch->grid, &size = block.launch->cluster,
             &at = block.cluster->position;
  switch (special) {
    case Special::clusterid_x:
      return at.x;
    case Special::clusterid_y:
      return at.y;
    case Special::clusterid_z:
      return at.z;
    case Special::nclusterid_x:
      return grid.x / size.x;
    case Special::nclusterid_y:
      return grid.y / size.y;
    case Special::nclusterid_z:
      return grid.z / size.z;
    case Special::cluster_ctaid_x:
      return block.rank % size.x;
    case Special::cluster_ctaid_y:
      return block.rank / size.x % size.y;
    case Special::cluster_ctaid_z:
      return block.rank / (size.x * size.y);
    case Special::cluster_nctaid_x:
      return size.x;
    case Special::cluster_nctaid_y:
      return size.y;
    case Special::cluster_nctaid_z:
      return size.z;
    case Special::cluster_ctarank:
      return block.rank;
    case Special::cluster_nctarank:
      return size.x * size.y * size.z;
    default:
      return 0;
  }
}

// PTX lets both change while a kernel runs: any multiprocessor, which several blocks may share, and
// slots in any order.
std::uint64_t multiprocessor_of(const Block& block) {
  const ExecuteOptions& options = *block.launch->options;
  return (options.seed == 0 ? block.index : mixed(options.seed ^ mixed(~block.index))) %
         options.sm_count;
}

constexpr std::uint32_t warp_slots = 64;

std::uint64_t slot_of(const Block& block, std::uint32_t warp) {
  const std::uint64_t seed = block.launch->options->seed;
  if (seed == 0) return warp;
  const std::uint64_t drawn = mixed(seed + mixed(~block.index));
  return (warp * (2 * (drawn >> 32) + 1) + drawn) % warp_slots;
}

std::uint64_t lanes_beside(Special special, std::uint32_t lane) {
  switch (special) {
    case Special::lanemask_eq:
      return 1u << lane;
    case Special::lanemask_le:
      return lane == 31 ? full_mask : (2u << lane) - 1;
    case Special::lanemask_lt:
      return (1u << lane) - 1;
    case Special::lanemask_ge:
      return full_mask << lane;
    default:  // lanemask_gt
      return lane == 31 ? 0 : full_mask << (lane + 1);
  }
}

std::uint64_t special_value(const Block& block, const Warp& warp, Special special,
                            std::uint32_t lane) {
  const Launch& launch = *block.launch->launch;
  const std::uint32_t thread = warp.index * 32 + lane;
  switch (special) {
    case Special::tid_x:
      return thread % launch.block.x;
    case Special::tid_y:
      return thread / launch.block.x % launch.block.y;
    case Special::tid_z:
      return thread / (launch.block.x * launch.block.y);
    case Special::ntid_x:
      return launch.block.x;
    case Special::ntid_y:
      return launch.block.y;
    case Special::ntid_z:
      return launch.block.z;
    case Special::ctaid_x:
      return block.position.x;
    case Special::ctaid_y:
      return block.position.y;
    case Special::ctaid_z:
      return block.position.z;
    case Special::nctaid_x:
      return launch.grid.x;
    case Special::nctaid_y:
      return launch.grid.y;
    case Special::nctaid_z:
      return launch.grid.z;
    case Special::laneid:
      return lane;
    case Special::warpid:
      return slot_of(block, warp.index);
    case Special::nwarpid:
      return warp_slots;
    case Special::smid:
      return multiprocessor_of(block);
    case Special::nsmid:
      return block.launch->options->sm_count;
    case Special::lanemask_eq:
    case Special::lanemask_le:
    case Special::lanemask_lt:
    case Special::lanemask_ge:
    case Special::lanemask_gt:
      return lanes_beside(special, lane);
    case Special::total_smem_size:
      return block.launch->device_shared;
    case Special::aggr_smem_size:
      return block.launch->device_shared + shared_base;
    case Special::dynamic_smem_size:
      return launch.dynamic_shared;
    case Special::reserved_smem_offset_begin:
    case Special::reserved_smem_offset_0:
      return shared_base;
    case Special::reserved_smem_offset_1:
      return shared_base + reserved_bytes / 2;
    case Special::reserved_smem_offset_end:
      return shared_base + reserved_bytes;
    case Special::reserved_smem_offset_cap:
      return reserved_bytes;
    case Special::envreg1:
      return launch.cooperative ? block.program->grid_barrier >> 32 : 0;
    case Special::envreg2:
      return launch.cooperative ? block.program->grid_barrier & 0xffffffffu : 0;
    default:
      return cluster_value(block, special);
  }
}

void start_warp(Warp& warp, Block& block, std::uint32_t index) {
  const Program& program = *block.program;
  warp.block = &block;
  warp.index = index;
  const std::uint32_t lanes = std::min(32u, block.thread_count - 32 * index);
  warp.present = lanes == 32 ? full_mask : (1u << lanes) - 1;
  warp.live = warp.active = warp.present;
  warp.exited = 0;
  const std::uint64_t seed = block.launch->options->seed;
  warp.drawn = seed == 0 ? 0 : mixed(seed ^ mixed(32 * block.index + index + 1));
  warp.unwritten = Unwritten(warp.drawn);
  warp.carry = static_cast<std::uint32_t>(warp.drawn >> 32);
  warp.stop = warp.gave_way = warp.branched = false;
  warp.asked = nullptr;
  warp.rounds.assign(program.loops.size(), 0);
  warp.storing = false;
  warp.rivals.clear();
  warp.state = WarpState::ready;
  warp.stack.clear();
  warp.known.fill(1);
  warp.doubts.clear();
  warp.foreign = warp.assumed = nullptr;
  warp.clock = 1;
  warp.heard = warp.touched = warp.behind = 0;
  if (warp.kept) warp.kept->clear();
  warp.parted = false;
  warp.undefined = 0;
  warp.unfenced = {};
  warp.open_copies.clear();
  warp.groups.clear();
  warp.barrier_reduce = 0;
  warp.products.reset();
  warp.frames_bytes = 0;
  warp.streams.clear();
  warp.polled = 0;
  warp.timed_out = false;
  warp.cluster_owed = warp.cluster_phase = warp.cluster_seen = 0;
  warp.far_mark = warp.far_clock = 0;
  warp.registers = block.launch->launch->registers;
  warp.beyond = {};
  if (block.beyond) {
    warp.beyond.far.assign(32 * block.cluster->blocks.size(), 1);
    warp.beyond.proxied = warp.beyond.drained = warp.beyond.far;
  }
  enter_frame(warp, program.entry_code, 0);
  const Code& code = *warp.code;
  warp.frames[0].stack_base = 0;
  warp.frames[0].local_at = 0;
  warp.pc = 0;
  warp.reconverge = static_cast<std::uint32_t>(code.steps.size() - 1);
  warp.local_top = code.lane_bytes;
  if (warp.local_stride < code.lane_bytes) {
    warp.local_stride = code.lane_bytes;
    warp.local.assign(std::size_t{32} * warp.local_stride, 0);
  }
  warp.local_written.assign(std::size_t{32} * warp.local_stride, 0);
}

// The innermost branch, call or the warp itself has come to its end: what runs next. False: the
// warp is done.
bool next_entry(Warp& warp) {
  if (warp.stack.size() == warp.frames[warp.depth].stack_base) {
    if (warp.depth == 0) return false;
    return_from_call(warp);
  }
  const StackEntry entry = warp.stack.back();
  warp.stack.pop_back();
  warp.reconverge = entry.reconverge;
  warp.active = entry.mask & ~warp.exited;
  warp.pc = warp.active != 0 ? entry.pc : entry.reconverge;
  return true;
}

void end_warp(Warp& warp) {
  Block& block = *warp.block;
  warp.state = WarpState::done;
  block.exited_threads += static_cast<std::uint32_t>(__builtin_popcount(warp.live));
  warp.exited |= warp.live;
  warp.live = 0;
  ++block.done_warps;
  for (std::uint32_t id = 0; id < block.barriers.size(); ++id) settle_barrier(block, id);
  if (block.done_warps == block.warps.size()) end_block(block);
  if (block.beyond) settle_cluster_barrier(*block.cluster);
}

}  // namespace

std::uint64_t run_warp(Warp& warp, const std::uint64_t fuel) {
  std::uint64_t left = fuel;
  warp.stop = false;
  for (;;) {
    if (warp.pc == warp.reconverge) {
      if (!next_entry(warp)) {
        end_warp(warp);
        break;
      }
      continue;
    }
    if (left == 0) break;
    const std::uint32_t pc = warp.pc++;
    const Step& step = warp.steps[pc];
    const std::uint32_t mask = warp.active & (warp.predicate(step.guard) ^ step.guard_invert);
    warp.mask = mask;
    StepCount& count = warp.counts[pc];
    ++count.warps;
    --left;
    if (mask != full_mask) {
      count.missing += 32 - static_cast<std::uint32_t>(__builtin_popcount(mask));
      if (mask == 0) continue;
    }
    step.run(warp, step);
    if (warp.stop) break;
  }
  return fuel - left;
}

void enter_frame(Warp& warp, std::uint32_t code_index, std::uint32_t depth) {
  const Code& code = warp.block->program->codes[code_index];
  if (warp.frames.size() <= depth) warp.frames.resize(depth + 1);
  Frame& frame = warp.frames[depth];
  forget_frame(warp, frame.regs);
  frame.code = code_index;
  const std::size_t words = code.frame_bytes / 8 + 8;
  if (frame.words < words) {
    frame.storage.reset(new std::uint64_t[words]);  // all that is read is filled below
    frame.words = words;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(frame.storage.get());
  frame.regs = reinterpret_cast<std::uint8_t*>((address + 63) / 64 * 64);
  std::memcpy(frame.regs, code.image.data(), code.first_register);
  warp.unwritten.fill(frame.regs + code.first_register, code.first_constant - code.first_register);
  std::memcpy(frame.regs + code.first_constant, code.image.data() + code.first_constant,
              code.image.size() - code.first_constant);
  for (const SpecialSlot& slot : code.specials) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint64_t v = special_value(*warp.block, warp, slot.special, lane);
      std::memcpy(frame.regs + slot.offset + lane * slot.bytes, &v, slot.bytes);
    }
  }
  warp.depth = depth;
  warp.code = &code;
  warp.steps = code.steps.data();
  warp.regs = frame.regs;
  warp.frames_bytes += code.frame_bytes;
  warp.counts = warp.block->worker->counts.data() + code.first_count;
}

bool gives_way(const ExecuteOptions& options) {
  return options.check_races && options.seed != 0 && (mixed(options.seed ^ 0x5bf03635ull) & 1) != 0;
}

namespace {

void stamp_gaps(Block& block) {
  const std::size_t cells = block.writer.size(),
                    cell = std::size_t{1} << block.program->shadow_shift;
  for (const SharedGap& gap : block.program->shared.gaps) {
    const std::size_t first = (gap.begin + cell - 1) / cell, end = std::min(gap.end / cell, cells);
    for (std::size_t c = first; c < end; ++c) block.writer[c] = stamp_gap;
  }
}

}  // namespace

void start_block(Block& block, Cluster& cluster, std::uint32_t rank) {
  LaunchContext& launch = *cluster.launch;
  const Dim3 &grid = launch.launch->grid, &size = launch.cluster, &at = cluster.position;
  block.cluster = &cluster;
  block.rank = rank;
  block.beyond = launch.program->async || cluster.blocks.size() > 1;
  block.worker = cluster.worker;
  block.launch = &launch;
  block.gives_way = gives_way(*launch.options);
  block.program = launch.program;
  block.position = {at.x * size.x + rank % size.x, at.y * size.y + rank / size.x % size.y,
                    at.z * size.z + rank / (size.x * size.y)};
  block.index =
      block.position.x +
      std::uint64_t{grid.x} * (block.position.y + std::uint64_t{grid.y} * block.position.z);
  block.mbarrier_at.clear();
  block.far_users.clear();
  block.readers = {};
  block.maps.clear();
  block.signals.reset();
  block.registers_free = 0;
  block.thread_count = launch.threads;
  block.exited_threads = block.done_warps = 0;
  block.faulted = block.finished = false;
  block.suspect = {};
  block.shared.assign(launch.shared_bytes + 16, 0xf5);
  if (launch.program->shared.reserved) std::fill_n(block.shared.begin(), reserved_bytes, 0);
  if (launch.options->check_races || launch.options->check_initialised) {
    const std::size_t cells = (launch.shared_bytes >> launch.program->shadow_shift) + 1;
    block.writer.assign(cells, launch.options->check_initialised ? stamp_never : 0);
    block.reader.assign(cells, 0);
    stamp_gaps(block);
    if (launch.program->shared.reserved)
      std::fill_n(block.writer.begin(), reserved_bytes >> launch.program->shadow_shift, 0u);
    block.lanes.assign(launch.program->lanes_in_part ? cells : 0, 0);
  } else {
    block.writer.clear();
    block.reader.clear();
    block.lanes.clear();
  }
  block.barriers.fill(Barrier{});
  block.products_issued.clear();
  block.warps.resize(launch.warps);
  for (std::uint32_t i = 0; i < launch.warps; ++i) start_warp(block.warps[i], block, i);
  // Starting costs host time too: a huge grid of empty blocks must come to its end.
  launch.budget.fetch_sub(start_cost * launch.warps, std::memory_order_relaxed);
}

}  // namespace cupilot::ptx
