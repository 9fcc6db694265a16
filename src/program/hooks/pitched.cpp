#include "program/hooks/pitched.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t least_alignment = 16;  // bytes of the widest vector
constexpr std::array<std::string_view, 8> anchors = {"map",    "row_reduction", "column_reduction",
                                                     "gather", "slide",         "contraction",
                                                     "window", "matmul"};

ExprShape part_of(const std::vector<Expr>& shape, std::size_t first, std::size_t end) {
  return {shape.begin() + static_cast<std::ptrdiff_t>(first),
          shape.begin() + static_cast<std::ptrdiff_t>(end)};
}

Expr gap_of(const Pitch& pitch) {
  if (pitch.pitch == pitch.block) return 0;
  return fmt::format("({}) - ({})", pitch.pitch.text, pitch.block.text);
}

// The expression with `prefix` before the task's sizes.
std::string in_names(const Task& task, const std::string& prefix, const Expr& expr) {
  return renamed_names(expr.text, [&](const std::string& name) -> std::optional<std::string> {
    const bool axis = std::any_of(task.axes.begin(), task.axes.end(),
                                  [&](const Axis& one) { return one.name == name; });
    return axis ? std::optional(prefix + name) : std::nullopt;
  });
}

}  // namespace

std::vector<Expr> pitched_strides(const std::vector<Expr>& shape, std::size_t outer,
                                  const Expr& pitch) {
  std::vector<Expr> strides;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    ExprShape after = part_of(shape, d + 1, d < outer ? outer : shape.size());
    if (d < outer) after.push_back(pitch);
    strides.push_back(product_of(after));
  }
  return strides;
}

std::optional<Pitch> pitch_of(const Tensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  if (tensor.strides.empty() || tensor.strides.size() != rank) return std::nullopt;
  for (std::size_t outer = 0; outer < rank; ++outer) {
    const Expr block = product_of(part_of(tensor.shape, outer, rank));
    const Expr pitch = outer == 0 ? block : tensor.strides[outer - 1];
    if (pitched_strides(tensor.shape, outer, pitch) == tensor.strides)
      return Pitch{outer, block, pitch};
  }
  return std::nullopt;
}

std::string view_offset(const std::string& tensor) { return "view_offset_" + tensor; }

bool has_views(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(), is_view);
}

Expr elements_to_count(const Tensor& tensor) {
  const auto pitch = pitch_of(tensor);
  if (!pitch || pitch->outer == 0) return product_of(tensor.shape);
  ExprShape all = part_of(tensor.shape, 0, pitch->outer);
  all.push_back(pitch->pitch);
  return product_of(all);
}

bool takes_views(const Task& task, const std::string& anchor) {
  return !has_views(task) ||
         (std::find(anchors.begin(), anchors.end(), anchor) != anchors.end() &&
          std::all_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& tensor) {
            return !is_view(tensor) || (pitch_of(tensor) && tensor.role != Role::in_out &&
                                        tensor.alignment >= least_alignment);
          }));
}

Expr run_with_views(const Task& task, const Expr& run) {
  if (!has_views(task)) return run;
  std::string out = "1";
  for (const int width : {2, 4, 8, 16}) {
    std::string all = fmt::format("({}) % {} == 0", run.text, width);
    for (const Tensor& tensor : task.tensors) {
      const auto pitch = pitch_of(tensor);
      if (!pitch) continue;
      all += fmt::format(" && {} % {} == 0", view_offset(tensor.name), width);
      if (pitch->outer > 0) all += fmt::format(" && ({}) % {} == 0", pitch->pitch.text, width);
    }
    out = fmt::format("{} ? {} : {}", all, width, width == 2 ? out : "(" + out + ")");
  }
  return out;
}

std::vector<std::pair<std::string, Expr>> offsets_of_views(const Task& task) {
  std::vector<std::pair<std::string, Expr>> out;
  for (const Tensor& tensor : task.tensors) {
    if (is_view(tensor)) out.emplace_back(view_offset(tensor.name), 0);
  }
  return out;
}

