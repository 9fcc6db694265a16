// A device of a simulated machine: kernels of a landscape, some of them dishonest, on hardware that
// hangs, vanishes and heals.
#pragma once

#include <map>
#include <set>
#include <string>

#include <cupilot/backend.hpp>

#include "backend/replayed/landscape.hpp"
#include "support/sim_host.hpp"

namespace cupilot::testing {

// What a kernel is in truth. A turncoat is right and fast until processes are renewed, wrong after
// that.
enum class Nature { honest, refused, wrong, faulty, hanging, too_fast, no_number, turncoat };

struct DeviceTrouble {
  double lost = 0;  // chance a call that the device is gone; every call fails then, until heal()
  double slow = 0;  // chance a call that it takes three times as long
  bool dishonest = true;    // natures other than honest occur
  double pace_seconds = 8;  // of a compile, on average
};

class SimDevice : public Backend, public Inspector {
 public:
  SimDevice(SimHost& host, Landscape landscape, std::uint64_t seed, const DeviceTrouble& trouble);

  const DeviceTraits& traits() const override { return traits_; }
  Inspector& inspector() override { return *this; }
  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh fresh = Fresh::no) override;
  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override;
  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override;
  Result<void> renew() override;

  // A person looked after it; new processes.
  void heal();
  bool lost() const { return lost_; }

  // The truth, for who checks what the controller believes.
  Nature nature_of(const std::string& kernel_hash) const;
  double true_time_us(const std::string& kernel_hash) const;
  // Compiles so far, by strategy.
  const std::map<std::string, int>& compiled() const { return compiled_; }
  // Called before a compile is paid for.
  std::function<void(const std::string& strategy_id)> on_compile;

 private:
  Result<void> take_time(double seconds);
  // Of a kernel of free form: any, by its text.
  std::vector<int> point_of(const KernelSource& source) const;
  bool betrays(const std::string& kernel_hash) const {
    return renewed_ && nature_of(kernel_hash) == Nature::turncoat;
  }

  SimHost& host_;
  Landscape landscape_;
  std::uint64_t seed_;
  DeviceTrouble trouble_;
  DeviceTraits traits_;
  Rng dice_;
  bool lost_ = false, renewed_ = false;
  std::map<std::string, int> compiled_;
  std::map<std::string, double> times_us_;  // by kernel hash, of what was compiled
};

}  // namespace cupilot::testing
