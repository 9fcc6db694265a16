#include "base/phases.hpp"

#include <chrono>
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
