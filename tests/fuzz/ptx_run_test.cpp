// No PTX, however malformed, does more to the virtual device than be refused or faulted.
// CUPILOT_FUZZ_SECONDS: how long, with draws of this hour; CUPILOT_FUZZ_SEED: those of an earlier
// run. Without them a second's worth of draws that never change.
#include <unistd.h>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "catch.hpp"
#include "fuzz/ptx_run.hpp"

namespace cupilot::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

#ifdef __SANITIZE_ADDRESS__
constexpr std::array deadly = {
    SIGABRT};  // the sanitizer reports first and ends so, if told abort_on_error=1
#else
constexpr std::array deadly = {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS};
#endif
std::array<char, 1 << 18> in_work{};  // the text that a crash is about

// Keeps the text that crashed, so that it can become a seed.
void keep_text(int signal) {
  std::signal(signal, SIG_DFL);
  if (std::FILE* file = std::fopen("ptx-fuzz-crash.ptx", "w")) {
    std::fwrite(in_work.data(), 1, std::strlen(in_work.data()), file);
    std::fclose(file);
  }
  std::raise(signal);
}

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void run_one(std::span<const Seed> corpus, std::uint64_t draw,
             std::map<std::string, std::size_t>& outcomes) {
  Dice dice(draw);
  const Seed& seed = corpus[draw % corpus.size()];
  const std::string text =
      dice.below(4) == 0 ? scrambled(seed, corpus, dice) : regrown(seed, corpus, dice);
  std::strncpy(in_work.data(), text.c_str(), in_work.size() - 1);
  ++outcomes[outcome(text, seed, dice)];
}

}  // namespace

TEST_CASE("PTX changed at random is refused, faulted or run, never worse", "[run]") {
  static const std::vector<Seed> corpus = seeds();
  const std::uint64_t seconds = number_of("CUPILOT_FUZZ_SECONDS", 0);
  const auto now =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  const std::uint64_t first = number_of("CUPILOT_FUZZ_SEED", seconds == 0 ? 1 : now % 1000000007);
  if (seconds > 0) WARN("draws from CUPILOT_FUZZ_SEED=" << first << " for " << seconds << " s");
  for (const int signal : deadly) std::signal(signal, keep_text);
  std::map<std::string, std::size_t> outcomes;
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  std::uint64_t draws = 0;
  for (; draws < 1500 || Clock::now() < end; ++draws) run_one(corpus, first + draws, outcomes);
  for (const int signal : deadly) std::signal(signal, SIG_DFL);
  std::string table;
  for (const auto& [code, count] : outcomes)
    table += (code.empty() ? "ran" : code) + " " + std::to_string(count) + "; ";
  if (seconds > 0) WARN(draws << " texts: " << table);
  INFO(table);
  // The check means something only if texts come far enough.
  CHECK(outcomes["error"] == 0);
  CHECK(outcomes[""] > draws / 200);
  CHECK(outcomes.size() > 5);
}

}  // namespace cupilot::fuzz
