// Concludes a verification from the reports of a battery.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/verification.hpp>
#include <optional>

#include "task/extents.hpp"
#include "task/index_gap.hpp"
#include "verify/left_out.hpp"
#include "verify/plan_steps.hpp"
#include "verify/shown.hpp"

namespace cupilot {
namespace {

// "m=5, at most 4 in the task": sizes beyond those that the task names.
std::string beyond_text(const Task& task, const Case& run) {
  std::string out;
  for (const auto& [axis, size] : run.workload.sizes) {
    const std::int64_t most = largest_size(task, axis);
    if (size > most) out += fmt::format("{}{}={}", out.empty() ? "" : ", ", axis, most);
  }
  return out.empty() || task.time_shapes.empty()
             ? ""
             : fmt::format(" (the task's largest: {}; `require` leaves larger ones out)", out);
}

std::string described(const Task& task, const Case& run) {
  const std::string out = sizes_text(run.workload);
  const Content& content = run.content;
  const std::string varied =
      content.variation == Variation::none ? "" : fmt::format(" ({})", name_of(content.variation));
  const std::string held = content.held == 0 ? "" : fmt::format(" with {:.9g} in it", content.held);
  return fmt::format("{}{}, {} content{}{}, seed {}{}", out,
                     run.sampled ? " (some blocks of the grid)" : "", name_of(content.kind), varied,
                     held, content.seed, beyond_text(task, run));
}

bool is_known(const std::string& code) {
  const auto codes = rejection_codes();
  return std::any_of(codes.begin(), codes.end(),
                     [&](const RejectionCode& row) { return row.code == code; });
}

// " (and 2 more, among them run.race: …)": names a fault of another kind than the first, if any.
std::string others_of(const CaseReport& report) {
  if (report.faults.size() < 2) return "";
  std::string text = fmt::format(" (and {} more", report.faults.size() - 1);
  for (std::size_t i = 1; i < report.faults.size(); ++i) {
    const Fault& other = report.faults[i];
    if (other.code == report.faults[0].code) continue;
    text += fmt::format(", among them {}: {}", other.code, other.message);
    break;
  }
  return text + ")";
}

Rejected from_fault(const Task& task, const CaseReport& report) {
  const Fault& fault = report.faults.front();
  const std::string message =
      fmt::format("{}{}; shape {}", fault.message, others_of(report), described(task, report.what));
  if (is_known(fault.code)) return reject(fault.code, message, fault.where);
  return reject("run.crash", fmt::format("{}: {}", fault.code, message), fault.where);
}

// An error that lost significand bits would explain: seen by a probe, small against the value.
bool looks_like_lost_bits(const CaseReport& report, const OutputReport& output) {
  const double error = std::abs(output.got - output.want);
  return report.what.content.kind == ContentKind::probe && error > 0 &&
         error <= 0x1p-7 * std::abs(output.want);
}

// True for an output of 16 bits whose kernel might have meant to add and multiply in them.
bool might_be_coarse(const Tensor* tensor) {
  return tensor != nullptr && tensor->check.kind == CheckKind::within &&
         tensor->check.arithmetic == DType::f32 &&
         (tensor->type == DType::f16 || tensor->type == DType::bf16);
}

std::optional<Rejected> wrong_output(const Task& task, const CaseReport& report,
                                     const OutputReport& output) {
  const std::string shape = described(task, report.what);
  const std::string where =
      element_name(task, output.tensor, report.what.workload, output.worst_index);
  if (output.never_written > 0) {
    return reject("verify.never_written",
                  fmt::format("{} of {} elements of {} were never written; shape {}",
                              output.never_written, output.elements, output.tensor, shape),
                  where);
  }
  // Written so that a NaN ratio fails.
  if (output.failed > 0 || !(output.worst_ratio <= 1.0)) {
    const Tensor* tensor = find_tensor(task, output.tensor);
    const bool exact = tensor != nullptr && (tensor->check.kind == CheckKind::bitwise ||
                                             tensor->check.kind == CheckKind::index_of);
    const char* code = exact                                  ? "verify.mismatch"
                       : looks_like_lost_bits(report, output) ? "verify.precision"
                                                              : "verify.bound";
    return reject(
        code,
        fmt::format("{} of {} compared elements are wrong; worst {}: got {:.9g}, want "
                    "{:.9g}, allowed error {:.3g}{}; shape {}",
                    output.failed, output.compared, where, output.got, output.want, output.bound,
                    might_be_coarse(tensor) ? " by fp32 arithmetic" : "", shape),
        where);
  }
  if (output.compared <= 0 && output.elements > 0) {
    return reject("run.crash",
                  fmt::format("no element of {} was compared; shape {}", output.tensor, shape),
                  where);
  }
  return std::nullopt;
}

// Every output of the task must be reported: a silent one proves nothing.
std::optional<Rejected> missing_output(const Task& task, const CaseReport& report) {
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role != Role::out && tensor.role != Role::in_out) continue;
    const bool there =
        std::any_of(report.outputs.begin(), report.outputs.end(),
                    [&](const OutputReport& output) { return output.tensor == tensor.name; });
    if (!there)
      return reject("run.crash", fmt::format("the run said nothing of output {}; shape {}",
                                             tensor.name, described(task, report.what)));
  }
  return std::nullopt;
}

