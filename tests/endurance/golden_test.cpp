// Journals that earlier programs wrote, kept as they were: each is read and continued by this one.
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "evolution/support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

std::string kept(const std::string& name) {
  return CUPILOT_SOURCE_DIR "/tests/data/journals/" + name;
}

void put(const std::string& run_dir, const std::string& bytes) {
  REQUIRE(real_host().make_directories(run_dir));
  std::ofstream(run_dir + "/journal", std::ios::binary) << bytes;
}

int descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("a journal of format 1 from an earlier program is read and continued") {
  const TempDir dir;
  const std::string bytes = read_all(kept("v1/journal"));
  REQUIRE(read_records(bytes).records.size() == 84);
  put(dir / "run", bytes);
  auto run = read_run(dir / "run");
  REQUIRE_OK(run);
  CHECK(run->report.evaluations == 40);
  const auto device = fake_device(kept("v1/landscape.json"));
  REQUIRE(device);
  EvolveOptions options;
  options.stop = [](std::span<const Progress>) { return "enough"; };
  const auto report = resume(dir / "run", *device, options);
  REQUIRE_OK(report);
  CHECK(report->best);
  const bool kept_as_it_was = read_all(dir / "run/journal").starts_with(bytes);
  CHECK(kept_as_it_was);
}

TEST_CASE("a journal of another format is refused with the version that wrote it") {
  const TempDir dir;
  std::string header = read_records(read_all(kept("v1/journal"))).records.front().payload;
  const std::string format = "\"cupilot_journal\":1";
  REQUIRE(header.find(format) != std::string::npos);
  header.replace(header.find(format), format.size(), "\"cupilot_journal\":2");
  put(dir / "run", frame(1, 0, header));
  const auto device = fake_device(kept("v1/landscape.json"));
  const auto report = resume(dir / "run", *device, {});
  REQUIRE_FALSE(report);
  CHECK(report.error().message.find("format 2, written by cupilot 0.1.0") != std::string::npos);
}

TEST_CASE("a second process on a run directory is refused with the first one's number") {
  const TempDir dir;
  const std::string landscape = write_landscape(dir);
  auto held = Journal::create(real_host(), dir / "run");
  REQUIRE_OK(held);
  const std::string holder = std::to_string(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto report = evolve(Task{}, *fake_device(landscape), small_run(dir / "run"));
    ::_exit(!report && report.error().code == ErrorCode::usage &&
                    report.error().message.ends_with("process " + holder)
                ? 0
                : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("runs leave no descriptor open") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  const int before = descriptors();
  for (int i = 0; i < 3; ++i) {
    REQUIRE_OK(evolve(Task{}, *device, small_run(dir / std::to_string(i), 14)));
    REQUIRE_OK(resume(dir / std::to_string(i), *device, {}));
    REQUIRE_OK(read_run(dir / std::to_string(i)));
  }
  CHECK(descriptors() == before);
}
