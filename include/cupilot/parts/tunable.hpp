// A template: a tunable .cu with declared parameters, domains, restrictions and launch. Ours and a
// user's take the same path. File form: docs/formats/tunable.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/parts/launch_plan.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct TunableParameter {
  std::string constant{};   // its name in the kernel text: "BM"
  std::string name{};       // vocabulary name: "block_m"
  std::string technique{};  // the technique it belongs to; "" for the template's own knob
  std::vector<std::int64_t> domain{};
  std::int64_t plain = 0;  // value when the technique is not used
};

// Texts of device headers by name ("ring.cuh").
using DeviceHeaders = std::map<std::string, std::string>;

struct Tunable {
  std::string name{};    // "gemm_simt"
  std::string family{};  // tasks it can serve
  std::string summary{};
  std::vector<std::string>
      provides{};  // techniques it realises without a parameter ("simt_core", "mma_core" …)
  std::vector<std::string>
      requires_techniques{};  // techniques a strategy must hold for this template: its skeleton
  std::vector<Expr> when{};   // over task constants, elem.T, class.NAME (0/1): whether it can serve
                              // the task at all
  std::vector<TunableParameter> parameters{};
  std::vector<Expr>
      restrictions{};  // over constants, task constants, elem.T, dev.*: all must be non-zero
  Expr registers = 0;  // estimate a thread, checked before compiling; 0: unknown
  LaunchPlan plan{};
  std::string text{};  // CUDA C++ below the header
  std::string file{};
  // Headers of its family, which the text may include beside kernels/device; null: none.
  std::shared_ptr<const DeviceHeaders> headers{};
};

Result<Tunable> parse_tunable(std::string_view text, const std::string& file);
Result<Tunable> load_tunable(const std::string& path);

// The built-in templates, embedded in the library.
const std::vector<Tunable>& builtin_tunables();

// Whether it can serve the task (family and `when`).
bool serves(const Tunable& tunable, const Task& task);

}  // namespace cupilot
CUPILOT_EXPORTS_END
