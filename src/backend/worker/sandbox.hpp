// Confines a process that handles untrusted text. Each step says whether it took hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupilot {

struct Limits {
  std::uint64_t address_space = 0;  // bytes; 0: unlimited
  std::uint64_t cpu_seconds = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t files = 0;
  bool alone =
      false;  // no further processes or threads of this user may be started (no effect for root)
};

// Also: no core dumps, no new privileges, no ptrace by others of the same user.
bool limit_process(const Limits& limits);

// ABI version of Landlock on this kernel; 0: not there.
int landlock_version();

// From here on only `readable` folders and files may be read (or mapped executable), those in
// `writable` written too (and spoken to, where they are devices), and nothing created. What does
// not exist is skipped. Holds for the calling thread and those it starts.
bool confine_files(const std::vector<std::string>& readable,
                   const std::vector<std::string>& writable = {});

// From here on: no sockets, no new processes or programs (threads stay), no signals to others, no
// ptrace, keyctl, bpf, io_uring, userfaultfd, no calls that mount, load modules, change owners,
// modes, attributes, limits, clocks or namespaces. Refused calls answer EPERM. `every_thread`: also
// for the threads that run already.
bool confine_calls(bool every_thread = false);

}  // namespace cupilot