bool maps_views(const LaunchPlan& plan, const Task& task, const std::vector<std::string>& but) {
  const auto is_of_view = [&](const auto& one) {
    const Tensor* tensor = find_tensor(task, one.of);
    return tensor != nullptr && is_view(*tensor);
  };
  const auto is_mapped = [&](const PlanTensorMap& map) {
    return is_of_view(map) && std::find(but.begin(), but.end(), map.of) == but.end();
  };
  return std::any_of(plan.maps.begin(), plan.maps.end(), is_mapped) ||
         std::any_of(plan.textures.begin(), plan.textures.end(), is_of_view);
}

bool store_by_address(Tunable& tunable) {
  const auto& parameters = tunable.parameters;
  const bool chooses = std::any_of(parameters.begin(), parameters.end(),
                                   [](const auto& one) { return one.constant == "STRIPS"; });
  if (chooses) tunable.restrictions.emplace_back("STRIPS == 0");
  return chooses;
}

std::optional<Expr> pitch_of_left(const Task& task, const GraphProduct& product) {
  const Tensor *left = find_tensor(task, product.a), *right = find_tensor(task, product.b);
  if (is_view(*right)) return std::nullopt;
  if (!is_view(*left)) return product.k;
  const auto pitch = pitch_of(*left);
  if (!pitch || product.turned_a || product.batch.text != "1" || product.spans != 0)
    return std::nullopt;
  if (pitch->outer == 0) return product.k;
  return pitch->block == product.k ? std::optional(pitch->pitch) : std::nullopt;
}

bool walk_by_pitch(Tunable& tunable) {
  LaunchPlan& plan = tunable.plan;
  const bool reads = std::any_of(plan.launches.begin(), plan.launches.end(), [](const auto& one) {
    return std::any_of(one.args.begin(), one.args.end(),
                       [](const PlanArgument& argument) { return argument.name == "A"; });
  });
  if (reads && tunable.text.find("left_pitch(") == std::string::npos) return false;
  const auto by_pitch = [](const Expr& given) -> Expr {
    return renamed_names(given.text, [](const std::string& name) {
      return name == "k" ? std::optional<std::string>(left_pitch_name) : std::nullopt;
    });
  };
  for (PlanTensorMap& map : plan.maps) {
    if (map.of != "A") continue;
    for (Expr& one : map.pitch) one = by_pitch(one);
  }
  for (const Expr& one : std::vector<Expr>(plan.require)) {
    if (uses(one.text, "k")) plan.require.push_back(by_pitch(one));
  }
  return true;
}

std::string left_pitch_text(const Task& task, const Expr& pitch) {
  return in_names(task, "this->", pitch);
}

RowsOfViews rows_of_views(const Task& task) {
  const Tensor* finest = nullptr;
  std::size_t outer = 0;
  for (const Tensor& tensor : task.tensors) {
    const auto pitch = pitch_of(tensor);
    if (!pitch || (finest != nullptr && pitch->outer <= outer)) continue;
    finest = &tensor;
    outer = pitch->outer;
  }
  if (finest == nullptr) return {};
  return {product_of(part_of(finest->shape, 0, outer)),
          product_of(part_of(finest->shape, outer, finest->shape.size()))};
}

std::string view_type(const Tensor& tensor) {
  const bool written = tensor.role == Role::out || tensor.role == Role::in_out;
  return fmt::format("Pitched<{}T_{}>", written ? "" : "const ", tensor.name);
}

std::string view_member(const Task& task, const Tensor& tensor) {
  const Pitch pitch = pitch_of(tensor).value_or(Pitch());
  return fmt::format("pitched(graph_{} + {}, {}, {})", tensor.name, view_offset(tensor.name),
                     in_names(task, "graph_", pitch.block),
                     in_names(task, "graph_", gap_of(pitch)));
}

std::string aligned_view(const Tensor& tensor, int elements) {
  return is_view(tensor) ? fmt::format(" && this->{}.aligned({})", tensor.name, elements) : "";
}

}  // namespace cupilot
