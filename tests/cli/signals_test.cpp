// The program is told to end while kernels are interpreted.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "cli/program.hpp"

using namespace support;

namespace {

constexpr double prompt = 2;  // seconds

// The program in the background, its screen in a file.
class Begun {
 public:
  Begun(const Scratch& scratch, const std::string& words) : screen_(scratch.path / "screen") {
    const std::string command = "exec '" CUPILOT_PROGRAM "' " + words + " >screen 2>&1 </dev/null";
    pid_ = fork();
    if (pid_ != 0) return;
    if (chdir(scratch.path.c_str()) != 0) _exit(99);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(99);
  }
  Begun(const Begun&) = delete;
  ~Begun() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  // Waits until `there()`, at most two minutes.
  template <class There>
  bool reaches(const There& there) const {
    for (int i = 0; i < 6000 && !there(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return there();
  }
  // Exit code, or the signal that it died by below zero, and how long its end took.
  std::pair<int, double> end(int signal) {
    const auto began = std::chrono::steady_clock::now();
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), took.count()};
  }
  std::string screen() const { return slurp(screen_); }
  bool says(const std::string& words) const { return screen().find(words) != std::string::npos; }

 private:
  fs::path screen_;
  pid_t pid_ = 0;
};

// A task of one's own, whose reference takes so many steps for each element.
void make_slow_task(const Scratch& scratch, int steps) {
  REQUIRE(run("task new weighed", scratch).exit == 0);
  std::string text = slurp(scratch.path / "weighed/task.json");
  const std::string sizes = "\"rows\": 1024, \"cols\": 1024";
  REQUIRE(text.find(sizes) != std::string::npos);
  scratch.file("weighed/task.json",
               text.replace(text.find(sizes), sizes.size(), "\"rows\": 64, \"cols\": 128"));
  scratch.file("weighed/reference.cu", R"cu(
__device__ real reference_y(const Inputs& in, long long index) {
  real w = in.w(index % in.cols);
  for (long long i = 1; i < )cu" + std::to_string(steps) +
                                           R"cu(; ++i)
    w = max_(w, in.w((index + i * in.cols) % in.cols));
  return in.x(index) * w;
}
)cu");
}

const char* const slow_suite = R"({"cupilot_suite": 1, "suite": "slow", "level": 1,
 "source": {"repository": "of the tests", "commit": "0", "folder": "here"},
 "tasks": [TASK(a), TASK(b)]})";
