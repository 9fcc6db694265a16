#include <cupilot/result.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "catch.hpp"

using namespace cupilot;

namespace {

int access_pipe = -1;  // in a child of death_by(): where wrong_access() reports

// Runs `action` in a child process; returns the report of wrong_access(), "survived" without one.
std::string death_by(const std::function<void()>& action) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, SIG_DFL);
    access_pipe = ends[1];
    action();
    _exit(0);
  }
  close(ends[1]);
  std::string report;
  char buffer[256];
  for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    report.append(buffer, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status)) return "survived";
  return WTERMSIG(status) == SIGABRT ? report : "signal " + std::to_string(WTERMSIG(status));
}

}  // namespace

// Replaces the library's weak definition, as a program may.
void cupilot::wrong_access(const char* accessed, const char* held) {
  const std::string report = std::string(accessed) + " | " + held;
  if (access_pipe >= 0 && write(access_pipe, report.data(), report.size()) < 0) _exit(1);
  std::abort();
}

TEST_CASE("a result holds a value or an error with its context", "[result]") {
  Result<int> good = 3;
  REQUIRE(good);
  CHECK(*good == 3);

  Result<int> bad = Error{ErrorCode::usage, "m=0: not positive", "give a size of at least 1"};
  REQUIRE_FALSE(bad);
  const Error told = std::move(bad.error()).while_doing("reading the task");
  CHECK(told.message == "reading the task: m=0: not positive");
  CHECK(told.code == ErrorCode::usage);
  CHECK(told.hint == "give a size of at least 1");
}

TEST_CASE("an attempt tells a refused candidate from a failed machine", "[result]") {
  Attempt<std::unique_ptr<int>> value = std::make_unique<int>(4);
  REQUIRE(value);
  const std::unique_ptr<int> taken = std::move(*std::move(value));
  CHECK(*taken == 4);

  const Attempt<int> refused =
      Rejected{Stage::gate, "gate.state", "writes a module variable", "line 3"};
  CHECK_FALSE(refused);
  CHECK(refused.is_rejected());
  CHECK_FALSE(refused.is_error());

  const Attempt<int> failed = Error{ErrorCode::toolchain, "libnvrtc.so.13: not found", ""};
  CHECK(failed.is_error());
  CHECK(failed.error().code == ErrorCode::toolchain);
}

TEST_CASE("a void result", "[result]") {
  Result<void> done;
  CHECK(done);
  Result<void> failed = Error{};
  CHECK_FALSE(failed);
}

TEST_CASE("access to what is not held ends the program and names both", "[result]") {
  const Result<std::string> error = Error{ErrorCode::usage, "m=0: not positive", ""};
  Result<std::string> value = std::string("text");
  const Result<void> nothing = Error{};
  Result<void> done;
  const Attempt<std::string> refused = Rejected{Stage::gate, "gate.state", "writes a variable", ""};
  const Attempt<std::string> failed = Error{ErrorCode::toolchain, "no compiler", ""};
  Attempt<std::string> built = std::string("kernel");
  const struct Row {
    std::string report;
    std::function<void()> access;
  } rows[] = {
      {"value of a Result | m=0: not positive", [&] { (void)*error; }},
      {"value of a Result | m=0: not positive", [&] { (void)error->size(); }},
      {"value of a Result | m=0: not positive", [&] { (void)*Result(error); }},
      {"error of a Result | value", [&] { (void)value.error(); }},
      {"error of a Result | value", [&] { (void)value.failure(); }},
      {"error of a Result | value", [&] { (void)done.error(); }},
      {"error of a Result | value", [&] { (void)done.failure(); }},
      {"value of an Attempt | writes a variable", [&] { (void)*refused; }},
      {"value of an Attempt | no compiler", [&] { (void)failed->size(); }},
      {"value of an Attempt | no compiler", [&] { (void)*Attempt(failed); }},
      {"error of an Attempt | writes a variable", [&] { (void)refused.error(); }},
      {"error of an Attempt | value", [&] { (void)built.error(); }},
      {"refusal of an Attempt | no compiler", [&] { (void)failed.rejected(); }},
      {"refusal of an Attempt | value", [&] { (void)built.rejected(); }},
      {"failure of an Attempt | value", [&] { (void)built.failure(); }},
      {"survived",
       [&] {
         (void)value->size(), (void)built->size(), (void)*value, (void)*built;
         (void)error.error(), (void)nothing.error(), (void)refused.rejected();
         (void)failed.error(), (void)refused.failure(), (void)failed.failure();
       }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.report);
    CHECK(death_by(row.access) == row.report);
  }
}

TEST_CASE("a failure travels through callers of either kind", "[result]") {
  const auto read = [](bool good) -> Result<int> {
    if (!good) return Error{ErrorCode::usage, "no file", "name one"};
    return 1;
  };
  const auto reread = [&]() -> Result<std::string> {
    const Result<int> number = read(false);
    if (!number) return number.failure();
    return std::string();
  };
  CHECK(reread().error().hint == "name one");
  const auto compile = [&](int what) -> Attempt<std::string> {
    const Result<int> number = read(what != 0);
    if (!number) return number.failure();
    if (what == 1) return Rejected{Stage::gate, "gate.state", "writes a variable", "line 3"};
    return std::string("kernel");
  };
  const auto load = [&](int what) -> Attempt<int> {
    const Attempt<std::string> kernel = compile(what);
    if (!kernel) return kernel.failure();
    return static_cast<int>(kernel->size());
  };
  const Attempt<int> no_file = load(0), refused = load(1), loaded = load(2);
  REQUIRE(no_file.is_error());
  CHECK(no_file.error().code == ErrorCode::usage);
  CHECK(no_file.error().message == "no file");
  REQUIRE(refused.is_rejected());
  CHECK(refused.rejected().code == "gate.state");
  CHECK(refused.rejected().where == "line 3");
  REQUIRE(loaded);
  CHECK(*loaded == 6);
}
