// Keeps the results of searches in one file: proved kernels by task, device and shape. Dispatchers
// are generated from it. File format: docs/formats/wisdom.md. Any thread; nothing here keeps state.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/parts/measurement.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct WisdomKernel {
  std::string name{};  // "gemm_wgmma_1": an identifier, unique in its entry
  std::string kernel_id{};
  std::string strategy{};  // describe()
  KernelSource source{};
  std::string arch{}, compiler{};
  std::vector<std::pair<std::string, std::string>> entries{};  // names in the plan and in the cubin
  std::vector<std::uint8_t> image{};                           // cubin
};

// One shape of the portfolio with each kernel's time in microseconds, cold L2; 0: the kernel does
// not serve this shape or was not proved at it.
struct WisdomShape {
  Workload workload{};
  std::vector<double> times_us{};  // by kernel
  std::vector<Baseline> baselines{};
};

// A portfolio: the best kernels for one task on one device.
struct WisdomEntry {
  Task task{};  // its time shapes are the portfolio's
  std::vector<std::string> task_words{};
  std::string device{}, device_label{};  // Backend::identity(), "NVIDIA H200"
  int compute_major = 0, compute_minor = 0;
  Provenance provenance = Provenance::modelled;
  std::vector<WisdomKernel> kernels{};
  std::vector<WisdomShape> shapes{};
  int fallback = -1;  // index of a kernel without conditions on its sizes; -1: none
  double regret =
      0;  // Weighted mean over shapes of (time of the best kept / time of the best found) - 1.
};

struct Wisdom {
  std::vector<WisdomEntry> entries{};
};

// True if both entries are for one task, time shapes aside.
bool same_task(const WisdomEntry& a, const WisdomEntry& b);
// Replaces the entry of the same task, device and provenance, or appends.
void remember(Wisdom& wisdom, WisdomEntry entry);

Result<Wisdom> wisdom_from_json(std::string_view json, const std::string& origin);
std::string wisdom_to_json(const Wisdom& wisdom);
// A missing file reads as empty. Errors name the file.
Result<Wisdom> load_wisdom(const std::string& path);
Result<void> save_wisdom(const Wisdom& wisdom, const std::string& path);
// Reads the file, adds the entry as remember() does and writes it, while "PATH.lock" is held:
// searches that end at the same time keep each other's entries. Error: another process holds the
// lock for too long.
Result<void> remember_in(const std::string& path, WisdomEntry entry);

struct PortfolioOptions {
  // max_evaluations and max_seconds are for all shapes together; run_dir gets one run per shape
  EvolveOptions evolve{};
  int keep = 0;  // limit of kernels, the fallback aside; 0: as few as reach `regret`
  double regret = 0.02;
};
// Runs one search per time shape of the task, with budgets by weight; proves and times every kernel
// found at every shape that it serves, interleaved; keeps the few that serve all shapes best, more
// than `keep` where a shape would have none. Continues earlier searches of the same shapes in the
// run directory. Errors as evolve(), and budget when a search was stopped before it had a kernel.
Result<WisdomEntry> evolve_portfolio(const Task& task, Backend& backend,
                                     const PortfolioOptions& options);

// Chooses the kernels with the least mean regret: at most `keep` (0: no limit), and no more than
// reach `goal`. times[kernel][shape] in microseconds, 0: cannot serve; weights by shape. Exact up
// to 16 kernels, greedy beyond.
struct KernelChoice {
  std::vector<int> kernels{};  // ascending
  double regret = 0;           // HUGE_VAL where a shape is left without a kernel
};
KernelChoice choose_kernels(const std::vector<std::vector<double>>& times,
                            const std::vector<double>& weights, int keep, double goal);

// Generates files that need cupilot/runtime.hpp and no toolkit: NAME.hpp (a class `NAME` with
// `launch(sizes…, tensors…, stream)`), and main.cpp, which launches it for given sizes and
// prints its time (needs cuda.h). `entries`: one task on one or several devices; the entry of the
// device found at run time serves. Error usage: an entry is of another task or holds no cubin.
struct GeneratedFile {
  std::string name{}, text{};
};
Result<std::vector<GeneratedFile>> dispatcher_files(const std::vector<WisdomEntry>& entries,
                                                    const std::string& name);

// Reads shapes, one per line: "m=4096 n=4096 k=4096 [weight=2]"; # begins a comment. `axes`: the
// allowed names. Errors name the line.
Result<std::vector<Workload>> shapes_from_text(std::string_view text, const std::string& origin,
                                               const std::vector<std::string>& axes);

}  // namespace cupilot
CUPILOT_EXPORTS_END
