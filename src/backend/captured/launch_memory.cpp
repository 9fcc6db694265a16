#include "backend/captured/launch_memory.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>
#include <cupilot/parts/host.hpp>

#include "ptx/machine/machine.hpp"

namespace cupilot {
namespace {

constexpr std::uint64_t most_bytes = 12ull << 30;
constexpr std::uint64_t most_left_out = 1ull << 36;  // of what was not kept, to tell accesses by

// Names a buffer by the argument that names it: "argument 1".
std::string name_of(const CapturedLaunch& launch, const CapturedBuffer& buffer) {
  for (const std::uint64_t at : launch.pointers) {
    std::uint64_t word = 0;
    if (at + 8 > launch.arguments.size()) continue;
    std::memcpy(&word, launch.arguments.data() + at, sizeof word);
    if (word < buffer.address || word - buffer.address >= buffer.bytes) continue;
    for (std::size_t i = 0; i + 1 < launch.parameters.size(); i += 2) {
      const std::uint64_t begin = launch.parameters[i], size = launch.parameters[i + 1];
      if (at >= begin && at - begin < size) return fmt::format("argument {}", i / 2 + 1);
    }
  }
  return fmt::format("memory 0x{:x}", buffer.address);
}

bool in_a_window(const CapturedBuffer& buffer) {
  for (const std::uint64_t window : {ptx::shared_window, ptx::local_window, ptx::param_window}) {
    const std::uint64_t end = window + (~ptx::window_mask) + 1;
    if (buffer.address < end && window < buffer.address + buffer.bytes) return true;
  }
  return false;
}

}  // namespace

Result<LaunchMemory> LaunchMemory::make(const Capture& capture, const CapturedLaunch& launch) {
  LaunchMemory out;
  out.folder_ = capture.folder;
  out.memory_ = std::make_unique<ptx::DeviceMemory>(most_bytes, 0);
  std::vector<const CapturedBuffer*> sorted;
  for (const CapturedBuffer& one : launch.buffers) sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->address < b->address; });
  const auto reached = out.reached_;
  const auto leave_out = [&](const std::string& name, std::uint64_t at, std::uint64_t bytes) {
    if (bytes == 0 || bytes > most_left_out) return Result<void>();
    out.missing_ += (out.missing_.empty() ? "" : ", ") + name;
    const auto added = out.memory_->add_at(
        at, name + ", not kept", bytes,
        [reached](std::uint64_t, std::span<std::uint8_t>) { reached->store(true); });
    return added ? Result<void>() : Result<void>(added.error());
  };
  for (const CapturedBuffer* one : sorted) {
    if (in_a_window(*one))
      return Error{
          ErrorCode::not_done,
          fmt::format("the allocation at 0x{:x} lies where the virtual device has a window",
                      one->address),
          "capture the program again: it gets other addresses"};
    const std::string name = name_of(launch, *one);
    const std::uint64_t kept = one->before.empty() ? 0 : one->kept;
    const std::uint64_t from = kept == 0 ? one->address : one->kept_from;
    if (auto left = leave_out(name, one->address, from - one->address); !left) return left.error();
    if (kept > 0) {
      const auto index = out.memory_->add_at(from, name, kept);
      if (!index) return index.error();
      out.kept_.push_back({*index, one});
    }
    const std::uint64_t end = one->address + one->bytes;
    if (auto left = leave_out(name, from + kept, end - from - kept); !left) return left.error();
  }
  return out;
}

Result<void> LaunchMemory::fill() {
  for (const Part& part : kept_) {
    Result<std::string> content = real_host().read_file(folder_ + "/" + part.buffer->before);
    if (!content) return content.error();
    const std::span<std::uint8_t> to = memory_->data(part.index);
    if (content->size() != to.size())
      return Error{ErrorCode::failure,
                   fmt::format("{}/{}: holds {} bytes, the launch names {}", folder_,
                               part.buffer->before, content->size(), to.size()),
                   "capture the program again"};
    std::memcpy(to.data(), content->data(), content->size());
    memory_->mark_written(part.index);
  }
  return {};
}

Result<std::string> LaunchMemory::content_after(const Part& part) const {
  return real_host().read_file(folder_ + "/" + part.buffer->after);
}

}  // namespace cupilot
