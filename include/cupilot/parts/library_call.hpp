// The library's call that computes what a family's tasks compute: a baseline, described by data.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/parts/expr.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// D = relu?(alpha op(A) op(B) + beta C + bias), row-major, fp32 accumulate. Names of the task's
// tensors, "" for one that its tasks never have; a named one may be missing from a task.
// Expressions see the task's sizes and constants; a constant that a task lacks is 0.
struct LibraryCall {
  std::vector<std::string> families{};  // Task::family of the tasks that it computes
  std::string a{}, b{}, c{}, d{}, bias{};
  std::string scale_a{}, scale_b{};
  Expr m{}, n{}, k{}, batch = 1;
  Expr trans_a = 0, trans_b = 0;  // non-zero: stored transposed
  Expr relu = 0;
  Expr scale = 0;               // 0: none; 1: one factor for A and one for B; 2: a factor for each
                                // row of A and 128x128 block of B, each 128 of K
  std::string alpha{}, beta{};  // scalars; "": 1 and 0
  // Tasks that the library has no call for: the first expression that is non-zero says why.
  struct Refusal {
    Expr when{};
    std::string reason{};
  };
  std::vector<Refusal> refuse{};
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
