// Simulated nights. `make test` lives through a few, `make check` through two thousand:
// CUPILOT_WORLDS worlds from seed CUPILOT_FIRST_WORLD on, summed up in the file CUPILOT_WORLDS_OUT.
#include "endurance/world.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/hash.hpp"
#include "catch.hpp"
#include "support/sample.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

std::int64_t environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// A night and what it is held against: itself again, and a calm one with the same kernels.
WorldReport lived_through(std::uint64_t seed, bool again, bool beside_calm) {
  WorldReport report = run_world({seed, true});
  if (again && run_world({seed, true}).journal != report.journal)
    report.broken.emplace_back("the same seed, another journal");
  if (beside_calm && !report.bounded && run_world({seed, false}).essence != report.essence) {
    report.broken.emplace_back("trouble changed what was found");
  }
  return report;
}

std::vector<WorldReport> live_through(std::int64_t count, std::uint64_t first) {
  std::vector<WorldReport> reports(static_cast<std::size_t>(count));
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < reports.size(); at = next++) {
        reports[at] = lived_through(first + at, at % 4 == 0, at % 4 == 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return reports;
}

nlohmann::json sum_of(const std::vector<WorldReport>& reports, std::uint64_t first) {
  WorldReport sum;
  double shortest = HUGE_VAL;
  int with_models = 0;
  std::string journals;
  nlohmann::json broken = nlohmann::json::array();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const WorldReport& one = reports[i];
    sum.sittings += one.sittings;
    sum.crashes += one.crashes;
    sum.disk_faults += one.disk_faults;
    sum.device_losses += one.device_losses;
    sum.signals += one.signals;
    sum.evaluations += one.evaluations;
    sum.questions += one.questions;
    sum.endpoint_faults += one.endpoint_faults;
    sum.silences += one.silences;
    sum.virtual_seconds += one.virtual_seconds;
    shortest = std::min(shortest, one.virtual_seconds);
    with_models += one.models ? 1 : 0;
    journals += one.journal;
    for (const std::string& what : one.broken)
      broken.push_back({{"seed", first + i}, {"broken", what}});
  }
  const auto worlds = static_cast<double>(std::max<std::size_t>(1, reports.size()));
  return {{"worlds", reports.size()},
          {"first_seed", first},
          {"sittings", sum.sittings},
          {"crashes", sum.crashes},
          {"disk_faults", sum.disk_faults},
          {"device_losses", sum.device_losses},
          {"signals", sum.signals},
          {"evaluations", sum.evaluations},
          {"worlds_with_models", with_models},
          {"questions_to_models", sum.questions},
          {"endpoint_faults", sum.endpoint_faults},
          {"silences", sum.silences},
          {"journals", sha256_hex(journals)},
          {"virtual_minutes_a_world", sum.virtual_seconds / 60 / worlds},
          {"virtual_minutes_of_the_shortest", shortest / 60},
          {"broken", broken}};
}

nlohmann::json survey(std::int64_t count, std::uint64_t first) {
  const auto began = std::chrono::steady_clock::now();
  nlohmann::json sum = sum_of(live_through(count, first), first);
  sum["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return sum;
}

}  // namespace

TEST_CASE("simulated nights break no invariant") {
  const std::int64_t worlds = testing::sanitized() ? 8 : 60;
  const nlohmann::json sum = survey(worlds, 1);
  INFO(sum["broken"].dump(1));
  CHECK(sum["broken"].empty());
  // They were nights of trouble.
  for (const char* trouble :
       {"crashes", "disk_faults", "device_losses", "signals", "endpoint_faults", "silences"}) {
    INFO(trouble);
    CHECK(sum[trouble] >= worlds / 20);
  }
  // A night of half an hour keeps a reserve for confirmation, which may take less.
  CHECK(sum["virtual_minutes_of_the_shortest"] >= 24);
}

TEST_CASE("thousands of simulated nights", "[.worlds]") {
  const nlohmann::json sum =
      survey(environment("CUPILOT_WORLDS", testing::sampled(2000)),
             static_cast<std::uint64_t>(environment("CUPILOT_FIRST_WORLD", 1)));
  if (const char* out = std::getenv("CUPILOT_WORLDS_OUT"))
    std::ofstream(out) << sum.dump(1) << "\n";
  INFO(sum.dump(1));
  CHECK(sum["broken"].empty());
  // A night of half an hour keeps a reserve for confirmation, which may take less.
  CHECK(sum["virtual_minutes_of_the_shortest"] >= 24);
}
