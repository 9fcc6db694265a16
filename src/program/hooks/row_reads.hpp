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

// What a stage reads at coordinates `at` of `source`, a tensor or an earlier stage, of `extents`:
// an element of the tensor's same row, through stages that only move elements along rows.
std::optional<RowSource> row_source(const Task& task, const ReferenceStage& stage,
                                    const StageRead& read);

// How outputs of `columns` a row read the scan `scan` of their rows: at their own column or the one
// before it; back: counted from the end. Empty where one reads it elsewhere.
struct NearScan {
  bool back = false;
};
std::optional<NearScan> near_scan(const Task& task, int scan, const Expr& columns);

}  // namespace cupilot
