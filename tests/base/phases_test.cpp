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
  const double all =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  CHECK(paths(log) ==
        std::vector<std::string>{"proof", "proof/judge", "proof/judge/references", "proof/runner"});
  double sum = 0;
  for (const auto& [path, seconds] : log.seconds()) {
    CHECK(seconds > 0);
    sum += seconds;
  }
  CHECK(sum <= all);
  CHECK(sum >= 8e-3);
  CHECK(log.seconds().at("proof/judge/references") == Approx(1e-3));
}

namespace {

double thread_cpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void burn(double seconds) {
  for (const double until = thread_cpu() + seconds; thread_cpu() < until;) {
  }
}

}  // namespace

TEST_CASE(
    "a thread's CPU is told by phase, apart from what it does as a device, nested or not, and not "
    "while it waits") {
  const double began = thread_cpu();
  PhaseLog log;
  burn(0.02);
  {
    const Phase outer("proof");
    burn(0.03);
    {
      const DeviceWork device;
      burn(0.04);
      const DeviceWork within;
      const Phase inner("reference");
      burn(0.05);
    }
    const Phase inner("judge");
    burn(0.01);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  const CpuSpent cpu = log.cpu();
  const double all = thread_cpu() - began;
  CHECK(cpu.own.at(in_no_phase) >= 0.02);
  CHECK(cpu.own.at("proof") >= 0.03);
  CHECK(cpu.own.at("proof/judge") >= 0.01);
  CHECK(cpu.own.at("proof/reference") == 0);
  CHECK(cpu.as_device >= 0.09);
  CHECK(cpu.own_seconds() + cpu.as_device <= all + 1e-9);
}

TEST_CASE(
    "a phase that reads no CPU clock leaves its CPU to the phase around it, and none of a phase "
    "inside it") {
  double seconds = 0, cpu = 0;
  PhaseLog log([&] { return seconds; }, [&] { return cpu; });
  {
    const Phase outer("proof");
    {
      const Phase before("battery");
      cpu += 1;
    }
    const Phase order("judge", PhaseCpu::of_phase_around);
    seconds += 5;
    cpu += 2;
    const Phase inner("reference");
    seconds += 7;
    cpu += 4;
  }
  const PhaseSeconds passed = {
      {"proof", 0}, {"proof/battery", 0}, {"proof/judge", 5}, {"proof/judge/reference", 7}};
  const PhaseSeconds spent = {
      {in_no_phase, 0}, {"proof", 2}, {"proof/battery", 1}, {"proof/judge/reference", 4}};
  CHECK(log.seconds() == passed);
  CHECK(log.cpu().own == spent);
}

TEST_CASE("what helpers spend counts as CPU of the phase they help, and as no time", "[threads]") {
  PhaseLog log;
  const auto screening = [] {
    const Phase inner("screen");
    burn(0.01);
  };
  CpuSpent first, second;
  std::thread([&] { first = helping(screening); }).join();
  std::thread([&] { second = helping_as_device(screening); }).join();
  CHECK(first.own.at("screen") >= 0.01);
  CHECK(first.as_device == 0);
  CHECK(second.own.at("screen") == 0);
  CHECK(second.as_device >= 0.01);
  credit(first);
  {
    const Phase outer("proof");
    credit(first);
    credit(second);
  }
  const CpuSpent cpu = log.cpu();
  CHECK(cpu.own.at("screen") == first.own.at("screen"));
  CHECK(cpu.own.at("proof/screen") == first.own.at("screen"));
  CHECK(cpu.own.at("proof") >= first.own.at(in_no_phase));
  CHECK(cpu.as_device == second.as_device);
  CHECK(paths(log) == std::vector<std::string>{"proof"});
}

TEST_CASE("phases belong to the thread and the innermost log", "[threads]") {
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
