#include "verify/shown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "task/content.hpp"
#include "task/host_judge.hpp"
#include "verify/left_out.hpp"

namespace cupilot {
namespace {

// The loss that each class allows a value of one term: none when strict; tf32x3 and bf16x6 keep 21
// bits, two bf16 planes 16, single products what one operand's rounding (or truncation) leaves.
struct Kept {
  Precision precision;
  double error;
};
constexpr std::array<Kept, 3> kept = {{{Precision::fp32_strict, 0.0},
                                       {Precision::fp32_emulated, 0x1p-21},
                                       {Precision::bf16x3, 0x1p-15}}};

// True if all floating inputs hold more bits than a class below strict keeps. Narrower ones enter
// products exactly, and their results say nothing of the class.
bool inputs_are_wide(const Task& task) {
  return std::all_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& tensor) {
    return tensor.role == Role::out || unit_roundoff(tensor.type) <= unit_roundoff(DType::f32);
  });
}

struct OneTerm {
  std::int64_t seen = 0, inexact = 0;
  double error = 0;
};

OneTerm one_terms(const Verification& out) {
  OneTerm all;
  for (const CaseReport& done : out.cases) {
    for (const OutputReport& output : done.outputs) {
      all.seen += output.one_term;
      all.inexact += output.one_term_inexact;
      all.error = std::max(all.error, output.one_term_error);
    }
  }
  return all;
}

// The strictest class that instructions allow and values of one term show, never below the
// contract.
Precision class_shown(const Task& task, const CompiledKernel& kernel, const OneTerm& terms) {
  if (terms.seen == 0 || !inputs_are_wide(task)) return task.precision;
  for (const Kept& row : kept) {
    const bool better =
        satisfies(row.precision, task.precision) && satisfies(kernel.facts.ceiling, row.precision);
    if (better && terms.error <= row.error) return row.precision;
  }
  return task.precision;
}

// `judged`: how many of the compared elements no bound was held to.
void say_class(const Task& task, const CompiledKernel& kernel, std::int64_t judged,
               Verification& out) {
  const OneTerm terms = one_terms(out);
  out.proved = class_shown(task, kernel, terms);
  if (terms.seen == 0) {
    out.unproved.push_back(
        fmt::format("class by values: no output is a single unrounded term, so {} rests on the "
                    "{}instructions",
                    name_of(out.proved), judged < out.compared ? "bound and on the " : ""));
    return;
  }
  const std::string lost = terms.inexact == 0 ? "none lost a bit"
                                              : fmt::format("{} lost bits, at most {:.2g} relative",
                                                            terms.inexact, terms.error);
  out.proved_by.push_back(fmt::format("{}: of {} outputs that are one unrounded term {}",
                                      name_of(out.proved), terms.seen, lost));
}

void say_clock(const CompiledKernel& kernel, Verification& out) {
  const std::vector<std::string>& flags = kernel.facts.flags;
  if (std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
        return flag == "%clock" || flag == "%globaltimer";
      }))
    out.unproved.emplace_back(
        "anything at another time: the kernel reads a clock, which counted instructions here");
}

void say_system_memory(const CompiledKernel& kernel, Verification& out) {
  if (kernel.ptx.find("%reserved_smem_offset") != std::string::npos)
    out.unproved.emplace_back(
        "order within the shared memory that the system reserves, which the kernel names by "
        "%reserved_smem_offset: races there are not looked for");
}

void say_determinism(const Task& task, Verification& out) {
  std::int64_t differ = 0;
  std::string judged;  // outputs whose other bits no bound is held to
  for (const CaseReport& done : out.cases) {
    out.repeats += done.repeats_done;
    for (const OutputReport& output : done.outputs) {
      differ += output.repeat_differs;
      const Tensor* tensor = find_tensor(task, output.tensor);
      if (output.repeat_differs > 0 && tensor != nullptr && is_judged_by_host(*tensor))
        judged = output.tensor;
    }
  }
  out.deterministic = out.repeats > 0 && differ == 0;
  if (out.repeats == 0) {
    out.unproved.emplace_back("determinism: no run was repeated");
  } else if (out.deterministic) {
    out.proved_by.push_back(
        fmt::format("{} repeated runs, with other poison and another order of blocks where the "
                    "device allows, gave equal bits",
                    out.repeats));
  } else {
    out.proved_by.push_back(
        fmt::format("not deterministic: {} elements changed bits in {} repeated runs{}", differ,
                    out.repeats, judged.empty() ? ", all within the bound" : ""));
  }
  if (!judged.empty())
    out.unproved.push_back(fmt::format(
        "other bits of {}, which repeated runs gave: its judge saw those of the first run",
        judged));
}

