// Tensors with strides that templates with hooks serve: blocks of dense elements that lie further
// apart than they are long, as a view of a part of a larger tensor does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/launch_plan.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

#include "program/hooks/product.hpp"

namespace cupilot {

// `outer` dimensions count blocks, of `block` elements, `pitch` elements from one to the next.
struct Pitch {
  std::size_t outer = 0;
  Expr block = 1, pitch = 1;
};

// Strides of a tensor whose dimensions from `outer` on are dense; the one before them has the
// stride `pitch`, which counts for nothing where there is none.
std::vector<Expr> pitched_strides(const std::vector<Expr>& shape, std::size_t outer,
                                  const Expr& pitch);

// nullopt: the tensor has no strides, or others.
std::optional<Pitch> pitch_of(const Tensor& tensor);

// A tensor with strides is a view: its kernel gets the address of a buffer and, by this name in the
// plan's `let`, how many elements the tensor lies behind it; 0 in a task of its own.
inline bool is_view(const Tensor& tensor) { return !tensor.strides.empty(); }
std::string view_offset(const std::string& tensor);
bool has_views(const Task& task);

// Elements that numbers of a tensor's places have to count.
Expr elements_to_count(const Tensor& tensor);

// True if a template with this anchor takes the task's views: bases at multiples of 16 bytes.
bool takes_views(const Task& task, const std::string& anchor);

// The largest of 1, 2, 4, 8 and 16 that divides `run` and, at all views, what lies between blocks
// and before the first; `run` where there are no views.
Expr run_with_views(const Task& task, const Expr& run);

// Definitions of the views' offsets, 0.
std::vector<std::pair<std::string, Expr>> offsets_of_views(const Task& task);
// True if a plan has textures of views, or tensor maps of any but these.
bool maps_views(const LaunchPlan& plan, const Task& task, const std::vector<std::string>& but);

// Lets a template of products store its output by address alone, which a map would not find behind
// the buffer's beginning. False: it stores by maps always.
bool store_by_address(Tunable& tunable);

// Elements from row to row of a product's left operand; nullopt: it is a view whose rows lie
// otherwise, or the right operand is one.
std::optional<Expr> pitch_of_left(const Task& task, const GraphProduct& product);
// Lets maps and conditions of a template of products, which name `k`, take the pitch, which the
// plan has to define by this name. False: its text takes none.
inline constexpr const char* left_pitch_name = "graph_left_pitch";
bool walk_by_pitch(Tunable& tunable);
// The pitch in the text of `struct Graph`.
std::string left_pitch_text(const Task& task, const Expr& pitch);

// Rows and columns of elements of tensors of one shape, whose rows lie in no two blocks of a view.
struct RowsOfViews {
  Expr rows = 1, cols = 1;
};
RowsOfViews rows_of_views(const Task& task);

// As text of a kernel: a member's type, and the member of its pointer `graph_NAME` in a macro whose
// parameters are named `graph_…`.
std::string view_type(const Tensor& tensor);
std::string view_member(const Task& task, const Tensor& tensor);
// " && …": a view's vectors of so many elements are aligned; "" for other tensors.
std::string aligned_view(const Tensor& tensor, int elements);

}  // namespace cupilot
