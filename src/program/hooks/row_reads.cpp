#include "program/hooks/row_reads.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "program/hooks/call_text.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

constexpr const char* axis_prefix = "axis_";

std::vector<StageAxis> long_axes(std::vector<StageAxis> axes) {
  std::erase_if(axes, [](const StageAxis& axis) { return axis.extent.text == "1"; });
  return axes;
}

std::vector<StageAxis> axes_of(const ReferenceStage& stage) {
  auto out = long_axes(stage.free);
  const auto over = long_axes(stage.over);
  out.insert(out.end(), over.begin(), over.end());
  return out;
}

// Axes of the task have names apart: a stage's coordinates may have the same.
std::string with_axes_apart(const Task& task, const std::string& text) {
  return renamed(text, [&](const std::string& word) -> std::optional<std::string> {
    const bool axis = std::any_of(task.axes.begin(), task.axes.end(),
                                  [&](const Axis& one) { return one.name == word; });
    return axis ? std::optional(axis_prefix + word) : std::nullopt;
  });
}

// `value` over the axes, its names as the task has them; known numbers alone.
std::optional<Affine> over_axes(Affine value) {
  if (!value.is_known()) return std::nullopt;
  Affine out{{}, value.rest};
  for (const auto& [name, factor] : value.factors) {
    if (factor != 0) out.factors[name.substr(std::string(axis_prefix).size())] = factor;
  }
  return out;
}

Affine plus(const Affine& a, const Affine& b, std::int64_t times) {
  Affine out = a;
  *out.rest += times * *b.rest;
  for (const auto& [name, factor] : b.factors) {
    auto& sum = out.factors.try_emplace(name, 0).first->second;
    sum = *sum + times * *factor;
    if (sum == 0) out.factors.erase(name);
  }
  return out;
}

// `inner` at the place that `outer` is.
RowPlace through(const RowPlace& outer, const RowPlace& inner) {
  return {outer.back != inner.back, plus(inner.rest, outer.rest, inner.back ? -1 : 1)};
}

// Arguments of a read, with their extents, but those of one place.
std::vector<StageAxis> asked_of(const StageRead& read, const std::vector<std::string>& at) {
  std::vector<StageAxis> out;
  for (std::size_t d = 0; d < at.size() && d < read.extents.size(); ++d)
    out.push_back({at[d], read.extents[d]});
  return long_axes(std::move(out));
}

// True if all but the last are the stage's own coordinates.
bool in_own_row(const ReferenceStage& stage, const std::vector<StageAxis>& asked) {
  const auto own = axes_of(stage);
  return !asked.empty() && asked.size() == own.size() &&
         std::equal(asked.begin(), asked.end() - 1, own.begin());
}

const ReferenceStage* stage_before(const Task& task, const ReferenceStage& reader,
                                   const std::string& name) {
  const ReferenceStage* found = nullptr;
  for (const ReferenceStage& stage : task.reference.stages) {
    if (stage.name == reader.name) break;
    if (stage.name == name) found = &stage;
  }
  return found;
}

// True if both have the same columns in as many rows, however many coordinates say a row.
bool same_rows(const std::vector<StageAxis>& a, const std::vector<StageAxis>& b) {
  const auto rows = [](const std::vector<StageAxis>& axes) {
    ExprShape out;
    for (std::size_t d = 0; d + 1 < axes.size(); ++d) out.push_back(axes[d].extent);
    return product_of(out);
  };
  return !a.empty() && !b.empty() && a.back().extent == b.back().extent && rows(a) == rows(b);
}

// True if the stage has each element from another place and leaves it as it is.
bool only_moves(const ReferenceStage& stage) {
  if (stage.kind != StageKind::map || stage.reads.size() != 1 || stage.reads[0].at.empty())
    return false;
  const std::string& name = stage.reads[0].name;
  return stage.term == name || stage.term == "real(" + name + ")";
}

// Follows reads from outputs to the scan.
class ToScan {
 public:
  ToScan(const Task& task, const ReferenceStage& scan) : task_(task), scan_(scan) {}

  // Places at which a stage reads the scan; empty: elsewhere too.
  using Places = std::optional<std::vector<RowPlace>>;
  Places of(const ReferenceStage& stage) {
    if (&stage == &scan_) return std::vector<RowPlace>{RowPlace{}};
    const auto known = known_.find(&stage);
    if (known != known_.end()) return known->second;
    return known_[&stage] = read_by(stage);
  }

