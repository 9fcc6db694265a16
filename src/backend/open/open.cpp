#include <charconv>

#include <fmt/core.h>

#include <cupilot/parts/peaks.hpp>
#include <cupilot/parts/profile.hpp>

#include "backend/devices.hpp"

namespace cupilot {
namespace {

constexpr const char* names = "auto, cuda:N, virtual:CHIP, recorded:DIR, fake:FILE";

// Stands in for another device, and says why.
class Substitute final : public ForwardingDevice {
 public:
  Substitute(std::unique_ptr<Backend> inner, const std::string& notice)
      : ForwardingDevice(std::move(inner)), traits_(ForwardingDevice::traits()) {
    traits_.notices.insert(traits_.notices.begin(), notice);
  }
  const DeviceTraits& traits() const override { return traits_; }

 private:
  DeviceTraits traits_;
};

Result<std::unique_ptr<Backend>> open_best(const BackendOptions& options, const OwnRules* own) {
  auto real = open_cuda(0, options);
  if (real || real.error().code != ErrorCode::no_device) return real;
  auto virtual_device = open_virtual("h200", options, own);
  if (!virtual_device) return virtual_device;
  const std::string notice =
      real.error().message + ": virtual:h200 stands in, and every time is modelled";
  return std::unique_ptr<Backend>(std::make_unique<Substitute>(std::move(*virtual_device), notice));
}

Result<std::unique_ptr<Backend>> open_named(const std::string& name, const BackendOptions& options,
                                            const OwnRules* own) {
  if (name == "auto") return open_best(options, own);
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
  if (kind == "virtual") return open_virtual(rest.empty() ? "h200" : rest, options, own);
  if (colon != std::string::npos && !rest.empty()) {
    if (kind == "recorded") return open_recorded(rest, options);
    if (kind == "fake") return open_fake(rest, options);
  }
  return Error{ErrorCode::usage, fmt::format("there is no device '{}'", name),
               fmt::format("devices are {}", names)};
}

}  // namespace

Result<std::vector<ReferenceValues>> Inspector::reference(const TaskRef&, const Workload&,
                                                          std::span<const std::vector<std::byte>>) {
  return Error{ErrorCode::no_device, "this device evaluates no references",
               "use cuda:N or virtual:CHIP"};
}

Attempt<Profile> Inspector::profile(const TaskRef&, const CompiledKernel&, const Workload&) {
  return Error{ErrorCode::usage, "this device cannot profile: it runs nothing of its own",
               "profile on cuda:N or on a virtual device: --device virtual:CHIP"};
}

Attempt<std::vector<LaunchCounts>> Inspector::count(const TaskRef&, const CompiledKernel&,
                                                    const Workload&, CountDepth) {
  return Error{ErrorCode::usage, "this device has no hardware counters", "they are read on cuda:N"};
}

Result<std::string> Inspector::contestant(const std::string& name) {
  return Error{ErrorCode::no_device,
               name + " is timed on a real device, by the clock of that device alone",
               "open cuda:0, or leave out --against"};
}

Result<Peaks> Inspector::peaks() {
  return Error{ErrorCode::usage, "this device measures no peaks", "use cuda:N or virtual:CHIP"};
}

Inspector& Device::inspector() {
  static Inspector lacking;  // has no state
  return lacking;
}

Result<std::unique_ptr<Backend>> open_backend(const std::string& name,
                                              const BackendOptions& options) {
  return open_named(name, options, nullptr);
}

Result<std::unique_ptr<Backend>> open_for_own(const std::string& name,
                                              const BackendOptions& options,
                                              const OwnRules& rules) {
  auto backend = open_named(name, options, &rules);
  if (!backend || !rules.leave_others_out ||
      (*backend)->traits().provenance == Provenance::modelled)
    return backend;
  return Error{ErrorCode::usage,
               fmt::format("{} takes no file with kernels that the plan does not name", name),
               "say --device virtual:h200, or cut the file"};
}

}  // namespace cupilot
