// Lists the parts that this machine has, and the cost of each lack. Libraries are opened in a
// worker process, never here.
#include <algorithm>

#include <fmt/core.h>

#include <cupilot/backend.hpp>

#include "backend/compile/pool.hpp"
#include "backend/cuda/device.hpp"
#include "backend/wire/orders.hpp"
#include "backend/worker/mps.hpp"
#include "backend/worker/probe.hpp"
#include "backend/worker/process.hpp"
#include "ptx/machine/exclusions.hpp"

namespace cupilot {
namespace {

Finding finding(std::string name, bool present, std::string detail, std::string cost) {
  return {std::move(name), present, std::move(detail), present ? std::string() : std::move(cost)};
}

// The first frame of a worker in the given role, or why there is none.
std::variant<std::string, std::string> greeting(const std::string& worker,
                                                std::vector<std::string> arguments) {
  auto process =
      Process::start({worker, std::move(arguments), worker_environment(WorkerKind::device)});
  if (!process)
    return std::variant<std::string, std::string>(std::in_place_index<1>, process.error().message);
  auto received = receive_frame(process->channel(), deadline_in(30));
  if (auto* frame = std::get_if<Frame>(&received))
    return std::variant<std::string, std::string>(std::in_place_index<0>, std::move(frame->body));
  const Ending ending = process->kill();
  return std::variant<std::string, std::string>(
      std::in_place_index<1>, fmt::format("{}: {}", describe(ending), process->output()));
}

void compiler_findings(const BackendOptions& options, std::vector<Finding>& found) {
  BackendOptions one = options;
  one.compile_jobs = 1;
  const auto pool = CompilePool::open(one);
  const SandboxState state = pool ? (*pool)->sandbox() : SandboxState{};
  found.push_back(
      finding("nvrtc", static_cast<bool>(pool),
              pool ? state.compiler + " at " + state.compiler_path : pool.error().message,
              "no kernel can be compiled; nothing works but recorded and fake devices"));
  const auto add = [&](const char* name, bool present, std::string detail, std::string lack,
                       const char* cost) {
    found.push_back(finding(name, present, present ? std::move(detail) : std::move(lack), cost));
  };
  CompileRequest ptx;
  ptx.text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
  ptx.arch = "sm_80";
  ptx.is_ptx = true;
  const auto assembled =
      pool ? (*pool)->compile(ptx) : Attempt<CompileOutput>(Error{ErrorCode::toolchain, "", ""});
  add("nvjitlink", static_cast<bool>(assembled), assembled ? assembled->compiler : "",
      assembled.is_error()      ? assembled.error().message
      : assembled.is_rejected() ? assembled.rejected().message
                                : "",
      "kernels in PTX run on virtual devices alone");
  const std::string unused = pool ? (*pool)->cache_unused() : "no compiler";
  add("compile cache", !options.compile_cache.empty() && unused.empty(), options.compile_cache,
      options.compile_cache.empty() ? "none named" : unused,
      "what was compiled before is compiled again");
  add("landlock", state.landlock > 0,
      fmt::format(
          "ABI {}: the compiler reads libraries and the toolkit's headers and writes nothing",
          state.landlock),
      "this kernel offers none: it takes Linux 5.13 with landlock among its security modules",
      "sources that say include are refused, and a compromised compiler may read this user's "
      "files");
  add("seccomp", state.seccomp,
      "the compiler may not connect, start programs, signal, debug or change limits",
      "this kernel or container refuses filters",
      "a compromised compiler may make any system call");
  add("rlimits", state.limits,
      "4 GiB of memory, 20 s of processor time and 64 MiB a file for each compile",
      "limits of a process could not be lowered", "a hostile source may exhaust this machine");
}

void confinement_findings(const DeviceHello& hello, std::vector<Finding>& found) {
  const bool whole = hello.confinement.find("no Landlock") == std::string::npos &&
                     hello.confinement.find("no seccomp") == std::string::npos &&
                     hello.confinement.find("the host's") == std::string::npos;
  found.push_back(
      finding("judge and runner", whole, hello.confinement,
              hello.confinement +
                  ": a kernel that took over its process could reach more of this machine"));
  found.push_back(
      finding("no host reach", hello.pageable_access == 0,
              fmt::format("pageable access {}, host page tables {}", hello.pageable_access,
                          hello.host_page_tables),
              "a kernel may read its process's host memory, which holds nothing secret"));
  found.push_back(finding("no kernel limit", hello.run_time_limit == 0,
                          fmt::format("kernel run-time limit {}", hello.run_time_limit),
                          "the driver ends long kernels: they count as hangs"));
}

void card_findings(const BackendOptions& options, std::vector<Finding>& found) {
  auto device = CudaDevice::open(0, options);
  const auto payload = device ? (*device)->judge(DeviceMessage::conditions, "")
                              : Result<std::string>(device.error());
  const auto card = payload ? unpack_conditions(*payload) : std::nullopt;
  const std::string why = !payload ? payload.error().message
                          : card   ? card->note
                                   : "an answer that cannot be read";
  const bool known = card && card->note.empty();
  found.push_back(
      finding("nvml", known,
              known ? fmt::format("SM {} MHz, {} C, {:.0f} W", card->sm_mhz, card->celsius,
                                  card->milliwatts / 1e3)
                    : why,
              "measured times do not tell clocks, throttling or strangers on the card"));
  if (!known) return;
  const int strangers = static_cast<int>(card->processes.size()) - (*device)->processes();
  found.push_back(finding("card to itself", strangers <= 0,
                          fmt::format("{} other processes compute there", std::max(strangers, 0)),
                          "times are taken beside other work, and say so"));
}

void device_findings(const std::string& worker, const BackendOptions& options,
                     std::vector<Finding>& found) {
  const auto body = greeting(worker, {"judge", "0"});
  const auto hello = body.index() == 0 ? unpack_device_hello(std::get<0>(body)) : std::nullopt;
  const std::string silence = body.index() == 1 ? std::get<1>(body) : "";
  const bool library = hello && !hello->library.empty();
  const std::string no_gpu = "kernels are run on the virtual device only, and times are modelled";
  found.push_back(
      finding("libcuda", library,
              library ? fmt::format("driver {} at {}", hello->driver_version, hello->library)
              : hello ? hello->reason
                      : silence,
              no_gpu));
  const bool usable = hello && hello->usable;
  found.push_back(finding("gpu", usable,
                          usable  ? fmt::format("{} ({} of {}), compute {}.{}, {} MiB", hello->name,
                                                "cuda:0", hello->devices, hello->compute_major,
                                                hello->compute_minor, hello->memory_bytes >> 20)
                          : hello ? hello->reason
                                  : silence,
                          no_gpu));
  const std::string sign = mps_sign();
  found.push_back(
      finding("no mps", sign.empty(), sign.empty() ? "no MPS server" : sign,
              "cuda:N is not opened: a kernel's fault would end the server's other clients"));
  if (!usable) return;
  found.push_back(finding("memory handles", hello->sharing == Sharing::vmm,
                          hello->sharing == Sharing::vmm
                              ? "inputs are mapped read-only in the runner"
                              : hello->sharing_note,
                          "inputs are compared after each run instead of being read-only"));
  confinement_findings(*hello, found);
  card_findings(options, found);
}

void library_findings(const std::string& worker, const BackendOptions& options,
                      std::vector<Finding>& found) {
  std::vector<std::string> words{"probe"};
  words.insert(words.end(), options.cudnn.begin(), options.cudnn.end());
  const auto body = greeting(worker, std::move(words));
  const auto libraries = body.index() == 0 ? unpack_probe(std::get<0>(body)) : std::nullopt;
  const auto add = [&](const char* name, const ProbedLibrary& library, const char* cost) {
    found.push_back(finding(name, library.found, library.detail, cost));
  };
  const Probe probe = libraries.value_or(Probe{});
  add("cublaslt", probe.cublaslt, "no library baseline for matrix products");
  const ProbedLibrary unasked{false, "not asked for: CUPILOT_CUDNN names none (a path, or auto)"};
  add("cudnn", options.cudnn.empty() ? unasked : probe.cudnn,
      "no library baseline for convolutions, and no step of programs");
  add("cupti", probe.cupti,
      "no hardware counters: rooflines use the virtual device's counts or analytic work");
}

// "virtual:h200 sm_90a, …"
std::string chips_text() {
  std::string text;
  for (const std::string& name : known_chips()) {
    text += fmt::format("{}virtual:{} {}", text.empty() ? "" : ", ", name, chip(name)->arch);
  }
  return text;
}

}  // namespace

std::vector<Finding> examine_machine(const BackendOptions& options) {
  std::vector<Finding> found;
  found.push_back(finding("interpreter", true,
                          "PTX for sm_80 to sm_90a, but for " + ptx::exclusions_text(), ""));
  found.push_back(finding("chips", true, chips_text(), ""));
  const auto worker = find_worker(options.worker_path);
  found.push_back(finding("worker", static_cast<bool>(worker),
                          worker ? *worker : worker.error().message,
                          "no kernel can be compiled or run"));
  if (!worker) return found;
  compiler_findings(options, found);
  device_findings(*worker, options, found);
  library_findings(*worker, options, found);
  return found;
}

}  // namespace cupilot
