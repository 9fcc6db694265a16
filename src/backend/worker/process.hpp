// A worker process: started with an empty environment in its own session, spoken to over one
// socket, killed as a group.
#pragma once

#include <string>
#include <vector>

#include <cupilot/result.hpp>

#include "backend/wire/frame.hpp"

namespace cupilot {

struct Spawn {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=value"; nothing else is inherited
};

// The end of a process.
struct Ending {
  bool known = false;  // false: it has not ended, or somebody else reaped it
  int signal = 0;      // 0: exited
  int status = 0;
};
std::string describe(const Ending& ending);

// A killed process that gives the memory of a device back takes seconds; one that a driver holds
// might never end. Work that was stopped waits for neither.
inline constexpr double seconds_to_end = 10, seconds_to_end_stopped = 0.2;

class Process {
 public:
  static Result<Process> start(const Spawn& spawn);  // the child finds its channel at descriptor 3
  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // kills

  explicit operator bool() const { return pid_ > 0; }
  int channel() const { return channel_; }
  int pid() const { return pid_; }
  // SIGKILL to the whole group, then reaped. One that does not end by the deadline, or soon where
  // the calling thread's work is stopped, is reaped after a later start or kill.
  Ending kill(Deadline deadline = deadline_in(seconds_to_end));
  // Waits for an end by itself until the deadline; reaps.
  Ending wait(Deadline deadline);
  // Returns the text that it wrote to stdout and stderr since the last call, at most 64 KiB; more
  // is lost, never blocks the child.
  std::string output();

 private:
  void close_all();
  int pid_ = 0;
  int channel_ = -1;
  int output_ = -1;
};

inline constexpr int worker_channel = 3;

// The worker program: `given` when not empty; else beside the library or the running program, or
// in libexec/cupilot of the prefix they lie in.
Result<std::string> find_worker(const std::string& given);

enum class WorkerKind { compile, device, http };
// Returns the variables of the caller's environment that a worker needs: LD_LIBRARY_PATH, CUDA_HOME
// and CUDA_PATH; for a device CUDA_VISIBLE_DEVICES; for HTTPS SSL_CERT_FILE and SSL_CERT_DIR.
std::vector<std::string> worker_environment(WorkerKind kind);

}  // namespace cupilot
