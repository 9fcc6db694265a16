// Runs whose champion is timed against contestants.
#include <filesystem>

#include "catch.hpp"
#include "evolution/hooked.hpp"
#include "evolution/support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

// A landscape beside which "torch" takes twice the champion's time, and "torch-compile" has none.
class WithTorch : public Hooked {
 public:
  explicit WithTorch(const TempDir& dir) : Hooked(fake_device(write_landscape(dir))) {
    on_measure = [](std::span<const Subject> subjects, std::vector<SubjectReport>& reports) {
      for (std::size_t i = 0; i < subjects.size(); ++i) {
        if (subjects[i].name != "torch" || !reports.front().measurement) continue;
        reports[i].measurement = reports.front().measurement;
        set_time(reports[i], 2 * reports.front().measurement->time_us);
        reports[i].ratio = {2, 2, 2};
      }
    };
  }
  std::vector<std::string> asked;
  Result<std::string> contestant(const std::string& name) override {
    asked.push_back(name);
    return name + " 9.9";
  }
};

EvolveOptions against(const std::string& run_dir, const std::vector<std::string>& names) {
  EvolveOptions options = small_run(run_dir);
  options.against = names;
  return options;
}

const Baseline* find(const EvolveReport& report, const std::string& name) {
  for (const Baseline& one : report.best->baselines) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("contestants stand beside the champion, in the journal too", "[threads]") {
  const TempDir folder;
  const std::string dir = folder / "run";
  WithTorch device(folder);
  const auto report = evolve(landscape_task(), device, against(dir, {"torch", "torch-compile"}));
  REQUIRE_OK(report);
  CHECK(device.asked.front() == "torch");
  for (const EvolveReport& seen : {*report, read_run(dir)->report}) {
    const Baseline* torch = find(seen, "torch");
    REQUIRE(torch != nullptr);
    CHECK(torch->says == "torch 9.9");
    CHECK(torch->ratio.front() == 2);
    CHECK(find(seen, "torch-compile") == nullptr);
    const auto told = [&](const std::string& notice) {
      return notice.starts_with("no time of torch-compile: ");
    };
    CHECK(std::count_if(seen.notices.begin(), seen.notices.end(), told) == 1);
  }
}

TEST_CASE("a resumed run meets the contestants that it began with", "[threads]") {
  const TempDir folder;
  const std::string dir = folder / "run";
  WithTorch device(folder);
  REQUIRE(evolve(landscape_task(), device, against(dir, {"torch"})));
  EvolveOptions more;
  more.raise_evaluations = 60;
  const auto report = resume(dir, device, more);
  REQUIRE_OK(report);
  CHECK(find(*report, "torch") != nullptr);
}

TEST_CASE("contestants that cannot take part are refused before anything is spent", "[threads]") {
  struct Case {
    const char* name;
    ErrorCode code;
  };
  const Case c = GENERATE(
      from_range(std::vector<Case>{{"torch", ErrorCode::no_device}, {"trch", ErrorCode::usage}}));
  const TempDir folder;
  const std::string dir = folder / "run";
  const auto device = fake_device(write_landscape(folder));
  const auto report = evolve(landscape_task(), *device, against(dir, {c.name}));
  REQUIRE(!report);
  CAPTURE(report.error().message);
  CHECK(report.error().code == c.code);
  CHECK(!std::filesystem::exists(dir));
}
