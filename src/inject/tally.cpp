#include "inject/tally.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "inject/record.hpp"

namespace cupilot::inject {
namespace {

struct Met {
  std::uint64_t number = 0, times = 0;  // 0: not kept
};

struct LaunchTally {
  std::mutex lock;
  std::map<std::uint64_t, Met> met;
  std::int64_t kept = 0;
  std::atomic<bool> full{false};
  std::array<std::atomic<std::uint64_t>, 5> unkept{};
  pid_t process = 0;
};
LaunchTally& tally() {
  static LaunchTally& all = *new LaunchTally;
  return all;
}

std::uint64_t of(Unkept why) { return tally().unkept[static_cast<std::size_t>(why)]; }

// Tells at the end of the process what was counted.
void write_counts() {
  LaunchTally& all = tally();
  if (all.process == 0 || all.process != ::getpid()) return;
  const std::scoped_lock held(all.lock);
  std::string repeats = "[";
  std::uint64_t beyond = of(Unkept::beyond);
  for (const auto& [key, met] : all.met) {
    if (met.number == 0) {
      beyond += met.times;
      continue;
    }
    repeats += (repeats.size() > 1 ? ", [" : "[") + std::to_string(met.number) + ", " +
               std::to_string(met.times) + "]";
  }
  append(Line("counts")
             .number("process", static_cast<std::uint64_t>(all.process))
             .json("times", repeats + "]")
             .number("beyond", beyond)
             .number("other", of(Unkept::other))
             .number("recorded", of(Unkept::recorded))
             .number("graphs", of(Unkept::graph))
             .number("unknown", of(Unkept::unknown)));
}

__attribute__((destructor)) void at_end() { write_counts(); }

}  // namespace

void count(Unkept why) { ++tally().unkept[static_cast<std::size_t>(why)]; }

bool is_full() { return tally().full; }

std::uint64_t number_of(std::uint64_t key) {
  LaunchTally& all = tally();
  const std::scoped_lock held(all.lock);
  const auto [found, fresh] = all.met.try_emplace(key);
  ++found->second.times;
  if (!fresh || all.kept >= settings().launches) return 0;
  // Processes of one program share the folder.
  std::uint64_t number = static_cast<std::uint64_t>(all.kept) + 1;
  while (!standing_aside() && !make_folder("launch-" + std::to_string(number))) ++number;
  if (standing_aside()) return 0;
  all.full = ++all.kept >= settings().launches;
  return found->second.number = number;
}

void note_process() {
  LaunchTally& all = tally();
  const std::scoped_lock held(all.lock);
  if (all.process == ::getpid() || standing_aside()) return;
  all.process = ::getpid();
  std::string program(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", program.data(), program.size());
  program.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  append(Line("process")
             .number("process", static_cast<std::uint64_t>(all.process))
             .text("program", program));
}

}  // namespace cupilot::inject
