// Shared memory of one device: slots of few sizes, made by the judge, mapped by the runner.
#include <algorithm>

#include <fmt/core.h>
#include <unistd.h>

#include "backend/cuda/device.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t region_alignment = 256;
constexpr int images_a_runner = 500;  // then it is replaced, whatever it may have leaked

}  // namespace

// Granules up to 16, then eighths of powers of two.
std::int64_t slot_size(std::int64_t bytes) {
  constexpr std::int64_t granule = 2 << 20;
  const std::int64_t granules = std::max<std::int64_t>((bytes + granule - 1) / granule, 1);
  std::int64_t step = 1;
  while (step * 16 < granules) step *= 2;
  return (granules + step - 1) / step * step * granule;
}

Region region_in(int slot, std::int64_t slot_bytes, std::int64_t bytes, Fence fence,
                 std::int64_t odd) {
  const std::int64_t step = odd > 0 ? 2 * odd : region_alignment;
  const std::int64_t last = odd + (slot_bytes - bytes - odd) / step * step;
  return {slot, fence == Fence::start ? odd : last, bytes};
}

// The judge's answer to one order for memory. `lost`: the judge cannot be asked again.
Result<CudaDevice::Slot> CudaDevice::order_slot(const SlotOrder& order, bool& lost) {
  auto result = exchange(judge_role, DeviceMessage::make_slot, pack(order), {}, deadlines_.slot);
  Exchange* reply = std::get_if<Exchange>(&result);
  const bool done = reply != nullptr && reply->answer.state == DeviceAnswer::State::done;
  const auto made = done ? unpack_slot(reply->answer.payload) : std::nullopt;
  std::vector<int> descriptors = reply != nullptr ? reply->descriptors : std::vector<int>();
  const bool shared =
      made && (hello_.sharing == Sharing::ipc ? !made->ipc.empty() : descriptors.size() == 1);
  lost = reply == nullptr || done || reply->answer.state == DeviceAnswer::State::sticky;
  if (shared && made->bytes >= order.bytes) {
    return Slot{order.slot,
                made->bytes,
                order.writable,
                false,
                false,
                false,
                descriptors.empty() ? -1 : descriptors[0],
                made->ipc};
  }
  for (const int descriptor : descriptors) close(descriptor);
  const std::string why =
      reply != nullptr ? reply->answer.what : std::get<FrameFailure>(result).message;
  return Error{ErrorCode::failure, fmt::format("{} bytes of device memory: {}", order.bytes, why),
               "free device memory, or search a smaller shape"};
}

Result<CudaDevice::Slot*> CudaDevice::make_slot(std::int64_t size, bool writable) {
  SlotOrder order;
  order.slot = next_slot_++;
  order.bytes = size;
  order.writable = writable;
  if (auto ready = ensure(judge_role); !ready) return ready.error();
  bool lost = false;
  auto slot = order_slot(order, lost);
  if (slot) {
    slot_bytes_ += slot->bytes;
    slots_.push_back(std::move(*slot));
    return &slots_.back();
  }
  if (lost) {
    if (auto restarted = restart_judge(); !restarted) return restarted.error();
  }
  return slot.error();
}

Result<Region> CudaDevice::lease(std::int64_t bytes, bool writable, Fence fence, std::int64_t odd) {
  const std::int64_t size = slot_size(bytes + odd);
  for (int attempt = 0;; ++attempt) {
    if (auto ready = ensure(runner_role); !ready) return ready.error();
    const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      return !slot.leased && slot.writable == writable && slot.bytes == size;
    });
    Slot* slot = found != slots_.end() ? &*found : nullptr;
    if (slot == nullptr) {
      auto made = make_slot(size, writable);
      if (!made) return made.error();
      slot = *made;
    }
    if (!slot->mapped) {
      if (auto mapped = map_in_runner(*slot); !mapped) {
        lose_runner();
        if (attempt == 0) continue;
        return mapped.error();
      }
    }
    slot->leased = true;
    return region_in(slot->number, slot->bytes, bytes, fence, odd);
  }
}

SlotOrder CudaDevice::mapping_of(const Slot& slot) const {
  return {slot.number, slot.bytes, (slot.writable && !slot.sealed) || inputs_writable_, slot.ipc};
}

Result<void> CudaDevice::map_in_runner(Slot& slot) {
  const SlotOrder order = mapping_of(slot);
  std::vector<int> descriptors;
  if (slot.descriptor >= 0) descriptors.push_back(slot.descriptor);
  const auto result =
      exchange(runner_role, DeviceMessage::map_slot, pack(order), descriptors, deadlines_.slot);
  const Exchange* reply = std::get_if<Exchange>(&result);
  if (reply == nullptr || reply->answer.state != DeviceAnswer::State::done) {
    const std::string why =
        reply != nullptr ? reply->answer.what : std::get<FrameFailure>(result).message;
    return Error{ErrorCode::failure,
                 fmt::format("mapping device memory in the runner of cuda:{}: {}", index_, why),
                 ""};
  }
  slot.mapped = true;
  return {};
}

Result<void> CudaDevice::rehearse_sharing() {
  SlotOrder order;
  order.slot = next_slot_++;
  order.bytes = slot_size(1);
  bool lost = false;
  auto slot = order_slot(order, lost);
  if (!slot) return slot.error();
  slots_.push_back(std::move(*slot));
  auto mapped = map_in_runner(slots_.back());
  trim_slots();
  return mapped;
}

void CudaDevice::set_sealed(const Region& region, bool sealed) {
  if (hello_.sharing == Sharing::ipc) return;  // cannot be mapped read-only
  for (Slot& slot : slots_) {
    if (slot.number != region.slot || slot.sealed == sealed) continue;
    slot.sealed = sealed;
    slot.mapped = false;
  }
}

void CudaDevice::let_inputs_be_written(bool writable) {
  inputs_writable_ = writable;
  for (Slot& slot : slots_) slot.mapped = slot.mapped && slot.writable && !slot.sealed;
}

void CudaDevice::release_all() {
  for (Slot& slot : slots_) {
    slot.leased = false;
    slot.mapped = slot.mapped && !slot.sealed;
    slot.sealed = false;
  }
  if (crowded()) trim_slots();
}

void CudaDevice::trim_slots() {
  for (const Role role : {runner_role, judge_role}) {
    if (processes_[role]) (void)exchange(role, DeviceMessage::drop_slots, "", {}, deadlines_.slot);
  }
  forget_slots();
}

void CudaDevice::forget_slots() {
  for (const Slot& slot : slots_) {
    if (slot.descriptor >= 0) close(slot.descriptor);
  }
  slots_.clear();
  slot_bytes_ = 0;
}

Result<void> CudaDevice::ready_runner() {
  if (images_run_ >= images_a_runner || grown()) lose_runner();
  for (int attempt = 0;; ++attempt) {
    if (auto ready = ensure(runner_role); !ready) return ready;
    Result<void> all{};
    for (Slot& slot : slots_) {
      if (!slot.leased || slot.mapped) continue;
      all = map_in_runner(slot);
      if (!all) break;
    }
    if (all || attempt > 0) return all;
    lose_runner();
  }
}

}  // namespace cupilot