const char* const slow_row = R"({"id": "ID", "title": "softmax", "task": {
    "name": "softmax_ID", "family": "softmax", "precision": "fp32-strict",
    "axes": [{"name": "rows", "kind": "free"}, {"name": "cols", "kind": "reduced"}],
    "tensors": [
      {"name": "x", "role": "in", "shape": ["rows", "cols"], "fill": {"kind": "normal"}},
      {"name": "y", "role": "out", "shape": ["rows", "cols"]}],
    "operations": [{"name": "softmax", "op": "softmax", "in": ["x"], "out": ["y"],
                    "attrs": {"dim": 1}}],
    "time_shapes": [{"sizes": {"rows": 512, "cols": 8192}}]}})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("a signal ends a search in order while it proves", "[cli][search]") {
  const Scratch scratch;
  make_slow_task(scratch, 1000);
  struct Row {
    int signal, exit;
    const char* at;
  };
  int number = 0;
  for (const Row& row : {Row{SIGTERM, 143, ""}, Row{SIGINT, 130, "still to come"}}) {
    INFO(row.at);
    const std::string dir = "run" + std::to_string(++number);
    Begun program(scratch,
                  "evolve weighed/task.json --tunable weighed/tunable.cu --device "
                  "virtual:h200 --no-plain --evaluations 1 --run " +
                      dir);
    // The journal is made before the plain setting is proved, which nothing else tells so early.
    const bool reached = program.reaches(
        [&] { return fs::exists(scratch.path / dir / "journal") && program.says(row.at); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    INFO(program.screen());
    REQUIRE(reached);
    const auto [exit, seconds] = program.end(row.signal);
    CHECK(exit == row.exit);
    CHECK(seconds < prompt);
    // Not what the last resort against work that cannot be stopped says.
    CHECK(program.says("stopped: interrupted"));
    CHECK_FALSE(program.says("in flight is dropped"));
    const Ran report = run("report " + dir, scratch);
    CHECK(report.exit == 0);
    CHECK(report.out.find("not finished") != std::string::npos);
  }
}

TEST_CASE("a signal ends one launch that takes minutes", "[cli][search]") {
  const Scratch scratch;
  make_slow_task(scratch, 300'000);
  struct Row {
    std::string words;
    int exit;
    const char* says;
  };
  const std::string device = "--device virtual:h200";
  for (const Row& row :
       {Row{"evolve weighed/task.json --tunable weighed/tunable.cu --run r " + device, 130,
            "stopped: interrupted"},
        // By the signal itself, which a shell calls 130.
        Row{"verify weighed/tunable.cu --task weighed/task.json " + device, -SIGINT, ""}}) {
    INFO(row.words);
    Begun program(scratch, row.words);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const auto [exit, seconds] = program.end(SIGINT);
    INFO(program.screen());
    CHECK(exit == row.exit);
    CHECK(seconds < prompt);
    CHECK(program.says(row.says));
    CHECK_FALSE(program.says("in flight is dropped"));
  }
}

TEST_CASE("a signal ends a suite in order, with the table of what has ended", "[cli][search]") {
  const Scratch scratch;
  std::string suite = slow_suite;
  for (const char* id : {"a", "b"})
    suite = replaced(suite, std::string("TASK(") + id + ")", replaced(slow_row, "ID", id));
  scratch.file("slow.json", suite);
  const std::string words = "suite slow.json --seconds-per-task 0 --evaluations 400 --run r ";
  REQUIRE(run(words + "--only a --device fake:" + fake, scratch).exit == 0);
  Begun program(scratch, words + "--device virtual:h200");
  const bool reached =
      program.reaches([&] { return fs::exists(scratch.path / "r/tasks/b/journal"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  INFO(program.screen());
  REQUIRE(reached);
  const auto [exit, seconds] = program.end(SIGINT);
  CHECK(exit == 130);
  CHECK(seconds < prompt);
  CHECK(program.says("slow:1: 1 of 2 tasks solved, 1 ended"));
  CHECK_FALSE(fs::exists(scratch.path / "r/outcomes/b.json"));
  const auto results = nlohmann::json::parse(slurp(scratch.path / "r/results.json"));
  CHECK(results.at("ended") == 1);
  // The journal is as good as any other's.
  const Ran report = run("report r/tasks/b", scratch);
  CHECK(report.exit == 0);
  CHECK(report.out.find("not finished") != std::string::npos);
  CHECK(run(words + "--device fake:" + fake, scratch).out.find("2 ended") != std::string::npos);
}

TEST_CASE("a killed run asks its endpoint for nothing more", "[cli]") {
  const Scratch scratch;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listener, 4) == 0);
  REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  Begun run(scratch,
            "evolve gemm m=16 n=16 k=16 --device virtual:h200 --model-share 1 --run run "
            "--models http://127.0.0.1:" +
                std::to_string(ntohs(address.sin_port)) + "#m");
  constexpr int patience_ms = 60'000;
  pollfd come{listener, POLLIN, 0};
  REQUIRE(poll(&come, 1, patience_ms) == 1);
  const int asked = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  REQUIRE(asked >= 0);
  run.end(SIGKILL);
  // The connection ends with the process that holds it.
  constexpr int prompt_ms = 5'000;
  bool ended = false;
  char bytes[4096];
  for (pollfd more{asked, POLLIN, 0}; !ended && poll(&more, 1, prompt_ms) == 1;)
    ended = recv(asked, bytes, sizeof bytes, 0) <= 0;
  CHECK(ended);
  close(asked);
  close(listener);
}
