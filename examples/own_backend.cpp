// A Backend of the host's own: kernels are compiled and proved by the virtual device, and timed by
// the host, whose word is `reported`. A host with a CUDA context and stream launches in measure(),
// where nothing confines the kernel: run() says so, and the evidence carries it.
#include <cupilot/cupilot.hpp>

#include <cstdio>

namespace {

using namespace cupilot;

class HostTimer : public ForwardingDevice {
 public:
  explicit HostTimer(std::unique_ptr<Backend> prover)
      : ForwardingDevice(std::move(prover)), traits_(inner().traits()) {
    traits_.provenance = Provenance::reported;
    traits_.identity = "host timer over " + traits_.identity;
  }
  const DeviceTraits& traits() const override { return traits_; }
  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    auto report = inner().run(task, kernel, cases);
    if (report)
      report->confinement =
          "unconfined: runs in this process to be timed; proved " + report->confinement;
    return report;
  }
  Result<std::vector<SubjectReport>> measure(const TaskRef&, const Workload&,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions&) override {
    std::vector<SubjectReport> reports;
    for (const Subject& contestant : contestants) {
      SubjectReport report;
      report.name = contestant.name;
      if (contestant.kind == Subject::Kind::library) {
        report.measurement =
            Rejected{Stage::measure, "measure.failed", "the host times no library", ""};
      } else {
        Measurement measurement;
        measurement.provenance = Provenance::reported;
        measurement.time_us = contestant.kernel != nullptr ? time_us(*contestant.kernel) : 500;
        report.measurement = measurement;
      }
      reports.push_back(std::move(report));
    }
    return reports;
  }

 private:
  // Here the host would launch in its stream, between two events.
  static double time_us(const CompiledKernel& kernel) {
    return 20 + 1e-3 * static_cast<double>(kernel.ptx.size());
  }
  DeviceTraits traits_;
};

}  // namespace

int main() {
  const auto task = task_from_words({"gemm", "m=64", "n=64", "k=64", "dtype=fp32"});
  auto prover = open_backend("virtual:h200");
  if (!prover) return std::fprintf(stderr, "%s\n", prover.error().message.c_str()), 1;
  HostTimer backend(std::move(*prover));
  const auto report = evolve(*task, backend, {.search = {.max_evaluations = 8}});
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;
  const auto& accepted = std::get<Accepted>(report->best->candidate.outcome);
  std::printf(
      "%s\n%.1f us %s, proved on the virtual device: worst error %.3f of its bound\nit ran %s\n",
      describe(report->best->candidate.strategy).c_str(), accepted.measurement.time_us,
      name_of(accepted.measurement.provenance).data(), accepted.verification.worst_ratio,
      accepted.conditions.ran_under.c_str());
  return 0;
}
