#include "backend/compile/pool.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/core.h>
#include <cupilot/parts/rejection.hpp>

#include "backend/compile/cache.hpp"
#include "backend/compile/protocol.hpp"
#include "backend/worker/process.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"

namespace cupilot {
namespace {

constexpr double hello_seconds = 20;

// Returns the processor seconds that a compile may use of its deadline: the rest is for waiting on
// a busy machine, which is no fault of the source. Limits count whole seconds, and a child that
// dies within its last one passed it.
double processor_seconds(double deadline) { return std::max(2.0, std::floor(deadline * 2 / 3)); }

// The most memory that a server keeps of its last answer for the next.
constexpr std::size_t kept_bytes = 4u << 20;

struct Server {
  Process process;
  SandboxState sandbox;
  std::string memory;
};

Result<Server> start_server(const std::string& worker) {
  std::vector<std::string> environment = worker_environment(WorkerKind::compile);
  // A compile touches tens of MiB: each large page spares 512 faults.
  environment.emplace_back("GLIBC_TUNABLES=glibc.malloc.hugetlb=1");
  auto process = Process::start({worker, {"compile"}, std::move(environment)});
  if (!process) return process.error();
  Server server;
  server.process = std::move(*process);
  auto received = receive_frame(server.process.channel(), deadline_in(hello_seconds));
  const Frame* frame = std::get_if<Frame>(&received);
  const auto state = frame != nullptr ? unpack_hello(frame->body) : std::nullopt;
  if (!state) {
    const Ending ending = server.process.kill();
    if (stop_flags().wanted()) return stopped_error();
    return Error{ErrorCode::failure,
                 fmt::format("{} compile gave no greeting: {}; it wrote: {}", worker,
                             describe(ending), clean_log(server.process.output())),
                 "run it by hand: a shared library may be missing"};
  }
  server.sandbox = *state;
  return server;
}

// Without Landlock an #include could read any file of this user into the log.
bool has_include(std::string_view text) {
  std::string spliced;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && text.substr(i + 1, 1) == "\n") {
      ++i;
    } else if (text[i] == '\\' && text.substr(i + 1, 2) == "\r\n") {
      i += 2;
    } else {
      spliced.push_back(text[i]);
    }
  }
  return spliced.find("include") != std::string::npos || spliced.find("embed") != std::string::npos;
}

constexpr std::size_t first_errors = 7, last_errors = 2, error_bytes = 600;

std::vector<std::string> error_lines(const std::string& log) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    if (line.find("error") != std::string::npos || line.rfind("ptxas fatal", 0) == 0)
      lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

// A line that starts like a diagnostic: "kernel.cu(12): …" -> "kernel.cu:12".
std::string place_of(const std::string& line) {
  const std::size_t close = line.find(')');
  return line.rfind("kernel.cu(", 0) == 0 && close != std::string::npos
             ? "kernel.cu:" + line.substr(10, close - 10)
             : "";
}

// The first and the last lines of a log that say what failed, and the place of the first one.
Rejected compile_error(const CompileAnswer& answer) {
  const std::string& log = answer.output.log;
  const std::vector<std::string> lines = error_lines(log);
  std::string message, where;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (where.empty()) where = place_of(lines[i]);
    const bool hidden = i >= first_errors && i + last_errors < lines.size();
    if (hidden && i == first_errors)
      message += fmt::format("\n[{} more]", lines.size() - first_errors - last_errors);
    if (hidden) continue;
    message += (message.empty() ? "" : "\n") + clean_log(lines[i].substr(0, error_bytes));
  }
  if (message.empty())
    message = answer.message + (log.empty() ? "" : "\n" + clean_log(log.substr(0, 2000)));
  return reject("compile.error", std::move(message), std::move(where));
}

// True if the compiler gave up for lack of memory and could still say so.
bool lacked_memory(const std::string& log) {
  for (const std::string& line : error_lines(log)) {
    if (line.ends_with("): catastrophic error: out of memory")) return true;
  }
  return false;
}

