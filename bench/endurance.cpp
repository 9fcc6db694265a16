// A long search on a landscape, watched from inside: memory, processor time, descriptors, and how
// fast its journal reopens.
//   endurance DEVICE EVALUATIONS RUN_DIR OUT.json [SEED]
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <cupilot/evolve.hpp>

using namespace cupilot;
using Json = nlohmann::json;

namespace {

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_mib() {
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// What the program holds, whatever the allocator keeps beside it.
double in_use_mib() {
  const struct mallinfo2 all = ::mallinfo2();
  return static_cast<double>(all.uordblks + all.hblkhd) / (1 << 20);
}

int descriptors() {
  int count = -1;  // the one that lists
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Watch : SearchObserver {
  explicit Watch(std::int64_t step) : step_(step), began_(cpu_seconds()) {}
  void on_candidate(const Candidate& candidate) override {
    ++candidates_;
    evaluations_ += candidate.evaluated ? 1 : 0;
    if (first_at == 0) first_at = now();
    if (!candidate.evaluated || evaluations_ % step_ != 0) return;
    samples.push_back({{"evaluations", evaluations_},
                       {"candidates", candidates_},
                       {"resident_mib", resident_mib()},
                       {"in_use_mib", in_use_mib()},
                       {"cpu_s", cpu_seconds() - began_},
                       {"descriptors", descriptors()}});
  }
  Json samples = Json::array();
  double first_at = 0;

 private:
  std::int64_t step_, evaluations_ = 0, candidates_ = 0;
  double began_;
};

struct BenchSubject {
  std::string device, run_dir;
  std::int64_t evaluations = 0;
  std::uint64_t seed = 1;
};

// A sitting of one evaluation more; seconds until its first candidate is told: the journal was read
// and folded by then.
Result<Json> reopened(const BenchSubject& subject, Backend& backend) {
  Watch watch(1);
  EvolveOptions options;
  options.raise_evaluations = subject.evaluations + 1;
  options.observer = &watch;
  const double began = now(), cpu = cpu_seconds();
  auto report = resume(subject.run_dir, backend, options);
  if (!report) return report.error();
  return Json{{"seconds_to_first_candidate", watch.first_at - began},
              {"cpu_s_in_all", cpu_seconds() - cpu}};
}

Result<Json> watched(const BenchSubject& subject) {
  auto backend = open_backend(subject.device);
  if (!backend) return backend.error();
  const double idle = resident_mib();
  Watch watch(std::max<std::int64_t>(1, subject.evaluations / 50));
  EvolveOptions options;
  options.search.max_evaluations = subject.evaluations;
  options.search.seed = subject.seed;
  options.run_dir = subject.run_dir;
  options.device_name = subject.device;
  options.observer = &watch;
  const double began = now(), cpu = cpu_seconds();
  auto report = evolve(landscape_task(), **backend, options);
  if (!report) return report.error();
  Json json = {
      {"device", subject.device},
      {"identity", (*backend)->identity()},
      {"seed", subject.seed},
      {"evaluations", report->evaluations},
      {"proposed", report->proposed},
      {"stopped", report->stopped},
      {"best_us", std::get<Accepted>(report->best->candidate.outcome).measurement.time_us},
      {"wall_s", now() - began},
      {"cpu_ms_an_evaluation",
       1e3 * (cpu_seconds() - cpu) / static_cast<double>(report->evaluations)},
      {"resident_mib_before", idle},
      {"resident_mib_after", resident_mib()},
      {"journal_mib",
       static_cast<double>(std::filesystem::file_size(subject.run_dir + "/journal")) / (1 << 20)}};
  auto again = reopened(subject, **backend);
  if (!again) return again.error();
  json["reopened"] = std::move(*again);
  json["samples"] = std::move(watch.samples);
  return json;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "endurance DEVICE EVALUATIONS RUN_DIR OUT.json [SEED]\n");
    return 2;
  }
  const BenchSubject subject{argv[1], argv[3], std::atoll(argv[2]),
                             argc > 5 ? static_cast<std::uint64_t>(std::atoll(argv[5])) : 1};
  auto json = watched(subject);
  if (!json) {
    std::fprintf(stderr, "%s\n", json.error().message.c_str());
    return 1;
  }
  std::ofstream(argv[4]) << json->dump(1) << "\n";
  json->erase("samples");
  std::printf("%s\n", json->dump(1).c_str());
  return 0;
}
