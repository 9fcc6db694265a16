// Waiting for what takes long, while an observer hears of it.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/host.hpp>

#include "base/guard.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"
#include "evolution/evaluate/workers.hpp"

namespace cupilot {

inline constexpr double wait_seconds = 0.05;  // between looks at the clock and at `cancel`

// Tells an observer what a run waits for, every activity_seconds in which it heard nothing else.
class Heartbeat {
 public:
  // `began`: when the run's seconds did, by the host's clock.
  Heartbeat(Host& host, SearchObserver* observer, double began)
      : host_(host), observer_(observer), started_(began), heard_(host.monotonic_seconds()) {}

  // Has each word tell of the questions that models are asked, which `open` returns.
  void watch(std::function<std::vector<OpenQuestions>()> open) { open_ = std::move(open); }
  // The run's seconds began later than was said.
  void began(double seconds) { started_ = seconds; }
  // The observer heard something now.
  void heard() { heard_ = host_.monotonic_seconds(); }
  bool is_due() const {
    return observer_ != nullptr && host_.monotonic_seconds() - heard_ >= activity_seconds;
  }
  // `since`: by the host's clock.
  void tell(std::string doing, double since, double to_come_seconds = 0) {
    const double now = host_.monotonic_seconds();
    heard_ = now;
    if (observer_ == nullptr) return;
    observer_->on_activity({std::move(doing), now - since, now - started_, to_come_seconds,
                            open_ ? open_() : std::vector<OpenQuestions>()});
  }

 private:
  Host& host_;
  SearchObserver* observer_;
  double started_, heard_;
  std::function<std::vector<OpenQuestions>()> open_;
};

// Stops a search that waited for nothing but models for `seconds`; 0: never.
class IdleLimit {
 public:
  IdleLimit(Host& host, double seconds, std::atomic<bool>* cancel)
      : host_(host), seconds_(seconds), cancel_(cancel) {}

  // `idle`: now it waits for nothing else.
  void look(bool idle) {
    const double now = host_.monotonic_seconds();
    if (!idle) since_ = -1;
    if (idle && since_ < 0) since_ = now;
    if (idle && seconds_ > 0 && cancel_ != nullptr && now - since_ >= seconds_)
      cancel_->store(true);
  }

 private:
  Host& host_;
  double seconds_;
  std::atomic<bool>* cancel_;
  double since_ = -1;  // by the host's clock; below 0: it does not wait
};

// Time that an errand spent.
struct Spending {
  PhaseSeconds phases;
  CpuSpent cpu;
};

struct LooksAtNothing {
  void operator()() const {}
};

// Does `work`, which returns a Result, on a thread of its own; this one tells what it waits for and
// calls `look` now and then.
template <class Work, class Look = LooksAtNothing>
auto aside(Host& host, Heartbeat& heartbeat, const std::string& doing, Spending& spent, Work work,
           Look look = {}) -> decltype(work()) {
  struct Done {
    decltype(work()) answer;
    PhaseSeconds phases;
    CpuSpent cpu;
  };
  const double began = host.monotonic_seconds();
  Workers<Done> worker(host, 1);
  worker.submit([&host, &work, stop = stop_flags()] {
    const StopScope stopped(stop);
    const PhaseLog log([&host] { return host.monotonic_seconds(); },
                       [&host] { return host.thread_cpu_seconds(); });
    auto answer = guarded(work);
    return Done{std::move(answer), log.seconds(), log.cpu()};
  });
  while (true) {
    std::vector<Done> done = worker.collect(wait_seconds);
    if (done.empty()) {
      look();
      if (heartbeat.is_due()) heartbeat.tell(doing, began);
      continue;
    }
    for (const auto& [path, seconds] : done.front().phases) spent.phases[path] += seconds;
    spent.cpu.add(done.front().cpu);
    return std::move(done.front().answer);
  }
}

}  // namespace cupilot
