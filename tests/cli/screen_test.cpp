// A search and who reads its screen: a reader that leaves, one that stands still, a terminal that
// goes away.
#include <fcntl.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;
namespace fs = std::filesystem;

namespace {

// The program with its standard output on a pipe of one page; the test reads what it likes.
class Piped {
 public:
  Piped(const Scratch& scratch, const std::string& words, bool full, bool ignores_hangup = false) {
    REQUIRE(pipe2(ends_, O_CLOEXEC) == 0);
    const int size = fcntl(ends_[1], F_SETPIPE_SZ, 4096);
    if (full)
      REQUIRE(write(ends_[1], std::string(static_cast<std::size_t>(size), '.').data(),
                    static_cast<std::size_t>(size)) == size);
    const std::string command = "exec '" CUPILOT_PROGRAM "' " + words + " 2>/dev/null </dev/null";
    pid_ = fork();
    if (pid_ != 0) return;
    std::signal(SIGHUP, ignores_hangup ? SIG_IGN : SIG_DFL);
    if (chdir(scratch.path.c_str()) != 0 || dup2(ends_[1], STDOUT_FILENO) < 0) _exit(99);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(99);
  }
  Piped(const Piped&) = delete;
  ~Piped() {
    if (pid_ > 0) end(SIGKILL);
    close(ends_[0]);
    close(ends_[1]);
  }

  void send(int signal) const { kill(pid_, signal); }
  // The exit code, below zero after a signal that killed it.
  int end(int signal) {
    send(signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t pid_ = 0;
};

// Until something holds, or it is given up as hung.
bool comes(const std::function<bool()>& holds) {
  for (int i = 0; i < 6000 && !holds(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return holds();
}

std::string on(const std::string& landscape, const std::string& rest) {
  return "evolve --device 'fake:" + landscape + "' " + rest;
}

const std::string small = CUPILOT_SOURCE_DIR "/tests/data/landscapes/small.json";

}  // namespace

TEST_CASE("a reader that leaves ends the screen, not the search", "[cli]") {
  const Scratch scratch;
  scratch.file("head", "\"$@\" | head -1\nexit ${PIPESTATUS[0]}\n");
  const Ran ran =
      run("evolve --device 'fake:" + small + "' --evaluations 300 --run a", scratch, "bash head");
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("evolving") == 0);
  CHECK(run("report a", scratch).out.find("300 evaluations") != std::string::npos);
}

TEST_CASE("a reader that stands still holds up neither the search nor a signal", "[cli]") {
  const Scratch scratch;
  Piped program(scratch, on(small, "--evaluations 40 --run a"), true);
  CHECK(comes([&] { return fs::exists(scratch.path / "a/best"); }));
  CHECK(program.end(SIGTERM) == 143);
  CHECK(run("report a", scratch).out.find("40 evaluations") != std::string::npos);
}

TEST_CASE("a terminal that goes away stops a search in order, unless it was told not to care",
          "[cli]") {
  const std::string slow =
      R"({"cupilot_landscape": 1, "kind": "nk", "variables": 10, "values": 4, "k": 3, "seed": 1, "delay_us": 20000})";
  for (const bool ignored : {false, true}) {
    INFO(ignored);
    const Scratch scratch;
    Piped program(scratch,
                  on(scratch.file("slow.json", slow).string(), "--evaluations 100000 --run a"),
                  false, ignored);
    const auto journal = [&] {
      return fs::exists(scratch.path / "a/journal") ? fs::file_size(scratch.path / "a/journal") : 0;
    };
    REQUIRE(comes([&] { return journal() > 40000; }));
    if (!ignored) {
      CHECK(program.end(SIGHUP) == 129);
    } else {
      program.send(SIGHUP);
      const auto before = journal();
      CHECK(comes([&] { return journal() > before + 40000; }));
      CHECK(program.end(SIGTERM) == 143);
    }
    CHECK(run("report a", scratch).exit == 0);
  }
}
