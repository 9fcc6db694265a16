// Texts changed at random are taken or refused by every parser, never worse. CUPILOT_FUZZ_SECONDS:
// how long for each target, with draws of this hour; CUPILOT_FUZZ_SEED: those of an earlier run.
// Without them a few draws that never change.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "catch.hpp"
#include "fuzz/corpus.hpp"
#include "fuzz/fuzzing.hpp"

namespace cupilot::fuzz {
namespace {

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

Effort effort_asked() {
  Effort effort;
  effort.seconds = static_cast<double>(number_of("CUPILOT_FUZZ_SECONDS", 0));
  const auto now =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  effort.seed = number_of("CUPILOT_FUZZ_SEED", effort.seconds == 0 ? 1 : now % 1000000007);
  return effort;
}

void judge(const Target& target, const Effort& effort, const Tally& tally) {
  const std::string line = std::string(target.name) + ": " + std::to_string(tally.texts) +
                           " texts, " + std::to_string(tally.taken) + " taken, seed " +
                           std::to_string(effort.seed);
  if (effort.seconds > 0) WARN(line);
  INFO(line);
  // The check means something only if some texts come through and some do not.
  CHECK(tally.taken > 0);
  CHECK(tally.taken < tally.texts);
  CHECK(tally.texts >= target.seeds().size() + kept_texts(target.name).size() + effort.mutants);
  CHECK(tally.wrong == std::vector<std::string>());
}

}  // namespace

TEST_CASE("every parser takes or refuses any text", "[run]") {
  const Effort effort = effort_asked();
  keep_what_crashes(true);
  std::vector<Tally> tallies(targets().size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < tallies.size(); at = next++)
        tallies[at] = fuzzed(targets()[at], effort);
    });
  }
  for (std::thread& thread : threads) thread.join();
  keep_what_crashes(false);
  for (std::size_t i = 0; i < tallies.size(); ++i) judge(targets()[i], effort, tallies[i]);
}

TEST_CASE("texts that were kept are taken or refused") {
  std::size_t kept = 0;
  for (const Target& target : targets()) {
    for (const std::string& text : kept_texts(target.name)) {
      INFO(target.name << ": " << text.substr(0, 200));
      ++kept;
      target.takes(text);
      CHECK((target.wrong == nullptr ? "" : target.wrong(text)) == "");
    }
  }
  CHECK(kept >= 5);
}

// CUPILOT_FUZZ_TARGET alone, for scripts/fuzz-long: what it came to as JSON in CUPILOT_FUZZ_OUT,
// its texts in CUPILOT_FUZZ_KEEP.
TEST_CASE("one parser for long", "[.one]") {
  Effort effort = effort_asked();
  effort.alone = true;
  for (const Target& target : targets()) {
    if (target.name != text_of("CUPILOT_FUZZ_TARGET")) continue;
    keep_what_crashes(true);
    const Tally tally = fuzzed(target, effort);
    keep_what_crashes(false);
    std::ofstream(text_of("CUPILOT_FUZZ_KEEP") + "/" + folder_of(target.name) + ".records",
                  std::ios::binary)
        << packed(tally.grown);
    std::ofstream(text_of("CUPILOT_FUZZ_OUT"))
        << nlohmann::json({{"target", target.name},
                           {"texts", tally.texts},
                           {"taken", tally.taken},
                           {"cpu_seconds", tally.cpu_seconds},
                           {"slowest_seconds", tally.slowest_seconds},
                           {"branches", tally.branches},
                           {"kept", tally.grown.size()},
                           {"wrong", tally.wrong},
                           {"seed", effort.seed}})
               .dump(1)
        << "\n";
    judge(target, effort, tally);
    return;
  }
  FAIL("no target is called \"" << text_of("CUPILOT_FUZZ_TARGET") << "\"");
}

TEST_CASE("the names of the targets", "[.names]") {
  for (const Target& target : targets()) std::puts(target.name);
}

}  // namespace cupilot::fuzz
