// kill -9 at each of many host calls and at random instants, on real files: the end is that of an
// uninterrupted run.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "evolution/support.hpp"
#include "support/sample.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

// The real host, until the call with that number, before or after which the process is killed.
class DeadlyHost : public Host {
 public:
  DeadlyHost(int calls, bool after) : calls_(calls), after_(after) {}
  double monotonic_seconds() override { return real_host().monotonic_seconds(); }
  std::string utc_now() override { return real_host().utc_now(); }
  Result<std::string> read_file(const std::string& path) override {
    return real_host().read_file(path);
  }
  bool exists(const std::string& path) override { return real_host().exists(path); }
  Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                     bool sync) override {
    return dying([&] { return real_host().write_file_atomically(path, bytes, sync); });
  }
  Result<void> make_directories(const std::string& path) override {
    return dying([&] { return real_host().make_directories(path); });
  }
  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path,
                                                  std::int64_t truncate_to) override;
  Result<std::vector<std::string>> list(const std::string& dir) override {
    return real_host().list(dir);
  }
  Result<std::shared_ptr<void>> lock(const std::string& path) override {
    return real_host().lock(path);
  }

  template <class Work>
  auto dying(Work work) -> decltype(work()) {
    const bool now = calls_-- == 0;
    if (now && !after_) ::kill(::getpid(), SIGKILL);
    auto done = work();
    if (now) ::kill(::getpid(), SIGKILL);
    return done;
  }

 private:
  int calls_;
  bool after_;
};

class DeadlyFile : public AppendFile {
 public:
  DeadlyFile(std::unique_ptr<AppendFile> file, DeadlyHost& host)
      : file_(std::move(file)), host_(host) {}
  Result<void> append(std::string_view bytes) override {
    // Half of it is written by itself, so that a record is torn.
    const std::size_t half = bytes.size() / 2;
    if (auto done = host_.dying([&] { return file_->append(bytes.substr(0, half)); }); !done)
      return done;
    return host_.dying([&] { return file_->append(bytes.substr(half)); });
  }
  Result<void> sync() override {
    return host_.dying([&] { return file_->sync(); });
  }

 private:
  std::unique_ptr<AppendFile> file_;
  DeadlyHost& host_;
};

Result<std::unique_ptr<AppendFile>> DeadlyHost::open_append(const std::string& path,
                                                            std::int64_t truncate_to) {
  auto file = dying([&] { return real_host().open_append(path, truncate_to); });
  if (!file) return file;
  return std::unique_ptr<AppendFile>(std::make_unique<DeadlyFile>(std::move(*file), *this));
}

Result<EvolveReport> go_on(const std::string& landscape, EvolveOptions options) {
  const auto device = fake_device(landscape);
  if (!real_host().exists(journal_path(options.run_dir))) return evolve(Task{}, *device, options);
  auto report = resume(options.run_dir, *device, options);
  if (!report && report.error().message.find("no whole record") != std::string::npos)
    return evolve(Task{}, *device, options);
  return report;
}

// Whether the child was killed.
bool killed(const std::string& landscape, const std::string& run_dir, Host* host, int micros) {
  const pid_t child = ::fork();
  if (child == 0) {
    EvolveOptions options = small_run(run_dir);
    options.search.parallel = 2;
    options.host = host;
    static_cast<void>(go_on(landscape, options));
    ::_exit(0);
  }
  if (host == nullptr) {
    ::usleep(static_cast<useconds_t>(micros));
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

// Runs are killed until `kills` were; a run that ends before its moment has come is one more to
// check. How many were killed.
int struck(int kills, bool at_calls) {
  const TempDir dir;
  const std::string landscape = write_landscape(dir);
  const double began = real_host().monotonic_seconds();
  REQUIRE_OK(go_on(landscape, small_run(dir / "whole")));
  const auto whole = static_cast<std::int64_t>(1e6 * (real_host().monotonic_seconds() - began));
  const std::string expected = essence(dir / "whole"),
                    best = read_all(dir / "whole/best/strategy.json");
  Rng rng(5);
  int count = 0;
  for (int i = 0; count < kills && i < 10 * kills; ++i) {
    const std::string run_dir = dir / ("run" + std::to_string(i));
    DeadlyHost host(static_cast<int>(rng.below(160)), rng.chance(0.5));
    const int micros = static_cast<int>(rng.below(whole));
    count += killed(landscape, run_dir, at_calls ? &host : nullptr, micros) ? 1 : 0;
    // Every fourth run dies once more while it is resumed.
    DeadlyHost again(static_cast<int>(rng.below(40)), rng.chance(0.5));
    if (i % 4 == 0) killed(landscape, run_dir, at_calls ? &again : nullptr, micros / 4);
    REQUIRE_OK(go_on(landscape, small_run(run_dir)));
    INFO("kill " << i);
    CHECK(essence(run_dir) == expected);
    CHECK(read_all(run_dir + "/best/strategy.json") == best);
    std::filesystem::remove_all(run_dir);
  }
  return count;
}

}  // namespace

TEST_CASE("kill -9 at calls of the host changes nothing") { CHECK(struck(6, true) == 6); }

TEST_CASE("kill -9 at 500 moments changes nothing", "[.kills]") {
  const int kills = testing::sampled(250);
  CHECK(struck(kills, true) == kills);
  CHECK(struck(kills, false) == kills);
}
