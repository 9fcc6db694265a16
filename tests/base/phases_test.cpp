#include "base/phases.hpp"

#include <chrono>
#include <ctime>
#include <thread>

#include "catch.hpp"

using namespace cupilot;

namespace {

void pass_time() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

std::vector<std::string> paths(const PhaseLog& log) {
  std::vector<std::string> all;
  for (const auto& [path, seconds] : log.seconds()) all.push_back(path);
  return all;
}

}  // namespace

TEST_CASE("each second of nested phases counts once") {
  const auto began = std::chrono::steady_clock::now();
  PhaseLog log;
  {
    const Phase outer("proof");
    pass_time();
    for (int i = 0; i < 2; ++i) {
      const Phase inner("judge");
      pass_time();
      credit("references", 0.5e-3);
    }
    const Phase sibling("runner");
    pass_time();
  }
  const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  CHECK(paths(log) == std::vector<std::string>{"proof", "proof/judge", "proof/judge/references", "proof/runner"});
  double sum = 0;
  for (const auto& [path, seconds] : log.seconds()) {
    CHECK(seconds > 0);
    sum += seconds;
  }
  CHECK(sum <= all);
  CHECK(sum >= 8e-3);
  CHECK(log.seconds().at("proof/judge/references") == Approx(1e-3));
}

TEST_CASE("a thread's own CPU leaves out what it does as a device, nested or not, and what it waits for") {
  const auto burn = [](double seconds) {
    const auto cpu = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
    for (const double until = cpu() + seconds; cpu() < until;) {
    }
  };
  PhaseLog log;
  burn(0.02);
  const double before = log.own_cpu_seconds();
  CHECK(before > 0.01);
  {
    const DeviceWork device;
    burn(0.1);
    const DeviceWork within;
    burn(0.1);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  CHECK(log.own_cpu_seconds() - before < 0.05);
}

TEST_CASE("phases belong to the thread and the innermost log") {
  { const Phase lost("nobody listens"); }
  credit("nothing", 1);
  PhaseLog log;
  std::thread([] { const Phase elsewhere("another thread"); }).join();
  {
    const Phase outer("outer");
    const PhaseLog own;
    { const Phase inner("inner"); }
    CHECK(paths(own) == std::vector<std::string>{"inner"});
  }
  CHECK(paths(log) == std::vector<std::string>{"outer"});
}