void say_relations(Verification& out) {
  for (const CaseReport& done : out.cases) {
    const Variation variation = done.what.content.variation;
    if (!done.related || variation == Variation::none) continue;
    std::int64_t strays = 0;
    for (const OutputReport& output : done.outputs) strays += output.relation_differs;
    const char* what = variation == Variation::scaled ? "an input doubled scaled the outputs"
                                                      : "exchanged lines exchanged the outputs";
    if (strays == 0) {
      out.proved_by.push_back(fmt::format("{} bit by bit", what));
    } else {
      out.unproved.push_back(
          fmt::format("{} within the bound only: {} elements have other bits", what, strays));
    }
  }
}

// Names the calling program's judges. Returns how many elements they judged.
std::int64_t say_judges(const Task& task, Verification& out) {
  std::int64_t judged = 0;
  for (const Tensor& tensor : task.tensors) {
    if (!is_judged_by_host(tensor)) continue;
    int cases = 0;
    for (const CaseReport& done : out.cases) {
      for (const OutputReport& output : done.outputs) {
        if (output.tensor != tensor.name || output.compared == 0) continue;
        judged += output.compared;
        ++cases;
      }
    }
    out.proved_by.push_back(
        fmt::format("{} was judged right by {}, the calling program's own judge, in {} cases",
                    tensor.name, tensor.check.of, cases));
    out.unproved.push_back(fmt::format(
        "the error of {}: its judge is the calling program's, and no bound of it is known here",
        tensor.name));
  }
  return judged;
}

// True if a case had the bytes of a file as they are, at every place that was run.
bool had_bytes(const Task& task, std::size_t tensor, const CaseReport& done) {
  const Case& what = done.what;
  if (done.not_for_this_shape || what.sampled || what.content.kind != ContentKind::ordinary ||
      what.content.variation != Variation::none)
    return false;
  const auto params = fill_params(task, tensor, what.workload, what.content);
  return params && params->given_whole != 0;
}

// Names files whose bytes no case had as they are, and timed launches that all read the same.
void say_files(const Task& task, Verification& out) {
  bool files = false, changing = false;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    const Tensor& tensor = task.tensors[i];
    if (tensor.role == Role::out) continue;
    const FillKind kind = tensor.fill.kind;
    files |= kind == FillKind::file;
    changing |= kind != FillKind::file && kind != FillKind::zeros && kind != FillKind::ones;
    if (kind != FillKind::file) continue;
    const bool met = std::any_of(out.cases.begin(), out.cases.end(),
                                 [&](const CaseReport& done) { return had_bytes(task, i, done); });
    if (!met)
      out.unproved.push_back(fmt::format(
          "{} with the bytes of {} as they are: values were drawn from them at other shapes",
          tensor.name, std::filesystem::path(tensor.fill.file.path).filename().string()));
  }
  if (files && !changing)
    out.unproved.emplace_back(
        "that each timed launch computes anew: all inputs are files, so that timed launches read "
        "the same content");
}

// Names the kinds of content that the level asks for on every device and the budget or the plan
// left out.
void say_contents(const Task& task, Verification& out) {
  std::array<bool, static_cast<std::size_t>(last_content) + 1> met{};
  constexpr auto last = static_cast<std::size_t>(ContentKind::integers);
  for (const CaseReport& done : out.cases) {
    if (!done.not_for_this_shape) met[static_cast<std::size_t>(done.what.content.kind)] = true;
  }
  std::string missing;
  for (std::size_t kind = 0; kind <= last && out.level != ProofLevel::candidate; ++kind) {
    if (!met[kind])
      missing +=
          fmt::format("{}{}", missing.empty() ? "" : ", ", name_of(static_cast<ContentKind>(kind)));
  }
  if (!missing.empty())
    out.unproved.push_back(fmt::format("content left out by the budget: {}", missing));
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role == Role::out || tensor.fill.values == FillValues::any) continue;
    out.unproved.push_back(
        tensor.fill.values == FillValues::finite
            ? fmt::format("infinities and NaN in {}, which the task leaves out", tensor.name)
            : fmt::format(
                  "values of {} below {} or above {}, which the task leaves out, and zeros, "
                  "equal lines and whole numbers in it",
                  tensor.name, tensor.fill.low, tensor.fill.high));
  }
  say_files(task, out);
  if (!out.full_size) {
    std::string which;  // of several
    const std::vector<Workload> left = shapes_left(task, out.cases);
    for (const Workload& shape : left) {
      if (task.time_shapes.size() < 2) break;
      which += !which.empty() ? "," : left.size() > 1 ? "s" : "";
      for (const auto& [axis, size] : shape.sizes) which += fmt::format(" {}={}", axis, size);
    }
    out.unproved.push_back(fmt::format(
        "the time shape{} in full: proved at smaller shapes{}", which,
        out.sampled ? ", and there on the first, the last and drawn blocks of the grid" : ""));
  }
}

