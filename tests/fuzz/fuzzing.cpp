#include "fuzz/fuzzing.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/hash.hpp"
#include "fuzz/corpus.hpp"
#include "fuzz/coverage.hpp"
#include "fuzz/mutate.hpp"

namespace cupilot::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_kept = 64 << 10;  // bytes of a text that others are made from
constexpr std::size_t most_kept = 4000;
constexpr unsigned hang_seconds = 60;

thread_local const std::string* in_work = nullptr;  // the text that a crash is about
thread_local const Target* target_in_work = nullptr;

std::string kept_path(const Target& target, const std::string& ending) {
  const char* folder = std::getenv("CUPILOT_FUZZ_KEEP");
  return (folder != nullptr ? std::string(folder) + "/" : "") + folder_of(target.name) + ending;
}

void keep_text(int signal) {
  std::signal(signal, SIG_DFL);
  if (in_work != nullptr) {
    const std::string path = kept_path(*target_in_work, ".crash");
    std::fprintf(stderr, "%s: signal %d on the text kept in %s\n", target_in_work->name, signal,
                 path.c_str());
    std::ofstream(path, std::ios::binary) << *in_work;
  }
  std::raise(signal);
}

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

double cpu_seconds() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto in_seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return in_seconds(use.ru_utime) + in_seconds(use.ru_stime);
}

class Fuzzer {
 public:
  Fuzzer(const Target& target, const Effort& effort)
      : target_(target), effort_(effort), texts_(target.seeds()) {
    for (std::string& text : kept_texts(target.name)) texts_.push_back(std::move(text));
  }

  Tally run() {
    if (effort_.alone) forget_reached();
    const std::size_t whole = texts_.size();
    const auto begin = Clock::now();
    const double cpu_before = cpu_seconds();
    for (std::size_t i = 0;
         i < whole + effort_.mutants || seconds_between(begin, Clock::now()) < effort_.seconds;
         ++i) {
      const std::string text = i < whole ? texts_[i] : mutant(i);
      const bool fresh = tried(text);
      if (fresh && i >= whole) keep(text);
    }
    tally_.cpu_seconds = cpu_seconds() - cpu_before;
    if (effort_.alone) tally_.branches = branches_reached();
    if (effort_.alone) tally_.grown = fewest_of(texts_);
    return std::move(tally_);
  }

 private:
  std::string mutant(std::uint64_t number) {
    Dice dice(effort_.seed + number);
    std::string text = texts_[dice.below(texts_.size())];
    for (std::size_t changes = 1 + dice.below(5); changes > 0; --changes)
      change(text, texts_[dice.below(texts_.size())], dice);
    return text;
  }

  // Whether it reached what no text before it did.
  bool tried(const std::string& text) {
    in_work = &text;
    target_in_work = &target_;
    if (effort_.alone) ::alarm(hang_seconds);
    const auto begin = Clock::now();
    ++tally_.texts;
    tally_.taken += target_.takes(text) ? 1 : 0;
    if (target_.wrong != nullptr) {
      if (const std::string wrong = target_.wrong(text); !wrong.empty()) note(text, wrong);
    }
    tally_.slowest_seconds = std::max(tally_.slowest_seconds, seconds_between(begin, Clock::now()));
    if (effort_.alone) ::alarm(0);
    in_work = nullptr;
    return effort_.alone && reached_new();
  }

  void note(const std::string& text, const std::string& wrong) {
    if (tally_.wrong.size() >= 5) return;
    const std::string path = kept_path(target_, "-" + sha256_hex(text).substr(0, 8) + ".wrong");
    std::ofstream(path, std::ios::binary) << text;
    tally_.wrong.push_back(wrong + " (" + path + ")");
  }

  void keep(const std::string& text) {
    if (text.size() <= longest_kept && texts_.size() < most_kept) texts_.push_back(text);
  }

  std::vector<std::string> fewest_of(std::vector<std::string> texts) {
    std::stable_sort(texts.begin(), texts.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    forget_reached();
    reached_new();
    std::vector<std::string> fewest;
    for (const std::string& text : texts) {
      if (tried(text)) fewest.push_back(text);
    }
    return fewest;
  }

  const Target& target_;
  Effort effort_;
  std::vector<std::string> texts_;
  Tally tally_;
};

}  // namespace

Tally fuzzed(const Target& target, const Effort& effort) { return Fuzzer(target, effort).run(); }

void keep_what_crashes(bool keep) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGALRM})
    std::signal(signal, keep ? keep_text : SIG_DFL);
}

}  // namespace cupilot::fuzz
