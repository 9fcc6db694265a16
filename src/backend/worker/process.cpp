#include "backend/worker/process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stop.hpp"

namespace cupilot {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

Error system_error(const std::string& what) {
  return {ErrorCode::failure, fmt::format("{}: {}", what, std::strerror(errno)), ""};
}

// posix_spawn with the given ends; returns the error number.
int spawn(const Spawn& what, int channel, int output, pid_t& pid) {
  std::vector<std::string> arguments = what.arguments, environment = what.environment;
  arguments.insert(arguments.begin(), what.program);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawn_file_actions_adddup2(&actions, channel, worker_channel);
  posix_spawn_file_actions_addclosefrom_np(&actions, worker_channel + 1);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawn(&pid, what.program.c_str(), &actions, &attributes,
                                pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

// A copy of `descriptor` above every number the file actions write to, closed on exec.
int lifted(int descriptor) {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
  close(descriptor);
  return copy;
}

Ending ending_of(int status) {
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status), 0};
  return {true, 0, WEXITSTATUS(status)};
}

// Waits for the end until the deadline. What waitpid says: 0, it has not ended, or a debugger still
// holds it.
pid_t reap(pid_t pid, int& status, Deadline deadline) {
  constexpr int look_again_ms =
      5;  // where there is no handle, or it says no more than that the process ended
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd entry{handle, POLLIN, 0};
  pid_t reaped = 0;
  for (;;) {
    reaped = waitpid(pid, &status, WNOHANG);
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (reaped > 0 || (reaped < 0 && errno != EINTR) || left <= 0) break;
    const int milliseconds =
        static_cast<int>(std::min<long long>(left + 1, entry.fd >= 0 ? 1000 : look_again_ms));
    if (poll(&entry, 1, milliseconds) > 0) entry.fd = -1;
  }
  if (handle >= 0) close(handle);
  return reaped;
}

// Killed processes that did not end in time: SIGKILL waits while a driver holds them. Their numbers
// are taken until they are reaped, so that none of them can be another's.
struct Lingering {
  std::mutex mutex;
  std::vector<pid_t> processes;
};

Lingering& lingering() {
  static Lingering all;
  return all;
}

void linger(pid_t pid) {
  const std::lock_guard lock(lingering().mutex);
  lingering().processes.push_back(pid);
}

void reap_lingering() {
  const std::lock_guard lock(lingering().mutex);
  std::erase_if(lingering().processes,
                [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

}  // namespace

std::string describe(const Ending& ending) {
  if (!ending.known) return "no ending known";
  if (ending.signal != 0)
    return fmt::format("killed by signal {} ({})", ending.signal, strsignal(ending.signal));
  return fmt::format("exited with {}", ending.status);
}

Result<Process> Process::start(const Spawn& what) {
  reap_lingering();
  int sockets[2], pipes[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return system_error("socketpair");
  if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) != 0) {
    const Error error = system_error("pipe");
    close(sockets[0]);
    close(sockets[1]);
    return error;
  }
  Process process;
  process.channel_ = sockets[0];
  process.output_ = pipes[0];
  const int channel = lifted(sockets[1]), output = lifted(pipes[1]);
  pid_t pid = 0;
  const int error = spawn(what, channel, output, pid);
  close(channel);
  close(output);
  if (error != 0) {
    process.close_all();
    const bool full = error == EAGAIN || error == ENOMEM;
    return Error{ErrorCode::failure,
                 fmt::format("starting {}: {}", what.program, std::strerror(error)),
                 full ? "raise the limit on processes (ulimit -u) or free memory"
                      : "build target cupilot_worker"};
  }
  process.pid_ = pid;
  return process;
}

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    if (pid_ > 0) kill();
    close_all();
    pid_ = std::exchange(other.pid_, 0);
    channel_ = std::exchange(other.channel_, -1);
    output_ = std::exchange(other.output_, -1);
  }
  return *this;
}

Process::~Process() {
  if (pid_ > 0) kill();
  close_all();
}

void Process::close_all() {
  if (channel_ >= 0) close(channel_);
  if (output_ >= 0) close(output_);
  channel_ = output_ = -1;
}

Ending Process::kill(Deadline deadline) {
  if (pid_ <= 0) return {};
  reap_lingering();
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  if (stop_flags().wanted()) deadline = std::min(deadline, deadline_in(seconds_to_end_stopped));
  int status = 0;
  const pid_t reaped = reap(pid_, status, deadline);
  if (reaped == 0) linger(pid_);
  const bool known = reaped == pid_;
  pid_ = 0;
  return known ? ending_of(status) : Ending{};
}

Ending Process::wait(Deadline deadline) {
  if (pid_ <= 0) return {};
  int status = 0;
  if (reap(pid_, status, deadline) != pid_) return {};
  ::kill(-pid_, SIGKILL);  // processes that it may have left behind in its session
  pid_ = 0;
  return ending_of(status);
}

std::string Process::output() {
  std::string text(64 << 10, '\0');
  std::size_t have = 0;
  while (output_ >= 0 && have < text.size()) {
    const ssize_t got = read(output_, text.data() + have, text.size() - have);
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

namespace {

// The folders of the library and of the program that hold this code: one and the same where it is
// linked statically.
std::vector<std::filesystem::path> own_folders() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<fs::path> folders;
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&find_worker), &here) != 0 && here.dli_fname)
    folders.push_back(fs::weakly_canonical(here.dli_fname, ignored).parent_path());
  folders.push_back(fs::read_symlink("/proc/self/exe", ignored).parent_path());
  if (folders.front() == folders.back()) folders.pop_back();
  return folders;
}

}  // namespace

Result<std::string> find_worker(const std::string& given) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places;
  std::error_code ignored;
  if (!given.empty()) {
    places.emplace_back(given);
  } else {
    // Beside; from bin or lib of a prefix; from lib/<architecture> of one. A build tree is laid out
    // alike.
    for (const fs::path& folder : own_folders())
      for (const char* relative : {".", "../libexec/cupilot", "../../libexec/cupilot"})
        places.push_back((folder / relative / "cupilot-worker").lexically_normal());
    places.emplace_back(CUPILOT_WORKER_INSTALLED);
  }
  std::string tried;
  for (const fs::path& place : places) {
    if (access(place.c_str(), X_OK) == 0 && fs::is_regular_file(place, ignored))
      return place.string();
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  return Error{ErrorCode::failure, "the program cupilot-worker was not found; looked at " + tried,
               "build target cupilot_worker, or name it by worker_path"};
}

std::vector<std::string> worker_environment(WorkerKind kind) {
  std::vector<const char*> names = {"LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"};
  if (kind == WorkerKind::device) names.push_back("CUDA_VISIBLE_DEVICES");
  if (kind == WorkerKind::http) names.insert(names.end(), {"SSL_CERT_FILE", "SSL_CERT_DIR"});
  std::vector<std::string> result;
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) result.push_back(std::string(name) + "=" + value);
  }
  return result;
}

}  // namespace cupilot
