#include "backend/worker/process.hpp"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "catch.hpp"

using namespace cupilot;

namespace {

Process shell(const std::string& script, std::vector<std::string> environment = {}) {
  auto process = Process::start({"/bin/sh", {"-c", script}, std::move(environment)});
  if (!process) FAIL(process.error().message);
  return std::move(*process);
}

}  // namespace

TEST_CASE("a process has an empty environment, its own session and no foreign descriptors") {
  setenv("CUPILOT_CANARY", "canary-77", 1);
  const int leaked = open("/dev/null", O_RDONLY);
  Process process = shell(
      "echo \"[$CUPILOT_CANARY][$GIVEN]\"; ls /proc/self/fd | tr '\\n' ' '; ps -o sid= $$ "
      ">/dev/null",
      {"GIVEN=yes", "PATH=/bin:/usr/bin"});
  const Ending ending = process.wait(deadline_in(5));
  CHECK(ending.known);
  const std::string said = process.output();
  CHECK(said.find("[][yes]") == 0);
  CHECK(said.find("0 1 2 3") != std::string::npos);
  CHECK(said.find("canary") == std::string::npos);
  close(leaked);
}

TEST_CASE("a deadline passes, then the whole group is killed") {
  Process process = shell("sleep 100 & sleep 100");
  CHECK(!process.wait(deadline_in(0.05)).known);
  const int pid = process.pid();
  const Ending ending = process.kill();
  CHECK(ending.known);
  CHECK(ending.signal == SIGKILL);
  CHECK(!process);
  CHECK(kill(pid, 0) != 0);
}

// A zombie whose tracer does not look at it cannot be reaped by its parent: as if a driver held it.
TEST_CASE(
    "a process that does not end when it is killed is waited for until the deadline, and reaped "
    "later") {
  Process process = shell("sleep 100");
  const int pid = process.pid();
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t tracer = fork();
  REQUIRE(tracer >= 0);
  if (tracer == 0) {
    const char held = ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ? 'y' : 'n';
    static_cast<void>(write(ready[1], &held, 1) == 1);
    for (;;) pause();
  }
  char held = 'n';
  REQUIRE(read(ready[0], &held, 1) == 1);
  const auto began = Clock::now();
  const Ending ending = process.kill(deadline_in(0.2));
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  // Where nobody may trace, it ends at once.
  CHECK(ending.known == (held == 'n'));
  CHECK(seconds < 5);
  if (held == 'y') CHECK(seconds > 0.15);
  CHECK(!process);
  if (held == 'y') CHECK(kill(pid, 0) == 0);
  kill(tracer, SIGKILL);
  REQUIRE(waitpid(tracer, nullptr, 0) == tracer);
  close(ready[0]);
  close(ready[1]);
  CHECK(shell("exit 0").wait(deadline_in(5)).known);
  CHECK(kill(pid, 0) != 0);
}

TEST_CASE("endings are told apart") {
  CHECK(describe(shell("exit 3").wait(deadline_in(5))) == "exited with 3");
  CHECK(describe(shell("kill -SEGV $$").wait(deadline_in(5))).find("signal 11") !=
        std::string::npos);
  CHECK(describe(Ending{}) == "no ending known");
}

TEST_CASE("a flood of output neither blocks the child nor passes the cap") {
  Process process = shell(
      "i=0; while [ $i -lt 3000 ]; do echo "
      "0123456789012345678901234567890123456789012345678901234567890123456789; i=$((i+1)); "
      "done 2>/dev/null; exit 0");
  CHECK(process.wait(deadline_in(10)).known);
  CHECK(process.output().size() <= (64u << 10));
}

TEST_CASE("a program that does not exist is an error, not a process") {
  const auto process = Process::start({"/nowhere/at/all", {}, {}});
  REQUIRE(!process);
  CHECK(process.error().message.find("/nowhere/at/all") != std::string::npos);
}

TEST_CASE("destroying the owner kills the process") {
  int pid = 0;
  {
    const Process process = shell("sleep 100");
    pid = process.pid();
    CHECK(kill(pid, 0) == 0);
  }
  CHECK(kill(pid, 0) != 0);
}
