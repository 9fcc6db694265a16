// A template: a tunable .cu with declared parameters, domains, restrictions and launch. Built-in
// and user templates are treated alike. File format: docs/formats/tunable.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

using NamedExprs = std::vector<std::pair<std::string, Expr>>;

// Terms of a template's model. Units: docs/formats/tunable.md.
enum class ModelTerm {
  blocks,
  threads,
  registers,
  shared_bytes,
  resident,
  items,
  rounds,
  math,
  issue,
  shared,
  fill,
  chain,
  latency,
  ahead,
  pace,
  ends,
  start,
  l2,
  dram,
  launches
};
inline constexpr std::size_t model_term_count = 20;
std::string_view name_of(ModelTerm term);

// Weights that join the terms of a model into a time: docs/formats/time-model.md. Exponents are of
// norms.
struct JoinWeights {
  double pipes = 4;         // exponent: pipes of an SM
  double waits = 3;         // exponent: a block's own waits and the other blocks' work
  double memory = 5;        // exponent: SMs, L2 and DRAM
  double alone = 0;         // share of a round that a block's own waits cannot overlap
  double slack = 0;         // issue slots lost by a scheduler with one warp to choose from
  double ring = 0;          // 1: rounds are paced by a ring of stages
  double own = 0;           // share of a round's own work in a stage's way around the ring
  double clock = 0;         // share of the clock lost where the multiply pipe never idles
  double l2 = 1, dram = 1;  // shares of the device's rates
  double further = 0.4;     // cost of each further launch, as a share of the first
};

// A setting's needs of each resource.
struct TunableModel {
  NamedExprs let{};
  std::array<std::optional<Expr>, model_term_count> terms{};  // by ModelTerm
  NamedExprs traits{};
  JoinWeights join{};
  std::map<std::string, std::int64_t> weights{};  // weight.NAME
  std::map<std::string, double> trait_factors{};  // default: 1
};

struct Tunable {
  std::string name{};    // "gemm_simt"
  std::string family{};  // tasks it can serve
  // "map" or "row_reduction": it serves any task whose graph has this form, once its hooks were
  // generated (version 2); "": the tasks of its family.
  std::string anchor{};
  std::string summary{};
  std::vector<std::string>
      provides{};  // Techniques that it realises without a parameter ("simt_core", "mma_core" …).
  // Techniques that a strategy must hold for this template: its skeleton.
  std::vector<std::string> requires_techniques{};
  // Conditions on the task over its constants, elem.T and class.NAME (0/1): all must be non-zero.
  std::vector<Expr> when{};
  std::vector<TunableParameter> parameters{};
  // Definitions for restrictions, registers, plan and model.
  NamedExprs let{};
  std::map<std::string, int> lines{};  // lines of "let.NAME", "model.KEY" … in the file
  // Conditions on a setting over constants, task constants, elem.T and dev.*: all must be non-zero.
  std::vector<Expr> restrictions{};
  Expr registers = 0;  // estimate per thread, checked before compiling; 0: unknown
  LaunchPlan plan{};   // its `let` holds what it uses of the header's
  std::optional<TunableModel> model{};
  std::string text{};  // CUDA C++ below the header
  std::string file{};
  // Headers of its family, which the text may include beside kernels/device; null: none.
  std::shared_ptr<const DeviceHeaders> headers{};
};

Result<Tunable> parse_tunable(std::string_view text, const std::string& file);
// Reads a file and the model.json beside it, where there is one.
Result<Tunable> load_tunable(const std::string& path);

// Gives a tunable's model its fitted numbers from a model.json (docs/formats/tunable.md). `file` is
// the origin that errors name; an empty text stands for a missing file. Error: usage.
Result<void> set_model_weights(Tunable& tunable, std::string_view json, const std::string& file);

// The built-in templates, embedded in the library.
const std::vector<Tunable>& builtin_tunables();

// True if it can serve the task (family and `when`).
bool serves(const Tunable& tunable, const Task& task);

}  // namespace cupilot
CUPILOT_EXPORTS_END