Attempt<CompileOutput> conclude(CompileAnswer answer, const CompileCaps& caps, double deadline) {
  using Kind = CompileAnswer::Kind;
  if (answer.kind == Kind::done && is_too_large(answer.output, caps)) {
    answer.kind = Kind::too_large;
    answer.message = sizes_text(answer.output, caps);
  }
  switch (answer.kind) {
    case Kind::done:
      answer.output.confinement = describe(answer.sandbox);
      return std::move(answer.output);
    case Kind::refused:
      if (!lacked_memory(answer.output.log)) return compile_error(answer);
      [[fallthrough]];
    case Kind::out_of_memory:
      return reject("compile.memory",
                    "the compiler passed its memory limit of 4 GiB: " + answer.message);
    case Kind::crashed:
      return reject("compile.crash", "the compiler died twice on this source: " + answer.message);
    case Kind::out_of_time:
      return reject("compile.timeout",
                    fmt::format("the compiler passed its limit of {} s of processor time",
                                processor_seconds(deadline)));
    case Kind::too_large:
      return reject("compile.output_size", "the compiled image passes its cap: " + answer.message);
    case Kind::no_assembler:
      return Error{ErrorCode::toolchain,
                   "nvJitLink: " + answer.message + "; without it no PTX runs on a device",
                   "install the CUDA toolkit's nvJitLink (13 or 12), or set CUDA_HOME to the "
                   "toolkit's folder"};
    case Kind::not_begun:
      return Error{ErrorCode::failure,
                   "the compile server could start no process: " + answer.message,
                   "raise the limit on processes (ulimit -u) or free memory, then resume"};
  }
  return Error{ErrorCode::failure, "a compile answer of an unknown kind", ""};
}

constexpr int look_ms = 20;  // between looks at the flags that stop a wait

// One server's answer to a request. `again`: the machine may have caused it (a process killed or
// stopped from outside, a fork refused), so a fresh server is asked before the source is blamed.
struct Tried {
  Attempt<CompileOutput> outcome;
  bool again = false;
};

}  // namespace

CompileCaps candidate_caps(std::size_t kernels) {
  const CompileCaps one;
  kernels = std::max<std::size_t>(kernels, 1);
  return {std::min(kernels * one.source, own_caps.source),
          std::min(kernels * one.ptx, own_caps.ptx), std::min(kernels * one.cubin, own_caps.cubin),
          static_cast<int>(std::min<std::size_t>(1 + kernels / 4, own_caps.deadlines))};
}

std::vector<std::string> standard_compile_options(const CompileRequest& request) {
  std::string arch = request.arch;
  if (request.ptx_only && arch.rfind("sm_", 0) == 0) arch = "compute_" + arch.substr(3);
  std::vector<std::string> options{"--gpu-architecture=" + arch, "--std=c++17", "-lineinfo",
                                   "--no-cache"};
  if (!request.ptx_only) options.emplace_back("--ptxas-options=-v");
  options.insert(options.end(), request.options.begin(), request.options.end());
  return options;
}

Error reference_not_compiled(const std::string& reference, const Rejected& why, bool of_graph) {
  const bool unread = why.code == "compile.crash" || why.code == "compile.timeout";
  return {
      unread ? ErrorCode::failure : ErrorCode::usage,
      fmt::format("{}: {}{}{}", reference, why.message, why.where.empty() ? "" : " at ", why.where),
      (unread ? "try again when the machine is less busy; if it stays, " : "") +
          std::string(of_graph ? "state the graph as several smaller tasks"
                      : unread ? "simplify the reference text"
                               : "correct the reference text")};
}

struct CompilePool::State {
  std::string worker;
  double seconds = 30;
  int jobs = 1;
  SandboxState sandbox;
  CompileCache cache;
  std::mutex mutex, keeping;
  std::condition_variable free;
  std::vector<Server> idle;
  int busy = 0;
  std::uint64_t next_id = 1;

  // A slot of the pool: an idle server, or a new one.
  Result<Server> acquire(bool fresh) {
    std::unique_lock lock(mutex);
    {
      const Phase phase(waiting_for_compiler, PhaseCpu::of_phase_around);
      const auto is_free = [&] { return busy < jobs; };
      do {
        if (stop_flags().wanted()) return stopped_error();
      } while (!free.wait_for(lock, std::chrono::milliseconds(look_ms), is_free));
    }
    ++busy;
    if (!fresh && !idle.empty()) {
      Server server = std::move(idle.back());
      idle.pop_back();
      return server;
    }
    lock.unlock();
    auto server = start_server(worker);
    if (!server) release(std::nullopt);
    return server;
  }

  void release(std::optional<Server> server) {
    const std::lock_guard lock(mutex);
    --busy;
    if (server) idle.push_back(std::move(*server));
    free.notify_one();
  }

  // One order to a server; nullopt when the server must not be used again.
  std::optional<CompileAnswer> ask(Server& server, const CompileOrder& order, double seconds,
                                   FrameFailure& failure) {
    Frame frame{static_cast<std::uint32_t>(CompileMessage::request), 0, pack(order), {}};
    {
      const std::lock_guard lock(mutex);
      frame.id = next_id++;
    }
    const Deadline deadline = deadline_in(seconds);
    auto sent = send_frame(server.process.channel(), frame, deadline);
    if (auto* failed = std::get_if<FrameFailure>(&sent)) {
      failure = *failed;
      return std::nullopt;
    }
    auto received =
        receive_frame(server.process.channel(), deadline, frame_body_cap, std::move(server.memory));
    if (auto* failed = std::get_if<FrameFailure>(&received)) {
      failure = *failed;
      return std::nullopt;
    }
    Frame& reply = std::get<Frame>(received);
    auto answer = unpack_answer(reply.body);
    server.memory = reply.body.capacity() <= kept_bytes ? std::move(reply.body) : std::string();
    if (!answer || reply.id != frame.id ||
        reply.type != static_cast<std::uint32_t>(CompileMessage::answer)) {
      failure = {FrameFailure::Kind::malformed, "an answer that fits no request"};
      return std::nullopt;
    }
    return answer;
  }

