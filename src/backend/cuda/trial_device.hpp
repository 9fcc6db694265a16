// A device that proves and times, as CudaTrials asks it: two processes of ours (CudaDevice), or a
// context of the host's own (InProcessDevice).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <cupilot/result.hpp>

#include "backend/contestant/contest.hpp"
#include "backend/wire/orders.hpp"

namespace cupilot {

// The runner did not do what it was asked: what that says about the kernel, by a code of the
// rejection table.
struct RunnerFault {
  std::string code;  // "run.out_of_bounds", "load.failed" …
  std::string message;
  std::string where;      // the launch
  bool vanished = false;  // the runner went away by itself: it may have been killed from outside,
                          // so once more is fair
};
// Returns the fault of the kernel that a refused or sticky answer to a load or a run means.
RunnerFault fault_of(const DeviceAnswer& answer, bool loading);

// The runner's answer, and the controller's own clock around it.
struct DeviceRun {
  RunAnswer answer;
  double controller_us = 0;
};

struct NamedImage {
  std::string name;
  std::vector<std::uint8_t> image;
  std::vector<std::string> entries;
  std::vector<std::vector<int>> parameter_bytes;
};

// Which end of a slot touches the region: its neighbour, unmapped where the device can, catches
// what runs past that end.
enum class Fence { end, start };

// Slots come in few sizes, so that many shapes share them.
std::int64_t slot_size(std::int64_t bytes);
// Places `bytes` in a slot: from a multiple of 256 bytes on; with `odd` above 0, of `odd` and of no
// larger power of two.
Region region_in(int slot, std::int64_t slot_bytes, std::int64_t bytes, Fence fence,
                 std::int64_t odd);

class TrialDevice {
 public:
  virtual ~TrialDevice() = default;
  virtual const DeviceHello& hello() const = 0;
  // Returns the time of an empty launch between events, by the last probe; 0: not probed.
  virtual double empty_launch_us() const = 0;

  // A slot of at least `bytes`, not yet leased since the last release_all(). `writable`: by the
  // runner.
  virtual Result<Region> lease(std::int64_t bytes, bool writable, Fence fence = Fence::end,
                               std::int64_t odd = 0) = 0;
  virtual void release_all() = 0;
  // Its memory is so full that release_all() gives it back, with what lies there.
  virtual bool crowded() const = 0;
  // From the next run on until release_all() the runner may not write this region's slot, where
  // memory can be sealed.
  virtual void seal(const Region& region) = 0;
  // From the next run on it may write it again.
  virtual void unseal(const Region& region) = 0;
  // From the next run on the runner may write inputs too, or no more.
  virtual void let_inputs_be_written(bool writable) = 0;
  virtual bool inputs_writable() const = 0;

  // Orders to the judge, carried out one after another; the payload of each, or the Error of the
  // first that failed.
  virtual Result<std::vector<std::string>> judge_all(std::span<const DeviceOrder> orders) = 0;
  Result<std::string> judge(DeviceMessage type, std::string body);
  virtual Result<void> load_in_judge(const NamedImage& image) = 0;
  // Bytes of a region, for a judge of the calling program's.
  virtual Result<std::vector<std::byte>> read_back(const Region&) {
    return Error{ErrorCode::usage, "a device's memory is another process's", ""};
  }
  // The judge keeps the bytes that a recipe reads, if it reads any, until it ends.
  Result<void> give(const FillParams& recipe);
  // One run, ended after `seconds` where the runner can be killed.
  virtual Result<std::variant<DeviceRun, RunnerFault>> run(const NamedImage& image,
                                                           const RunOrder& order,
                                                           double seconds) = 0;
  // One run under the hardware counters. An error is no fault of the kernel's: none can be read
  // here, and that is not tried again.
  virtual Result<std::variant<CountAnswer, RunnerFault>> count(const NamedImage&, const CountOrder&,
                                                               double) {
    return Error{ErrorCode::usage, "hardware counters are not read in a host's own context", ""};
  }
  // One timed launch of another's program over the memory that the judge shares.
  virtual Result<std::variant<DeviceRun, RunnerFault>> contest(const ContestOrder&, double) {
    return std::variant<DeviceRun, RunnerFault>(
        RunnerFault{"measure.failed", "no contestant shares a host's own context", "", false});
  }
  // Says what a contestant is. Error no_device: there is none.
  virtual Result<std::string> contestant(const std::string& name) {
    return Error{ErrorCode::no_device, name + " shares no context with a host",
                 "open cuda:0, or leave out --against"};
  }
  // Contestants give the device's memory back.
  virtual void rest_contestants() {}
  // Something will be counted: what that takes is made ready meanwhile.
  virtual void expect_counting() {}
  // Waits until nothing else of ours uses the card: something is about to be timed.
  virtual void settle() = 0;
  // Processes of ours that hold the card.
  virtual int processes() const = 0;
  // The known answer through shared memory: the runner's own kernel clears the regions, which the
  // judge has poisoned and then reads. False: what the runner stores does not arrive. What lay
  // there is lost.
  virtual Result<bool> stores_arrive(std::span<const Region>) { return true; }
  // The judge said what is not so. Always an error.
  virtual Error distrust(const std::string& why) = 0;
  // The device is suspect from now on. Always an error.
  virtual Error condemn(const std::string& why) {
    return {ErrorCode::no_device, why, "start anew with another context"};
  }
  // All that was loaded, cached or started is had anew.
  virtual Result<void> renew() = 0;

 protected:
  // A judge that has been given nothing takes the place of another.
  void forget_given() { given_.clear(); }

 private:
  std::set<std::uint64_t> given_;  // keys
};

inline Result<std::string> TrialDevice::judge(DeviceMessage type, std::string body) {
  const DeviceOrder order{type, std::move(body)};
  auto payloads = judge_all({&order, 1});
  if (!payloads) return payloads.error();
  return std::move(payloads->front());
}

inline Result<void> TrialDevice::give(const FillParams& recipe) {
  constexpr std::int64_t piece = 16 << 20;
  if (recipe.given_key == 0 || given_.count(recipe.given_key) > 0) return {};
  const std::int64_t total = recipe.given_count * storage_bytes(recipe.type);
  const std::string_view bytes(static_cast<const char*>(recipe.given),
                               static_cast<std::size_t>(total));
  for (std::int64_t at = 0; at < total; at += piece) {
    const GiveOrder order{recipe.given_key, total, at,
                          std::string(bytes.substr(static_cast<std::size_t>(at), piece))};
    if (auto taken = judge(DeviceMessage::give, pack(order)); !taken) return taken.error();
  }
  given_.insert(recipe.given_key);
  return {};
}

}  // namespace cupilot
