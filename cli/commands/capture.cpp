// Runs a program with the library that keeps its launches, and judges what was kept.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include <cupilot/family.hpp>
#include <cupilot/parts/capture.hpp>
#include <cupilot/parts/checker_power.hpp>
#include <cupilot/parts/host.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "own_baselines.hpp"
#include "screens/capture.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

namespace fs = std::filesystem;

// The library lies beside the program, or where an installation or a build puts the worker.
Result<std::string> find_library() {
  std::vector<fs::path> places;
  std::error_code ignored;
  if (const char* given = std::getenv("CUPILOT_CAPTURE_LIBRARY")) {
    places.emplace_back(given);
  } else {
    const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const char* relative : {".", "../libexec/cupilot"})
      places.push_back((folder / relative / "libcupilot-capture.so").lexically_normal());
  }
  std::string tried;
  for (const fs::path& place : places) {
    if (fs::is_regular_file(place, ignored)) return fs::absolute(place, ignored).string();
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  return Error{ErrorCode::failure,
               "the library libcupilot-capture.so was not found; looked at " + tried,
               "build target cupilot_inject, or name it by CUPILOT_CAPTURE_LIBRARY"};
}

// The folder asked for, or the first captures/PROGRAM-N that is not there.
Result<std::string> make_folder(const CaptureFlags& flags) {
  std::error_code error;
  std::string folder = flags.out;
  const std::string name = "captures/" + fs::path(flags.program.front()).filename().string();
  for (int n = 1; folder.empty(); ++n) {
    const std::string one = n == 1 ? name : fmt::format("{}-{}", name, n);
    if (!fs::exists(one, error)) folder = one;
  }
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    return Error{ErrorCode::usage, "--out " + folder + ": there is something in it",
                 "name a folder that is not there yet"};
  if (auto made = real_host().make_directories(folder + "/modules"); !made) return made.error();
  return fs::absolute(folder, error).lexically_normal().string();
}

std::vector<std::string> environment(const CaptureFlags& flags, const std::string& library,
                                     const std::string& folder) {
  std::vector<std::string> all;
  std::string preload = library;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string variable = *one;
    if (variable.starts_with("CUPILOT_CAPTURE")) continue;
    if (variable.starts_with("LD_PRELOAD=")) {
      preload += ":" + variable.substr(std::strlen("LD_PRELOAD="));
    } else {
      all.push_back(variable);
    }
  }
  all.push_back("LD_PRELOAD=" + preload);
  all.push_back("CUPILOT_CAPTURE=" + folder);
  all.push_back(fmt::format("CUPILOT_CAPTURE_LAUNCHES={}", flags.launches));
  all.push_back(fmt::format("CUPILOT_CAPTURE_MEGABYTES={}", flags.megabytes));
  if (!flags.entry.empty()) all.push_back("CUPILOT_CAPTURE_ENTRY=" + flags.entry);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// The end of a program ("exit code 1"), and the signal to this one that ended it, or 0.
struct Ended {
  std::string how;
  int signal = 0;
};

// Takes signals while a program runs: the terminal's interrupt is for the program alone, the rest
// wait for `next`. The destructor puts everything back.
class Signals {
 public:
  Signals() {
    struct sigaction action = {};
    action.sa_handler = SIG_IGN;
    sigaction(SIGINT, &action, &interrupt_);
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &child_);
    sigemptyset(&waited_);
    for (const int signal : {SIGCHLD, SIGTERM, SIGHUP}) sigaddset(&waited_, signal);
    struct sigaction hangup = {};
    sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler == SIG_IGN) sigdelset(&waited_, SIGHUP);  // as under nohup
    pthread_sigmask(SIG_BLOCK, &waited_, &mask_);
  }
  Signals(const Signals&) = delete;  // the destructor restores
  ~Signals() {
    sigaction(SIGCHLD, &child_, nullptr);
    sigaction(SIGINT, &interrupt_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  // Returns the next signal, or below 0 after `patience`; none: waits.
  int next(const timespec* patience) const { return sigtimedwait(&waited_, nullptr, patience); }
  // Starts the program with the signals of an ordinary one.
  int spawn(pid_t& child, char* const* arguments, char* const* variables) const {
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &mask_);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    const int failed =
        posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments, variables);
    posix_spawnattr_destroy(&attributes);
    return failed;
  }

 private:
  struct sigaction interrupt_ = {}, child_ = {};
  sigset_t waited_, mask_;
};