  double seconds_of(const CompileCaps& caps) const { return seconds * caps.deadlines; }

  void keep(const CompileOrder& order, const CompileAnswer& answer) {
    if (order.request.is_ptx) return;
    const std::lock_guard lock(keeping);
    cache.keep(order, answer);
  }

  // Asks one server, a fresh one on demand.
  Tried attempt(const CompileOrder& order, bool fresh) {
    using Kind = CompileAnswer::Kind;
    auto server = acquire(fresh);
    if (!server) return {server.error()};
    FrameFailure failure;
    const CompileCaps& caps = order.request.caps;
    const double seconds = seconds_of(caps);
    auto answer = ask(*server, order, seconds, failure);
    if (answer) {
      keep(order, *answer);
      const bool again = answer->kind == Kind::crashed || answer->kind == Kind::not_begun;
      if (again) server->process.kill();
      release(again ? std::nullopt : std::optional(std::move(*server)));
      return {conclude(std::move(*answer), caps, seconds), again};
    }
    const Ending ending = server->process.kill();
    release(std::nullopt);
    if (stop_flags().wanted()) return {stopped_error()};
    if (failure.kind == FrameFailure::Kind::timeout) {
      return {reject("compile.timeout",
                     fmt::format("compiling passed its deadline of {} s twice", seconds)),
              true};
    }
    return {reject("compile.crash",
                   fmt::format("two compile processes fell silent on this source: {} ({})",
                               failure.message, describe(ending))),
            true};
  }
};

CompilePool::CompilePool(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompilePool::~CompilePool() = default;
int CompilePool::jobs() const { return state_->jobs; }
const SandboxState& CompilePool::sandbox() const { return state_->sandbox; }
const std::string& CompilePool::cache_unused() const { return state_->cache.unused(); }

Result<std::unique_ptr<CompilePool>> CompilePool::open(const BackendOptions& options) {
  auto worker = find_worker(options.worker_path);
  if (!worker) return worker.error();
  auto state = std::make_unique<State>();
  state->worker = *worker;
  state->seconds = options.compile_seconds;
  state->jobs = options.compile_jobs > 0
                    ? options.compile_jobs
                    : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  auto server = start_server(*worker);
  if (!server) return std::move(server.error()).while_doing("opening the compiler");
  if (server->sandbox.compiler.empty()) {
    return Error{
        ErrorCode::toolchain,
        "NVRTC: " + server->sandbox.compiler_path + "; without it no kernel can be compiled",
        "install the CUDA toolkit's NVRTC (13 or 12), or set CUDA_HOME to the toolkit's folder"};
  }
  state->sandbox = server->sandbox;
  state->cache = CompileCache::open(options.compile_cache, state->sandbox.compiler_digest);
  state->idle.push_back(std::move(*server));
  return std::unique_ptr<CompilePool>(new CompilePool(std::move(state)));
}

Attempt<CompileOutput> CompilePool::compile(CompileRequest request) {
  const CompileCaps caps = request.caps;
  const double seconds = state_->seconds_of(caps);
  if (!request.is_ptx && request.text.size() > caps.source) {
    return reject("gate.source_size",
                  fmt::format("the source has {} bytes, at most {} are compiled",
                              request.text.size(), caps.source));
  }
  if (!request.is_ptx && state_->sandbox.landlock == 0 && has_include(request.text)) {
    return reject("gate.include",
                  "this machine has no Landlock, so a source that says include is not compiled");
  }
  CompileOrder order{std::move(request), {}, processor_seconds(seconds)};
  order.options = standard_compile_options(order.request);
  if (!order.request.anew && !order.request.is_ptx) {
    if (auto kept = state_->cache.find(order)) return conclude(std::move(*kept), caps, seconds);
  }
  Tried tried = state_->attempt(order, false);
  if (tried.again) {
    const bool source_seen = !tried.outcome.is_error();
    tried = state_->attempt(order, true);
    // One of the two tries never reached the source: only a third tells what it does.
    if (tried.again && source_seen == tried.outcome.is_error())
      tried = state_->attempt(order, true);
  }
  return std::move(tried.outcome);
}

}  // namespace cupilot