 private:
  Places read_by(const ReferenceStage& stage) {
    std::string text = stage.term;
    for (const auto& [name, value] : stage.constants) text += " " + value;
    std::vector<RowPlace> out;
    for (const StageRead& read : stage.reads) {
      const ReferenceStage* from = stage_before(task_, stage, read.source);
      if (from == nullptr) continue;
      const auto inner = of(*from);
      if (!inner) return std::nullopt;
      if (inner->empty()) continue;
      const auto calls = read.at.empty() ? calls_of(read.name, text)
                                         : std::vector<std::vector<std::string>>{read.at};
      for (const auto& at : calls) {
        const auto asked = asked_of(read, at);
        if (!in_own_row(stage, asked) || !same_rows(asked, axes_of(*from))) return std::nullopt;
        const auto outer = row_place(task_, stage, asked.back().name);
        if (!outer) return std::nullopt;
        for (const RowPlace& place : *inner) out.push_back(through(*outer, place));
      }
    }
    return out;
  }

  const Task& task_;
  const ReferenceStage& scan_;
  std::map<const ReferenceStage*, Places> known_{};
};

}  // namespace

std::optional<Affine> affine_extent(const Task& task, const Expr& extent) {
  AffineNames names;
  names.is_coordinate = [](const std::string& name) { return name.starts_with(axis_prefix); };
  names.constant = [](const std::string&) { return std::string(); };
  auto found = affine_of(with_axes_apart(task, extent.text), names);
  return found ? over_axes(std::move(*found)) : std::nullopt;
}

std::optional<RowPlace> row_place(const Task& task, const ReferenceStage& stage,
                                  const std::string& text) {
  const auto own = axes_of(stage);
  if (own.empty()) return std::nullopt;
  AffineNames names;
  names.is_coordinate = [&](const std::string& name) {
    return name == own.back().name || name.starts_with(axis_prefix);
  };
  names.constant = [&](const std::string& name) -> std::string {
    for (const StageAxis& size : stage.sizes) {
      if (size.name == name) return "(" + with_axes_apart(task, size.extent.text) + ")";
    }
    for (const auto& [constant, value] : stage.constants) {
      if (constant == name) return value;
    }
    return "";
  };
  auto found = affine_of(text, names);
  if (!found || !found->is_known()) return std::nullopt;
  const auto factor = found->factors.find(own.back().name);
  if (factor == found->factors.end() || (factor->second != 1 && factor->second != -1))
    return std::nullopt;
  RowPlace out{.back = factor->second == -1};
  found->factors.erase(factor);
  auto rest = over_axes(std::move(*found));
  if (!rest) return std::nullopt;
  out.rest = std::move(*rest);
  return out;
}

Expr rest_of(const RowPlace& place) {
  std::string out = std::to_string(*place.rest.rest);
  for (const auto& [name, factor] : place.rest.factors)
    out += factor == 1 ? " + " + name : fmt::format(" + {} * {}", *factor, name);
  return out;
}

std::optional<RowSource> row_source(const Task& task, const ReferenceStage& stage,
                                    const StageRead& read) {
  auto asked = asked_of(read, read.at);
  if (!in_own_row(stage, asked)) return std::nullopt;
  auto place = row_place(task, stage, asked.back().name);
  std::string source = read.source;
  const ReferenceStage* reader = &stage;
  while (const ReferenceStage* from = stage_before(task, *reader, source)) {
    if (!place || !only_moves(*from) || !same_rows(asked, axes_of(*from))) return std::nullopt;
    asked = asked_of(from->reads[0], from->reads[0].at);
    if (!in_own_row(*from, asked)) return std::nullopt;
    const auto inner = row_place(task, *from, asked.back().name);
    if (!inner) return std::nullopt;
    place = through(*place, *inner);
    source = from->reads[0].source;
    reader = from;
  }
  if (!place || find_tensor(task, source) == nullptr) return std::nullopt;
  return RowSource{source, asked.back().extent, *place};
}

std::optional<NearScan> near_scan(const Task& task, int scan, const Expr& columns) {
  const auto& stages = task.reference.stages;
  ToScan to_scan(task, stages[static_cast<std::size_t>(scan)]);
  const auto width = affine_extent(task, columns);
  if (!width) return std::nullopt;
  std::optional<NearScan> out;
  for (const ReferenceStage& stage : stages) {
    if (find_tensor(task, stage.name) == nullptr) continue;
    const auto places = to_scan.of(stage);
    const auto axes = axes_of(stage);
    if (!places || axes.empty() || affine_extent(task, axes.back().extent) != width)
      return std::nullopt;
    for (const RowPlace& place : *places) {
      const Affine apart = place.back ? plus(place.rest, *width, -1) : place.rest;
      const std::int64_t before = -*apart.rest - (place.back ? 1 : 0);
      if (!apart.factors.empty() || before < 0 || before > 1 || (out && out->back != place.back))
        return std::nullopt;
      out = NearScan{place.back};
    }
  }
  return out;
}

}  // namespace cupilot