// Names the cause of a wrong output where it is known: an undefined or an older value that goes
// into it.
void name_cause(const CaseReport& report, const OutputReport& output, Rejected& wrong) {
  const auto find = [&](const char* code, const std::string& message) -> const Fault* {
    for (const Fault& remark : report.remarks) {
      if (remark.code == code && (message.empty() || remark.message == message)) return &remark;
    }
    return nullptr;
  };
  const Fault* undefined = find("undefined_value", "");
  const Fault* taken = undefined != nullptr ? undefined : find("older_value", "");
  if (taken == nullptr || find("spoiled_output", output.tensor) == nullptr) return;
  wrong.message = fmt::format("{} goes into {}: {}; {}",
                              undefined != nullptr ? "an undefined value" : "an older value",
                              wrong.where, taken->message, wrong.message);
  wrong.where = taken->where;
}

std::optional<Rejected> wrong_case(const Task& task, const CaseReport& report) {
  if (!report.faults.empty()) return from_fault(task, report);
  if (auto missing = missing_output(task, report); missing && !report.what.sampled) return missing;
  for (const OutputReport& output : report.outputs) {
    if (auto wrong = wrong_output(task, report, output)) {
      name_cause(report, output, *wrong);
      return wrong;
    }
  }
  return std::nullopt;
}

bool is_at(const CaseReport& report, const Workload& shape) {
  return !report.not_for_this_shape && shape.sizes == report.what.workload.sizes;
}

// "rows 1024, cols 4096": the largest sizes met of those that the task names.
std::string largest_met(const Task& task, const TrialReport& report) {
  std::string out;
  for (const Axis& axis : task.axes) {
    if (axis.kind == AxisKind::fixed) continue;
    std::int64_t most = 0;
    for (const CaseReport& done : report.cases) {
      const auto size = done.what.workload.sizes.find(axis.name);
      if (!done.not_for_this_shape && size != done.what.workload.sizes.end())
        most = std::max(most, size->second);
    }
    if (!task.time_shapes.empty()) most = std::min(most, largest_size(task, axis.name));
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis.name, most);
  }
  return out;
}

// Says which time shapes ran, and how.
void say_sizes(const Task& task, const TrialReport& report, Verification& out) {
  bool all = true;
  for (const Workload& shape : task.time_shapes) {
    const auto ran = [&](bool sampled) {
      return std::any_of(report.cases.begin(), report.cases.end(), [&](const CaseReport& done) {
        return done.what.sampled == sampled && is_at(done, shape);
      });
    };
    if (ran(false)) continue;
    all &= ran(true);
    out.sampled |= ran(true);
  }
  if (!all) out.up_to = largest_met(task, report);
  out.sampled &= all;
  out.full_size = shapes_left(task, report.cases).empty();
}