// Runs the program to its end. A signal to this one is passed on; a program that has not ended
// 1.4 s later, or at a second signal, is killed.
Result<Ended> run(std::vector<std::string> words, std::vector<std::string> variables) {
  const auto arguments = pointers(words), values = pointers(variables);
  const Signals signals;
  pid_t child = 0;
  if (const int failed = signals.spawn(child, arguments.data(), values.data()); failed != 0)
    return Error{ErrorCode::usage, words.front() + ": " + std::strerror(failed),
                 "name the program as a shell does, behind --"};
  constexpr timespec patience{1, 400'000'000};
  Ended ended;
  int status = 0;
  for (const timespec* limit = nullptr; waitpid(child, &status, WNOHANG) == 0;) {
    const int signal = signals.next(limit);
    if (signal == SIGCHLD || (signal < 0 && errno == EINTR)) continue;
    kill(child, ended.signal == 0 ? signal : SIGKILL);
    if (ended.signal == 0) ended.signal = signal;
    limit = &patience;
  }
  ended.how = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                  : fmt::format("exit code {}", WEXITSTATUS(status));
  return ended;
}

// Caches where Triton and Inductor keep PTX beside the cubins that they load.
std::vector<std::string> triton_caches() {
  std::vector<std::string> folders;
  const auto add = [&](const char* variable, const std::string& tail) {
    if (const char* value = std::getenv(variable); value != nullptr && value[0] == '/')
      folders.push_back(value + tail);
  };
  add("TRITON_CACHE_DIR", "");
  add("TORCHINDUCTOR_CACHE_DIR", "");
  add("HOME", "/.triton/cache");
  for (const char* name : {"USER", "LOGNAME"}) {
    if (const char* user = std::getenv(name))
      folders.push_back(std::string("/tmp/torchinductor_") + user);
  }
  if (getuid() == 0) folders.emplace_back("/tmp/torchinductor_root");
  return folders;
}

// Judges launches one after another, and says each as soon as it is known.
class Judge {
 public:
  Judge(const Capture& capture, bool json) : capture_(capture), json_(json) {}

  // Returns the exit code of an error; 0: go on. `values`: of the launch, where a task is stated.
  int judge(const CapturedLaunch& launch, int orders, const std::optional<JudgedValues>& values) {
    wait_words(launch);
    LaunchReplayOptions options;
    options.orders = orders;
    const Result<LaunchReplay> ran = replay_launch(capture_, launch, options);
    if (!ran) return fail(Error(ran.error()).while_doing(launch_text(launch)), json_);
    judged_.push_back({&launch, *ran, values});
    judged_.back().replay.ptx.clear();
    if (!json_) say(replay_text(judged_.back()));
    return 0;
  }
  int end() const {
    say(json_ ? replays_json(judged_) : replays_text(judged_));
    return replays_code(judged_);
  }

 private:
  // Tells a reader who waits for longer than two seconds.
  void wait_words(const CapturedLaunch& launch) {
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < std::chrono::seconds(2)) return;
    told_ = now;
    show(stderr, fmt::format("replaying {} ({} of {})\n", launch_text(launch), judged_.size() + 1,
                             capture_.launches.size()));
  }

  const Capture& capture_;
  bool json_;
  std::vector<JudgedLaunch> judged_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

// "gemm at k=64 m=64 n=64 in bf16".
std::string task_text(const Task& task) {
  std::string sizes;
  for (const auto& [name, extent] : task.time_shapes.front().sizes)
    sizes += fmt::format(" {}={}", name, extent);
  return fmt::format("{} at{} in {}", task.name, sizes, name_of(task.precision));
}

