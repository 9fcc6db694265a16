// The compile server: NVRTC loaded and warmed once, one confined forked child per compile.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>

#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/compile/jit_link.hpp"
#include "backend/compile/large_pages.hpp"
#include "backend/compile/nvrtc.hpp"
#include "backend/compile/protocol.hpp"
#include "backend/worker/library.hpp"
#include "backend/worker/process.hpp"
#include "backend/worker/roles.hpp"
#include "backend/worker/sandbox.hpp"

namespace cupilot {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t memory_limit = 0;  // shadow memory takes terabytes of address space
#else
constexpr std::uint64_t memory_limit = 4ull << 30;
#endif
constexpr double reply_seconds = 20;

std::vector<std::string> readable_places(const Nvrtc& nvrtc) {
  std::vector<std::string> places = toolkit_library_folders();
  places.push_back(std::filesystem::path(nvrtc.path()).parent_path().string());
  for (const char* place : {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"}) {
    places.emplace_back(place);
  }
  places.insert(places.end(), nvrtc.include_folders().begin(), nvrtc.include_folders().end());
  return places;
}

// The assembler of this process, opened where PTX is first met.
const JitLink& jit_link() {
  static const JitLink opened;
  return opened;
}

void compile_text(const Nvrtc& nvrtc, const CompileOrder& order, CompileAnswer& answer) {
  NvrtcRun run = nvrtc.compile(order.request, order.options);
  answer.output = std::move(run.output);
  answer.message = run.code_name;
  if (run.code != 0)
    answer.kind = run.code == 1 ? CompileAnswer::Kind::out_of_memory : CompileAnswer::Kind::refused;
}

void assemble_text(const CompileOrder& order, CompileAnswer& answer) {
  if (!jit_link().found()) {
    answer.kind = CompileAnswer::Kind::no_assembler;
    answer.message = jit_link().path();
    return;
  }
  AssembledPtx assembled = jit_link().assemble(order.request);
  answer.output = std::move(assembled.output);
  answer.message = std::move(assembled.error);
  if (!answer.message.empty()) answer.kind = CompileAnswer::Kind::refused;
}

CompileAnswer compile_confined(const Nvrtc& nvrtc, const CompileOrder& order) {
  CompileAnswer answer;
  try {
    if (order.request.is_ptx) {
      assemble_text(order, answer);
    } else {
      compile_text(nvrtc, order, answer);
    }
    answer.output.log = clean_log(answer.output.log);
    if (answer.kind == CompileAnswer::Kind::done && is_too_large(answer.output, own_caps)) {
      answer.kind =
          CompileAnswer::Kind::too_large;  // by the caps of ours; the request's are the pool's
      answer.message = sizes_text(answer.output, own_caps);
    }
  } catch (const std::bad_alloc&) {
    answer.kind = CompileAnswer::Kind::out_of_memory;
  }
  if (answer.kind != CompileAnswer::Kind::done) {
    answer.output.ptx.clear();
    answer.output.cubin.clear();
  }
  return answer;
}

// Confines this process as far as the machine offers it, and says how far that is.
SandboxState confine(const Nvrtc& nvrtc, double cpu_seconds) {
  SandboxState state;
  if (chdir("/") != 0) return state;
  state.landlock = confine_files(readable_places(nvrtc)) ? landlock_version() : 0;
  const auto seconds = static_cast<std::uint64_t>(std::max(1.0, cpu_seconds));
  state.limits = limit_process({memory_limit, seconds, 64ull << 20, 64, true});
  state.seccomp = confine_calls();
  return state;
}

// The child of one compile: never returns.
[[noreturn]] void child(const Nvrtc& nvrtc, const Frame& frame, const CompileOrder& order) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const SandboxState sandbox = confine(nvrtc, order.cpu_seconds);
  CompileAnswer answer = compile_confined(nvrtc, order);
  answer.sandbox = sandbox;
  const Frame reply{static_cast<std::uint32_t>(CompileMessage::answer), frame.id, pack(answer), {}};
  send_frame(worker_channel, reply, deadline_in(reply_seconds));
  _exit(0);
}

// Concludes from a child's death about its source; `spent` is its resource use.
CompileAnswer answer_for_death(int status, const rusage& spent, double cpu_seconds) {
  CompileAnswer answer;
  const double cpu = static_cast<double>(spent.ru_utime.tv_sec + spent.ru_stime.tv_sec) +
                     1e-6 * static_cast<double>(spent.ru_utime.tv_usec + spent.ru_stime.tv_usec);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  answer.message = signal != 0 ? fmt::format("signal {} ({})", signal, strsignal(signal))
                               : fmt::format("exit {}", WEXITSTATUS(status));
  // For its limit the kernel counts whole ticks, which on a busy machine make more than the time
  // that was had.
  const bool limited = signal == SIGKILL && cpu >= 0.75 * cpu_seconds;
  if (signal == SIGXCPU || limited || cpu + 1 >= cpu_seconds) {
    answer.kind = CompileAnswer::Kind::out_of_time;
  } else if (memory_limit > 0 &&
             static_cast<std::uint64_t>(spent.ru_maxrss) * 1024 > memory_limit / 10 * 7) {
    answer.kind = CompileAnswer::Kind::out_of_memory;
  } else {
    answer.kind = CompileAnswer::Kind::crashed;
  }
  return answer;
}

// Until the child ends; ends this server when the controller goes away first.
void await(pid_t pid) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  for (;;) {
    pollfd entries[2] = {{handle, POLLIN, 0}, {worker_channel, 0, 0}};
    if (poll(entries, handle >= 0 ? 2 : 0, handle >= 0 ? -1 : 0) < 0 && errno == EINTR) continue;
    if ((entries[1].revents & (POLLHUP | POLLERR)) != 0) {
      kill(pid, SIGKILL);
      _exit(0);
    }
    break;
  }
  if (handle >= 0) close(handle);
}

