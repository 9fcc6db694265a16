#include "verify/extremes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cupilot {
namespace {

bool is_extreme(Combine combine) { return combine != Combine::sum && combine != Combine::prod; }

// True where a text holds none of these: what it gives is an element of an input.
bool computes_nothing(std::string_view text) {
  constexpr std::array<std::string_view, 9> words = {"exp",  "log",  "sqrt",    "tanh", "erf_",
                                                     "sin_", "cos_", "sigmoid", " / "};
  return std::none_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

}  // namespace

bool seeks_extremes(const Task& task) {
  const auto reduced = [](const Axis& axis) { return axis.kind == AxisKind::reduced; };
  if (std::none_of(task.axes.begin(), task.axes.end(), reduced)) return false;
  const std::string& text = task.reference.text;
  return text.find("max_(") != std::string::npos || text.find("min_(") != std::string::npos ||
         std::any_of(task.reference.stages.begin(), task.reference.stages.end(),
                     [](const ReferenceStage& one) { return is_extreme(one.combine); });
}

bool selects(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& one) {
    return one.role != Role::in && one.check.kind != CheckKind::within;
  });
}

bool gives_extremes(const Task& task) {
  const auto is_output = [&](const std::string& name) {
    return std::any_of(task.tensors.begin(), task.tensors.end(), [&](const Tensor& one) {
      return one.name == name && (one.role == Role::out || one.role == Role::in_out);
    });
  };
  const bool staged = std::any_of(task.reference.stages.begin(), task.reference.stages.end(),
                                  [&](const ReferenceStage& one) {
                                    return one.kind == StageKind::fold && is_extreme(one.combine) &&
                                           one.finish.empty() && is_output(one.name);
                                  });
  const bool told = std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& one) {
    return one.role == Role::out && one.check.length == Expr(1);
  });
  const std::string& text = task.reference.text;
  const bool compares =
      text.find("max_(") != std::string::npos || text.find("min_(") != std::string::npos;
  return staged || (compares && told && computes_nothing(text));
}

bool chooses_by_size(const Task& task) {
  if (gives_extremes(task)) return true;
  const auto compares = [](std::string_view text) {
    constexpr std::array<std::string_view, 4> words = {"max", "min", "<", ">"};
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return text.find(word) != std::string_view::npos;
    });
  };
  const auto any = [&](const ReferenceStage& one) {
    return compares(one.term) || compares(one.finish) ||
           (one.kind == StageKind::fold && is_extreme(one.combine));
  };
  const auto& stages = task.reference.stages;
  return selects(task) &&
         (compares(task.reference.text) || std::any_of(stages.begin(), stages.end(), any));
}

}  // namespace cupilot