// Judges the values that a launch left by the task of the flags, whose own check is tried first.
Result<JudgedValues> judge_values(const Capture& capture, const CapturedLaunch& launch,
                                  const KernelFlags& flags) {
  const Result<Families> families = load_families(flags.common.families);
  if (!families) return families.error();
  const Result<Task> task = task_from_words(flags.task, *families);
  if (!task) return task.error();
  const auto device = open_backend("virtual:h200", backend_options());
  if (!device) return device.error();
  const Ticker waiting = tell_waits("judging values of " + launch_text(launch));
  const Result<PowerReport> power = check_power(TaskRef(*task), **device);
  if (!power) return power.error();
  auto values = captured_values(**device, capture, launch, *task, flags.bind);
  if (!values) return std::move(values.error()).while_doing(capture.folder);
  return JudgedValues{task_text(*task), std::move(*values)};
}

}  // namespace

int capture_command(const CaptureFlags& flags) {
  const Result<std::string> library = find_library();
  if (!library) return fail(library.error(), flags.json);
  const Result<std::string> folder = make_folder(flags);
  if (!folder) return fail(folder.error(), flags.json);
  const Result<Ended> ended = run(flags.program, environment(flags, *library, *folder));
  if (!ended) return fail(ended.error(), flags.json);
  const std::string& program = flags.program.front();
  if (ended->signal != 0) {
    show(stderr, fmt::format("stopped: {} ended with {}; {} has what was kept until then\n",
                             program, ended->how, *folder));
    return 128 + ended->signal;
  }
  if (!real_host().exists(*folder + "/capture.jsonl"))
    return fail({ErrorCode::no_device,
                 fmt::format("{}: ended with {}, and reached no CUDA driver", program, ended->how),
                 "run it where a GPU and its driver are (`cupilot doctor`); a program that is "
                 "linked statically as a whole cannot be captured"},
                flags.json);
  Result<Capture> capture = read_capture(*folder);
  if (!capture) return fail(capture.error(), flags.json);
  const Result<int> cached = find_cached_ptx(*capture, triton_caches());
  if (!cached) return fail(cached.error(), flags.json);
  if (*cached > 0) capture = read_capture(*folder);
  if (!capture) return fail(capture.error(), flags.json);
  say(flags.json ? capture_json(*capture, ended->how)
                 : capture_text(*capture, ended->how, flags.launches));
  return 0;
}

bool is_capture(const std::string& path) { return capture_path(path).has_value(); }

int judge_capture(const KernelFlags& flags, int orders) {
  const bool json = flags.common.json;
  const std::string& folder = flags.files.front();
  if (!flags.launch.empty() || (flags.task.empty() && !flags.bind.empty()))
    return fail({ErrorCode::usage,
                 folder + ": a capture holds its launches, and --bind gives arguments to a task",
                 "leave --launch out, and say --bind beside --task"},
                json);
  const CapturePath path = capture_path(folder).value_or(CapturePath{folder, 0});
  const Result<Capture> capture = read_capture(path.folder);
  if (!capture) return fail(capture.error(), json);
  const auto meant = meant_launches(*capture, path, flags.entry);
  if (!meant) return fail(meant.error(), json);
  if (!flags.task.empty() && meant->size() > 1)
    return fail(one_launch(path, *meant, "a task is judged by one"), json);
  std::optional<JudgedValues> values;
  if (!flags.task.empty()) {
    auto judged = judge_values(*capture, *meant->front(), flags);
    if (!judged) return fail(judged.error(), json);
    values = std::move(*judged);
  }
  Judge judge(*capture, json);
  for (const CapturedLaunch* launch : *meant) {
    if (const int code = judge.judge(*launch, orders, values); code != 0) return code;
  }
  return judge.end();
}

}  // namespace cupilot::cli