void serve_one(const Nvrtc& nvrtc, const Frame& frame) {
  const auto order = unpack_order(frame.body);
  if (!order) _exit(2);
  if (order->request.is_ptx) jit_link();  // before children, which may read no other place
  const pid_t pid = fork();
  if (pid == 0) child(nvrtc, frame, *order);
  CompileAnswer answer;
  if (pid < 0) {
    answer.kind = CompileAnswer::Kind::not_begun;
    answer.message = fmt::format("fork: {}", std::strerror(errno));
  } else {
    await(pid);
    int status = 0;
    rusage spent{};
    while (wait4(pid, &status, 0, &spent) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;  // it answered itself
    answer = answer_for_death(status, spent, order->cpu_seconds);
  }
  send_frame(worker_channel,
             {static_cast<std::uint32_t>(CompileMessage::answer), frame.id, pack(answer), {}},
             deadline_in(reply_seconds));
}

struct Confinement {
  int landlock = 0;
  bool seccomp = false, limits = false;
};

// Tries the confinement once in a child, so that the hello tells what children will have.
Confinement probe_confinement(const Nvrtc& nvrtc) {
  int ends[2];
  Confinement probe;
  if (pipe(ends) != 0) return probe;
  const pid_t pid = fork();
  if (pid == 0) {
    const SandboxState state = confine(nvrtc, 5);
    probe = {state.landlock, state.seccomp, state.limits};
    const ssize_t written = write(ends[1], &probe, sizeof probe);
    _exit(written == sizeof probe ? 0 : 1);
  }
  close(ends[1]);
  if (read(ends[0], &probe, sizeof probe) != sizeof probe) probe = {};
  close(ends[0]);
  if (pid > 0) waitpid(pid, nullptr, 0);
  return probe;
}

// Has this process do once what every child would do again. Only at the first request: a server
// that is never asked is spared it. On a thread, which has an arena of its own: what it leaves
// there, the children would have to copy page by page before they reuse it; new memory comes to
// them in large pages.
void warm_up(const Nvrtc& nvrtc) {
  CompileRequest warm;
  warm.text = "extern \"C\" __global__ void warm(float* x) { x[threadIdx.x] += 1.0f; }";
  warm.arch = "sm_90";
  try {
    std::thread([&] { nvrtc.compile(warm, standard_compile_options(warm)); }).join();
  } catch (const std::system_error&) {
    return;  // no thread to be had: each child begins cold
  }
  use_large_pages(nvrtc.path());
}

SandboxState hello(const Nvrtc& nvrtc) {
  SandboxState state;
  state.compiler_path = nvrtc.path();
  if (!nvrtc.found()) return state;
  state.compiler = nvrtc.compiler();
  state.compiler_digest = nvrtc.digest();
  const Confinement probe = probe_confinement(nvrtc);
  state.landlock = probe.landlock;
  state.seccomp = probe.seccomp;
  state.limits = probe.limits;
  return state;
}

}  // namespace

int serve_compiles() {
  const Nvrtc nvrtc;
  const SandboxState state = hello(nvrtc);
  clearenv();
  send_frame(worker_channel,
             {static_cast<std::uint32_t>(CompileMessage::hello), 0, pack(state), {}},
             deadline_in(reply_seconds));
  if (!nvrtc.found()) return 4;
  for (bool warm = false;; warm = true) {
    const auto received = receive_frame(worker_channel, deadline_in(365.0 * 86400));
    const Frame* frame = std::get_if<Frame>(&received);
    if (frame == nullptr) return 0;
    if (frame->type != static_cast<std::uint32_t>(CompileMessage::request)) return 2;
    if (!warm) warm_up(nvrtc);
    serve_one(nvrtc, *frame);
  }
}

}  // namespace cupilot