// Integer results are exact whatever floating instructions stand beside them.
std::optional<Rejected> lower_class(const Task& task, const CompiledKernel& kernel) {
  if (task.precision == Precision::integer || satisfies(kernel.facts.ceiling, task.precision))
    return std::nullopt;
  return reject("gate.precision",
                fmt::format("the arithmetic is at best {}; the task asks for {}",
                            name_of(kernel.facts.ceiling), name_of(task.precision)));
}

// True if rounding may choose the output's indices: those of an extreme of computed values.
bool rounding_chooses(const Task& task, const std::string& output) {
  const auto found = std::find_if(task.tensors.begin(), task.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == output; });
  return found != task.tensors.end() &&
         index_gap_task(task, static_cast<std::size_t>(found - task.tensors.begin())).has_value();
}

// Repeats with other bits where the task forbids them, and outputs that did not follow a change of
// the inputs.
std::optional<Rejected> wrong_again(const Task& task, const CaseReport& report) {
  for (const OutputReport& output : report.outputs) {
    if (task.deterministic && output.repeat_differs > 0) {
      return reject("verify.nondeterministic",
                    fmt::format("{} of {} elements of {} had other bits in {} equal runs; shape {}",
                                output.repeat_differs, output.elements, output.tensor,
                                report.repeats_done, described(task, report.what)),
                    output.tensor);
    }
    // Arithmetic on fp32 and wider knows no scale; narrower types round at the ends of their range.
    const bool wide = task.precision == Precision::fp32_strict || task.precision == Precision::fp64;
    const bool scaled = report.related && report.what.content.variation == Variation::scaled;
    if (wide && scaled && output.relation_differs > 0 && !rounding_chooses(task, output.tensor)) {
      return reject("verify.relation",
                    fmt::format("{} of {} elements of {} did not follow an input doubled, as the "
                                "reference does bit by bit; shape {}",
                                output.relation_differs, output.elements, output.tensor,
                                described(task, report.what)),
                    output.tensor);
    }
  }
  return std::nullopt;
}

// The contract's class against what the values of one term kept.
std::optional<Rejected> lower_than_shown(const Task& task, const TrialReport& report) {
  for (const CaseReport& done : report.cases) {
    for (const OutputReport& output : done.outputs) {
      if (output.one_term_inexact == 0 || output.one_term_error <= one_term_error_of(task))
        continue;
      return reject("verify.precision",
                    fmt::format("{} of {} values of {} that are one term lost bits, up to {:.3g} "
                                "relative; {} allows {:.3g}; shape {}",
                                output.one_term_inexact, output.one_term, output.tensor,
                                output.one_term_error, name_of(task.precision),
                                one_term_error_of(task), described(task, done.what)),
                    output.tensor);
    }
  }
  return std::nullopt;
}

}  // namespace

Attempt<Verification> conclude(const Task& task, const CompiledKernel& kernel, ProofLevel level,
                               const TrialReport& report) {
  if (auto lower = lower_class(task, kernel)) return *lower;
  if (report.cases.empty()) return reject("run.crash", "the device reported no case");
  Verification out;
  out.level = level;
  bool any = false;
  for (const CaseReport& done : report.cases) {
    if (done.not_for_this_shape) continue;
    any |= !done.what.sampled;  // some blocks alone are no proof
    if (auto wrong = wrong_case(task, done)) return *wrong;
    if (auto strayed = wrong_again(task, done)) return *strayed;
    for (const OutputReport& output : done.outputs) {
      out.worst_ratio = std::max(out.worst_ratio, output.worst_ratio);
      out.compared += output.compared;
    }
  }
  if (!any)
    return reject("verify.no_shape",
                  "the kernel's `require` holds for none of the shapes that were tried");
  if (auto lower = lower_than_shown(task, report)) return *lower;
  out.cases = report.cases;
  out.but_for = excepted_sizes(task, report.left_out);
  say_sizes(task, report, out);
  say_what_was_shown(task, kernel, report, out);
  return out;
}

}  // namespace cupilot
