// The memory that a captured launch met, in the interpreter's: at its own addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cupilot/parts/capture.hpp>
#include <cupilot/result.hpp>

#include "ptx/machine/device_memory.hpp"

namespace cupilot {

class LaunchMemory {
 public:
  // The launch must outlive it.
  static Result<LaunchMemory> make(const Capture& capture, const CapturedLaunch& launch);

  // Writes the content from before the launch into all buffers.
  Result<void> fill();
  ptx::DeviceMemory& device() { return *memory_; }

  // A buffer that was kept: its place in device(), and in the launch.
  struct Part {
    std::size_t index = 0;
    const CapturedBuffer* buffer = nullptr;
  };
  const std::vector<Part>& kept() const { return kept_; }
  Result<std::string> content_after(const Part& part) const;
  // Names a part of memory that the launch reached and that was not kept; empty: it reached none.
  std::string missed() const { return reached_->load() ? missing_ : ""; }

 private:
  std::string folder_;
  std::unique_ptr<ptx::DeviceMemory> memory_;
  std::vector<Part> kept_;
  std::string missing_;  // the parts that were not kept
  std::shared_ptr<std::atomic<bool>> reached_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace cupilot
