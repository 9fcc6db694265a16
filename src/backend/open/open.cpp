#include <charconv>

#include <fmt/core.h>

#include <cupilot/parts/peaks.hpp>
#include <cupilot/parts/profile.hpp>

#include "backend/devices.hpp"

namespace cupilot {
namespace {

constexpr const char* names = "auto, cuda:N, virtual:CHIP, recorded:DIR, fake:FILE";

// Passes everything on, and says why it stands in for another device.
class Substitute : public Backend {
 public:
  Substitute(std::unique_ptr<Backend> inner, std::string notice)
      : inner_(std::move(inner)), notice_(std::move(notice)) {}
  const DeviceSpec& device() const override { return inner_->device(); }
  Provenance provenance() const override { return inner_->provenance(); }
  std::string identity() const override { return inner_->identity(); }
  Attempt<CompiledKernel> compile(const KernelSource& source) override {
    return inner_->compile(source);
  }
  Attempt<CompiledKernel> compile_anew(const KernelSource& source) override {
    return inner_->compile_anew(source);
  }
  Result<TrialReport> run(const Task& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    return inner_->run(task, kernel, cases);
  }
  Result<std::vector<SubjectReport>> measure(const Task& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    return inner_->measure(task, workload, contestants, options);
  }
  Result<std::vector<ReferenceValues>> reference(
      const Task& task, const Workload& workload,
      std::span<const std::vector<std::byte>> tensors) override {
    return inner_->reference(task, workload, tensors);
  }
  Attempt<Profile> profile(const Task& task, const CompiledKernel& kernel,
                           const Workload& workload) override {
    return inner_->profile(task, kernel, workload);
  }
  Attempt<std::vector<LaunchCounts>> count(const Task& task, const CompiledKernel& kernel,
                                           const Workload& workload, CountDepth depth) override {
    return inner_->count(task, kernel, workload, depth);
  }
  Result<Peaks> peaks() override { return inner_->peaks(); }
  Result<void> renew() override { return inner_->renew(); }
  int parallel_compiles() const override { return inner_->parallel_compiles(); }
  int parallel_trials() const override { return inner_->parallel_trials(); }
  std::vector<Technique> techniques() const override { return inner_->techniques(); }
  std::vector<std::string> notices() const override {
    std::vector<std::string> all = inner_->notices();
    all.insert(all.begin(), notice_);
    return all;
  }

 private:
  std::unique_ptr<Backend> inner_;
  std::string notice_;
};

Result<std::unique_ptr<Backend>> open_best(const BackendOptions& options) {
  auto real = open_cuda(0, options);
  if (real || real.error().code != ErrorCode::no_device) return real;
  auto virtual_device = open_virtual("h200", options);
  if (!virtual_device) return virtual_device;
  const std::string notice =
      real.error().message + ": virtual:h200 stands in, and every time is modelled";
  return std::unique_ptr<Backend>(std::make_unique<Substitute>(std::move(*virtual_device), notice));
}

}  // namespace

Result<std::vector<ReferenceValues>> Backend::reference(const Task&, const Workload&,
                                                        std::span<const std::vector<std::byte>>) {
  return Error{ErrorCode::no_device, identity() + " evaluates no references",
               "use cuda:N or virtual:CHIP"};
}

Attempt<Profile> Backend::profile(const Task&, const CompiledKernel&, const Workload&) {
  return Error{ErrorCode::usage, identity() + " cannot profile: it runs nothing of its own",
               "profile on cuda:N or on a virtual device: --device virtual:CHIP"};
}

Attempt<std::vector<LaunchCounts>> Backend::count(const Task&, const CompiledKernel&,
                                                  const Workload&, CountDepth) {
  return Error{ErrorCode::usage, identity() + " has no hardware counters",
               "they are read on cuda:N"};
}

Result<Peaks> Backend::peaks() { return datasheet_peaks(device(), identity()); }

Result<std::unique_ptr<Backend>> open_backend(const std::string& name,
                                              const BackendOptions& options) {
  if (name == "auto") return open_best(options);
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon),
                    rest = colon == std::string::npos ? "" : name.substr(colon + 1);
  if (kind == "cuda") {
    int index = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    const bool good =
        rest.empty() || (error == std::errc() && end == rest.data() + rest.size() && index >= 0);
    if (!good)
      return Error{ErrorCode::usage, fmt::format("'{}' is not the number of a CUDA device", rest),
                   "for example cuda:0"};
    return open_cuda(index, options);
  }
  if (kind == "virtual") return open_virtual(rest.empty() ? "h200" : rest, options);
  if (colon != std::string::npos && !rest.empty()) {
    if (kind == "recorded") return open_recorded(rest, options);
    if (kind == "fake") return open_fake(rest, options);
  }
  return Error{ErrorCode::usage, fmt::format("there is no device '{}'", name),
               fmt::format("devices are {}", names)};
}

}  // namespace cupilot