// "PTX lines 12-15, 40": those that never ran.
std::string lines_text(std::vector<std::uint32_t> lines) {
  constexpr std::size_t most = 8;
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::string out;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < lines.size(); ++shown) {
    std::size_t end = i + 1;
    while (end < lines.size() && lines[end] - lines[end - 1] <= 1) ++end;
    if (shown == most) return out + ", ...";
    out += fmt::format("{}{}", shown == 0 ? "" : ", ", lines[i]);
    if (end > i + 1) out += fmt::format("-{}", lines[end - 1]);
    i = end;
  }
  return out;
}

void say_coverage(const TrialReport& report, Verification& out) {
  std::size_t all = 0;
  std::vector<std::uint32_t> missing, once;
  for (const EntryCoverage& entry : report.coverage) {
    all += entry.instructions.size();
    for (const auto& part : entry.instructions) {
      if (part.times == 0) missing.push_back(part.line);
    }
    for (const auto& part : entry.loops) {
      if (part.times < 2) once.push_back(part.line);
    }
  }
  if (all == 0) return;
  const std::size_t ran = all - missing.size();
  if (missing.empty()) {
    out.proved_by.push_back(fmt::format("all {} instructions of its PTX ran", all));
  } else {
    out.unproved.push_back(
        fmt::format("{} of {} instructions of its PTX, which no case reached: "
                    "PTX lines {}",
                    all - ran, all, lines_text(missing)));
  }
  if (!once.empty())
    out.unproved.push_back(
        fmt::format("a third round of loops that end at PTX lines {}: no case "
                    "took one",
                    lines_text(once)));
}

const Fault* first_remark(const Verification& out, std::string_view code) {
  for (const CaseReport& done : out.cases) {
    for (const Fault& remark : done.remarks) {
      if (remark.code == code) return &remark;
    }
  }
  return nullptr;
}

void say_remarks(Verification& out) {
  if (const Fault* same = first_remark(out, "same_value"))
    out.unproved.push_back(
        fmt::format("order of two stores of one value: {} ({})", same->message, same->where));
  if (const Fault* assumed = first_remark(out, "assumed_order"))
    out.unproved.push_back(fmt::format(
        "order by the result of an atomic without an acquire or a fence after it, which "
        "PTX does not promise: the kernel {} ({})",
        assumed->message, assumed->where));
}

void say_excused(Verification& out) {
  std::int64_t excused = 0;
  for (const CaseReport& done : out.cases) {
    for (const OutputReport& output : done.outputs) excused += output.excused;
  }
  if (excused > 0)
    out.unproved.push_back(
        fmt::format("{} elements on denormals, special values and extreme scales, "
                    "where the contract's own type fails too",
                    excused));
}

}  // namespace

std::vector<Workload> shapes_left(const Task& task, const std::vector<CaseReport>& cases) {
  std::vector<Workload> left;
  bool takes_any = false;
  for (const Workload& shape : task.time_shapes) {
    bool full = false, refused = false;
    for (const CaseReport& done : cases) {
      if (done.what.workload.sizes != shape.sizes) continue;
      refused |= done.not_for_this_shape && !done.what.sampled;
      full |= !done.not_for_this_shape && !done.what.sampled &&
              std::all_of(done.outputs.begin(), done.outputs.end(), [](const OutputReport& output) {
                return output.compared == output.elements;
              });
    }
    takes_any |= full;
    if (!full && !refused) left.push_back(shape);
  }
  return takes_any || !left.empty() ? left : task.time_shapes;
}

double one_term_error_of(const Task& task) {
  const bool narrow = std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& one) {
    return one.check.arithmetic != DType::f32;
  });
  if (narrow) return std::numeric_limits<double>::infinity();
  if (task.precision == Precision::fp64 || task.precision == Precision::fp32_strict) return 0;
  for (const Kept& row : kept) {
    if (row.precision == task.precision && inputs_are_wide(task)) return row.error;
  }
  return std::numeric_limits<double>::infinity();
}

void say_what_was_shown(const Task& task, const CompiledKernel& kernel, const TrialReport& report,
                        Verification& out) {
  const std::int64_t judged = say_judges(task, out);
  if (judged == 0 || judged < out.compared)
    out.proved_by.push_back(fmt::format(
        "{} compared elements of {} cases lie within their bound, the worst at {:.2g} of it",
        out.compared - judged, out.cases.size(), out.worst_ratio));
  say_class(task, kernel, judged, out);
  say_clock(kernel, out);
  say_system_memory(kernel, out);
  say_determinism(task, out);
  say_relations(out);
  say_contents(task, out);
  say_excused(out);
  say_coverage(report, out);
  for (std::string& sentence : sentences_of(report.left_out))
    out.unproved.push_back(std::move(sentence));
  say_remarks(out);
}

}  // namespace cupilot
