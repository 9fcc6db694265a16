// The computation of a task's outputs that kernels are judged by: a text of one element a thread,
// or stages (docs/formats/task.md, docs/formats/operators.md).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/parts/expr.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// One coordinate of a stage: 0 to extent - 1. The extent uses the task's sizes and constants.
struct StageAxis {
  std::string name{};
  Expr extent = 1;
  bool operator==(const StageAxis&) const = default;
};

// A name that a stage's text uses. `source`: a tensor of the task, or an earlier stage. The element
// is found by coordinates over `extents`, row-major.
struct StageRead {
  std::string name{};
  std::string source{};
  std::vector<Expr> extents{};
  // Empty: the text calls `name(i, j, …)`. Else `name` is the value at these coordinates, C++
  // over the stage's coordinates.
  std::vector<std::string> at{};
  // Not empty: the source has a first dimension besides, and this is the place along it, over sizes
  // and `cupilot_step`.
  std::string step{};
  std::string first{};  // the source at the first step, without that dimension; "": the same
  bool operator==(const StageRead&) const = default;
};

// map: a value for each element of `free`; its readers compute it where they need it.
// fold: terms over `over` combined for each element of `free`, in blocks of 512, blocks in blocks
// of 512. scan: the combinations of the first 1, 2 … terms along the one axis of `over`.
enum class StageKind { map, fold, scan };
// max and min drop a NaN, maxn and minn keep it.
enum class Combine { sum, prod, max, min, maxn, minn };

struct ReferenceStage {
  std::string name{};  // equals the tensor's where the stage is an output
  StageKind kind = StageKind::map;
  std::vector<StageAxis> free{}, over{};
  std::vector<StageRead> reads{};
  std::vector<StageAxis> sizes{};  // whole numbers that the text uses by name
  // Names that the text uses, each C++ over coordinates, sizes and names before it.
  std::vector<std::pair<std::string, std::string>> constants{};
  std::string term{};  // a C++ expression over `real`
  Combine combine = Combine::sum;
  std::string finish{};  // fold: an expression over `acc` and free coordinates; default: acc
  // The repeat whose steps compute it, one after the other; its first free coordinate is
  // `cupilot_step`, and what later steps read of it is a fold or scan.
  std::string repeat{};
  bool operator==(const ReferenceStage&) const = default;
};

// Either `text` or `stages`. The text is over a type `real` and defines for each output X
//   __device__ real reference_X(const Inputs& in, long long index)
// the value of linear element `index`. Stages are ordered: each reads tensors and stages before it,
// and each output has one of its name.
struct Reference {
  std::string text{};
  std::string file{};  // for messages
  std::vector<ReferenceStage> stages{};
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
