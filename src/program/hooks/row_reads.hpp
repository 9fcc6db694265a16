// Reads along a row whose places are the reader's own, moved or counted from the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

#include "program/hooks/affine.hpp"

namespace cupilot {

// A place along a row: `rest` plus the reader's own, back: minus it. Factors are of the task's
// axes.
struct RowPlace {
  bool back = false;
  Affine rest{};
  bool operator==(const RowPlace&) const = default;
};

// An extent as numbers times axes. Empty where it is none.
std::optional<Affine> affine_extent(const Task& task, const Expr& extent);

// The place that a stage's text, over the stage's last coordinate, is. Empty where it is none.
std::optional<RowPlace> row_place(const Task& task, const ReferenceStage& stage,
                                  const std::string& text);

// The text of a place's rest as an expression of the task's axes.
Expr rest_of(const RowPlace& place);

// An element of a tensor: its last coordinate; the others are the reader's own.
struct RowSource {
  std::string tensor{};
  Expr pitch = 1;  // the tensor's last extent
  RowPlace place{};
};

// Follows a read at given coordinates to an element of a tensor, in the reader's own row, through
// stages that only move elements along rows. Empty where it leads elsewhere.
std::optional<RowSource> row_source(const Task& task, const ReferenceStage& stage,
                                    const StageRead& read);

// Outputs read the scan of their rows at their own column or the one before it.
struct NearScan {
  bool back = false;  // counted from the end
};
// Empty where an output of `columns` a row reads stage `scan` elsewhere.
std::optional<NearScan> near_scan(const Task& task, int scan, const Expr& columns);

}  // namespace cupilot
