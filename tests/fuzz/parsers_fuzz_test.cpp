// Texts changed at random are taken or refused by every parser, never worse. CUPILOT_FUZZ_SECONDS: how long for each target,
// with draws of this hour; CUPILOT_FUZZ_SEED: those of an earlier run. Without them a few draws that never change.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "catch.hpp"
#include "fuzz/dice.hpp"
#include "fuzz/parsers.hpp"

namespace cupilot::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

thread_local const std::string* in_work = nullptr;  // the text that a crash is about
thread_local const char* target_in_work = "";

void keep_text(int signal) {
  std::signal(signal, SIG_DFL);
  std::fprintf(stderr, "%s: signal %d on the text kept in fuzz-crash.bin\n", target_in_work, signal);
  if (std::FILE* file = std::fopen("fuzz-crash.bin", "w"); file != nullptr && in_work != nullptr) {
    std::fwrite(in_work->data(), 1, in_work->size(), file);
    std::fclose(file);
  }
  std::raise(signal);
}

constexpr std::string_view awkward[] = {"-1",
                                        "0",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "1e999",
                                        "null",
                                        "[]",
                                        "{}",
                                        "\"\"",
                                        "true",
                                        "1e-320",
                                        "\\u0000",
                                        "\xff",
                                        "//",
                                        "((((((((",
                                        "[[[[[[[[",
                                        "{\"a\":",
                                        "NaN",
                                        "99999999999999999999"};

// One change: of a byte, a stretch, a number, or a stretch from another text.
void change(std::string& text, const std::string& other, Dice& dice) {
  const std::size_t at = dice.below(text.size() + 1), length = 1 + dice.below(1 + dice.below(64));
  switch (dice.below(7)) {
    case 0:
      if (at < text.size()) text[at] = dice.byte();
      return;
    case 1:
      text.erase(std::min(at, text.size()), length);
      return;
    case 2:
      text.insert(at, text.substr(dice.below(text.size() + 1), length));
      return;
    case 3:
      text.insert(at, dice.pick<std::string_view>(awkward));
      return;
    case 4: {
      const std::size_t from = text.find_first_of("0123456789", at);
      if (from == std::string::npos) return;
      const std::size_t to = std::min(text.find_first_not_of("0123456789.e-", from), text.size());
      text.replace(from, to - from, dice.pick<std::string_view>(awkward));
      return;
    }
    case 5:
      if (!other.empty()) text.insert(at, other.substr(dice.below(other.size()), length * 4));
      return;
    default:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << dice.below(8)));
  }
}

struct Tally {
  std::uint64_t texts = 0, taken = 0;
};

Tally fuzzed(const Target& target, std::uint64_t seed, std::uint64_t seconds, std::uint64_t fewest) {
  const std::vector<std::string> seeds = target.seeds();
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  Tally tally;
  for (; tally.texts < fewest || (seconds > 0 && Clock::now() < end); ++tally.texts) {
    Dice dice(seed + tally.texts);
    std::string text = seeds[dice.below(seeds.size())];
    for (std::size_t changes = tally.texts == 0 ? 0 : 1 + dice.below(5); changes > 0; --changes) {
      change(text, seeds[dice.below(seeds.size())], dice);
    }
    in_work = &text;
    target_in_work = target.name;
    tally.taken += target.takes(text) ? 1 : 0;
    in_work = nullptr;
  }
  return tally;
}

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("every parser takes or refuses any text", "[run]") {
  const std::uint64_t seconds = number_of("CUPILOT_FUZZ_SECONDS", 0);
  const auto now = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  const std::uint64_t seed = number_of("CUPILOT_FUZZ_SEED", seconds == 0 ? 1 : now % 1000000007);
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, keep_text);
  std::vector<Tally> tallies(targets().size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < tallies.size(); at = next++) tallies[at] = fuzzed(targets()[at], seed, seconds, 150);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, SIG_DFL);
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    const std::string line = std::string(targets()[i].name) + ": " + std::to_string(tallies[i].texts) + " texts, " +
                             std::to_string(tallies[i].taken) + " taken, seed " + std::to_string(seed);
    if (seconds > 0) WARN(line);
    INFO(line);
    // The check means something only if some texts come through and some do not.
    CHECK(tallies[i].taken > 0);
    CHECK(tallies[i].taken < tallies[i].texts);
  }
}

}  // namespace cupilot::fuzz
