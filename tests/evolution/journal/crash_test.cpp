// kill -9 and torn journals: whatever happens, resume ends where an uninterrupted run does.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "evolution/support.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

// Runs evolve, or resume when a journal is there, in a child that is killed after `micros`.
void run_and_kill(const std::string& landscape, const std::string& run_dir, int micros) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto device = fake_device(landscape);
    EvolveOptions options = small_run(run_dir);
    options.search.parallel = 2;
    if (real_host().exists(journal_path(run_dir))) {
      if (!resume(run_dir, *device, options)) static_cast<void>(evolve(Task{}, *device, options));
    } else {
      static_cast<void>(evolve(Task{}, *device, options));
    }
    ::_exit(0);
  }
  REQUIRE(child > 0);
  ::usleep(static_cast<useconds_t>(micros));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
}

void finish(const std::string& landscape, const std::string& run_dir) {
  const auto device = fake_device(landscape);
  auto report = resume(run_dir, *device, small_run(run_dir));
  if (!report && report.error().message.find("no whole record") != std::string::npos) {
    report = evolve(Task{}, *device, small_run(run_dir));
  }
  if (!report && report.error().message.find("no run directory") != std::string::npos) {
    report = evolve(Task{}, *device, small_run(run_dir));
  }
  INFO((report ? std::string() : report.error().message));
  REQUIRE_OK(report);
  REQUIRE(report->best);
}

}  // namespace

TEST_CASE("kill -9 at any moment changes nothing", "[threads]") {
  const TempDir dir;
  const std::string landscape = write_landscape(dir);
  const auto device = fake_device(landscape);
  REQUIRE_OK(evolve(Task{}, *device, small_run(dir / "whole")));
  const std::string expected = essence(dir / "whole");
  const int moments = sanitized() ? 8 : 50;
  for (int moment = 0; moment < moments; ++moment) {
    const std::string run_dir = dir / ("run" + std::to_string(moment));
    // Dataflow from the first instant to beyond the end; every third run is killed twice.
    run_and_kill(landscape, run_dir, 500 + 125000 / moments * moment);
    if (moment % 3 == 0) run_and_kill(landscape, run_dir, 20000);
    finish(landscape, run_dir);
    INFO("killed at moment " << moment);
    CHECK(essence(run_dir) == expected);
    CHECK(read_all(run_dir + "/best/strategy.json") == read_all(dir / "whole/best/strategy.json"));
  }
}

TEST_CASE("a journal cut at a record boundary resumes to the same end", "[threads]") {
  const TempDir dir;
  const std::string landscape = write_landscape(dir);
  const auto device = fake_device(landscape);
  REQUIRE_OK(evolve(Task{}, *device, small_run(dir / "whole")));
  const std::string expected = essence(dir / "whole");
  const std::string bytes = read_all(dir / "whole/journal");
  const ReadRecords read = read_records(bytes);
  REQUIRE(read.records.size() > 60);
  const std::size_t stride = sanitized() ? 5 : 1;
  for (std::size_t i = 0; i < read.records.size(); i += stride) {
    const std::size_t end = static_cast<std::size_t>(read.records[i].at) +
                            read.records[i].payload.size() + frame_overhead;
    const std::string run_dir = dir / ("cut" + std::to_string(i));
    REQUIRE(real_host().make_directories(run_dir));
    // Now and then half a record more: a torn one.
    const std::string torn = i % 4 == 0 && end + 9 < bytes.size() ? bytes.substr(end, 9) : "";
    std::ofstream(run_dir + "/journal", std::ios::binary) << bytes.substr(0, end) << torn;
    finish(landscape, run_dir);
    INFO("cut after record " << i);
    CHECK(essence(run_dir) == expected);
    CHECK(real_host().exists(run_dir + "/journal.torn-1") == !torn.empty());
  }
}
