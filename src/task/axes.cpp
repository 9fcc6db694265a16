#include "task/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/expr_parse.hpp"
#include "task/extents.hpp"
#include "task/identifiers.hpp"
#include "task/operators.hpp"
#include "task/repeats.hpp"
#include "task/rules/attributes.hpp"
#include "task/rules/tidy.hpp"

namespace cupilot {
namespace {

// Longer texts are no shapes that somebody would read.
constexpr std::size_t longest_extent = 160;

bool is_whole_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Solves what rules ask of names that stand for numbers.
class Names {
 public:
  explicit Names(const Constants& constants) : constants_(constants) {}

  Expr add(std::int64_t number) {
    std::string name = fmt::format("cupilot_d{}", numbers_.size());
    order_[name] = numbers_.size();
    numbers_[name] = number;
    return name;
  }

  const Sizes& numbers() const { return numbers_; }

  std::optional<std::int64_t> number(const Expr& extent) const {
    Sizes known = numbers_;
    known.insert(constants_.begin(), constants_.end());
    const ExprValue value = evaluate(extent, scope_of(known));
    const auto* found = std::get_if<std::int64_t>(&value);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

  // The extent in names that stand for themselves, as a product in the order of dimensions.
  Expr resolved(const Expr& extent) const {
    const std::string text = renamed_names(extent.text, [&](const std::string& name) {
      const auto found = is_.find(name);
      if (found == is_.end()) return std::optional<std::string>();
      return std::optional("(" + resolved(found->second).text + ")");
    });
    const Expr product = product_text(factors_in(text));
    const Expr tidy = tidied(product);
    return is_whole_number(tidy.text) ? tidy : product;
  }

  // Lets the names of an extent be numbers. Returns true if it had some.
  bool keep(const Expr& extent) {
    bool any = false;
    renamed_names(resolved(extent).text, [&](const std::string& name) {
      const auto number = numbers_.find(name);
      if (number != numbers_.end() && !is_.contains(name)) {
        is_[name] = number->second;
        any = true;
      }
      return std::optional<std::string>();
    });
    return any;
  }

  // Lets two products of extents be equal at all sizes. Returns true if a name changed for it.
  bool equate(const ExprShape& a, const ExprShape& b) {
    const auto left = factors_of(a), right = factors_of(b);
    if (alike(left, right)) return false;
    std::size_t i = 0, j = 0;
    bool changed = false;
    while (i < left.size() || j < right.size()) {
      // Factors until both sides have the same number.
      std::vector<Expr> some, others;
      std::int64_t x = 1, y = 1;
      do {
        if (x <= y ? i >= left.size() : j >= right.size()) return keep_all(left, right) || changed;
        const Expr& next = x <= y ? left[i++] : right[j++];
        const auto value = number(next);
        if (!value || *value < 1) return keep_all(left, right) || changed;
        (x <= y ? some : others).push_back(next);
        if (__builtin_mul_overflow(x <= y ? x : y, *value, x <= y ? &x : &y))
          return keep_all(left, right) || changed;
      } while (x != y || others.empty());
      changed = equate_some(some, others) || changed;
    }
    return changed;
  }

  // Lets an extent be `count` groups of one size. Returns true if a name changed for it.
  bool divide(const Expr& whole, const Expr& count) {
    if (quotient_of(resolved(whole), resolved(count))) return false;
    const auto all = number(whole), groups = number(count);
    if (!all || !groups || *groups < 1 || *all % *groups != 0) return keep_all({whole}, {count});
    const std::int64_t each = *all / *groups;
    return equate({whole}, {count, each == 1 ? Expr(1) : add(each)});
  }

 private:
  using Factors = std::vector<Expr>;

  static bool alike(const Factors& a, const Factors& b) {
    return tidied(product_text(a)) == tidied(product_text(b));
  }

  // Factors of all extents in order.
  Factors factors_of(const ExprShape& extents) const {
    Factors out;
    for (const Expr& extent : extents) {
      for (Expr& factor : factors_in(resolved(extent))) out.push_back(std::move(factor));
    }
    return out;
  }

  bool keep_all(const Factors& a, const Factors& b) {
    bool any = false;
    for (const Factors* side : {&a, &b}) {
      for (const Expr& one : *side) any = keep(one) || any;
    }
    return any;
  }

  bool is_free(const Expr& extent) const {
    return numbers_.contains(extent.text) && !is_.contains(extent.text);
  }

  bool equate_some(const Factors& a, const Factors& b) {
    if (alike(a, b)) return false;
    if (a.size() == 1 && b.size() == 1 && is_free(a[0]) && is_free(b[0])) {
      const bool first = order_.at(a[0].text) < order_.at(b[0].text);
      is_[first ? b[0].text : a[0].text] = first ? a[0] : b[0];
      return true;
    }
    return let(a, b) || let(b, a) || refine(a, b) || keep_all(a, b);
  }

  // Lets the larger name, where factors begin to differ, become a multiple of the smaller factor:
  // of batches and heads that become one, heads are what both have.
  bool refine(const Factors& a, const Factors& b) {
    std::size_t at = 0;
    while (at < a.size() && at < b.size() && alike({a[at]}, {b[at]})) ++at;
    if (at >= a.size() || at >= b.size() || a.size() + b.size() < 4) return false;
    const std::int64_t x = number(a[at]).value_or(0), y = number(b[at]).value_or(0);
    if (x < 2 || y < 2) return false;
    if (x == y) return equate_some({a[at]}, {b[at]});
    const Expr &larger = x > y ? a[at] : b[at], &smaller = x > y ? b[at] : a[at];
    if (!is_free(larger) || std::max(x, y) % std::min(x, y) != 0 || uses(smaller.text, larger.text))
      return false;
    is_[larger.text] = product_text({smaller, add(std::max(x, y) / std::min(x, y))});
    return true;
  }

  // A single name becomes what the other side is.
  bool let(const Factors& a, const Factors& b) {
    if (a.size() != 1 || !is_free(a[0])) return false;
    const std::string text = product_text(b).text;
    if (text.size() > longest_extent || uses(text, a[0].text)) return false;
    is_[a[0].text] = text;
    return true;
  }

  const Constants& constants_;
  Sizes numbers_;
  std::map<std::string, std::size_t> order_;
  std::map<std::string, Expr> is_;
};

// Which dimensions become axes: all that may; those that no quotient needs, as extents behind
// windows of a stride do; those of outputs. A graph of hundreds of operations has no text of its
// work in all.
enum class Width { all, whole, outputs };

// Puts names for numbers, and takes them back where rules need numbers.
class AxisGiver {
 public:
  AxisGiver(const Task& task, const Task& numbered)
      : task_(task), numbered_(numbered), names_(task.constants) {}

  std::optional<Task> run(Width width) {
    task_.check_shapes.clear();  // sizes of no axes
    name_shapes();
    do {
      if (!solve()) return std::nullopt;
    } while (narrow(width));
    write_axes();
    Task bare = task_;
    if (task_.axes.empty() || !complete(task_) || !holds(std::move(bare))) return std::nullopt;
    choose_kinds();
    if (!validate(task_)) return std::nullopt;
    return task_;
  }

 private:
  void name_shapes() {
    for (const bool outputs : {false, true}) {
      for (Tensor& tensor : task_.tensors) {
        if ((tensor.role == Role::out) != outputs || !tensor.strides.empty()) continue;
        for (Expr& extent : tensor.shape) name(extent);
        const bool places =
            tensor.fill.kind == FillKind::integers || tensor.fill.kind == FillKind::labels;
        if (places) name(tensor.fill.below);
      }
    }
    for (Operation& operation : task_.operations) name_attributes(operation);
  }

  void name(Expr& extent) {
    if (!is_whole_number(extent.text) || extent.text.size() > 18) return;
    const std::int64_t number = std::stoll(extent.text);
    if (number > 1) extent = names_.add(number);
  }

  // Writes extents that an operation is told as texts of names.
  void name_attributes(Operation& operation) {
    const OperatorRow* row = find_operator(operation.kind);
    const auto before = operation.attributes;
    if (row == nullptr) return;
    if (row->rule == "slice")
      name_slice(operation);
    else
      name_shape(operation, row->rule);
    name_groups(operation);
    if (operation.attributes != before) told_[operation.name] = before;
  }

  void name_shape(Operation& operation, const std::string& rule) {
    const auto shape = operation.attributes.find("shape");
    if (shape == operation.attributes.end() || operation.outputs.empty()) return;
    const auto* told = std::get_if<std::vector<std::int64_t>>(&shape->second);
    const auto whole = numbers_of(operation.outputs.front());
    if (told == nullptr || !whole || told->size() > whole->size()) return;
    std::size_t first = 0;  // of the output's dimensions that are told
    if (rule == "unflatten") {
      const auto rank = static_cast<std::int64_t>(whole->size() - told->size() + 1);
      const std::int64_t dim = integer_of(operation, "dim", 0);
      first = static_cast<std::size_t>(dim < 0 ? dim + rank : dim);
    }
    std::string text;
    for (std::size_t d = 0; d < told->size(); ++d) {
      const bool kept = rule == "expand" && (*told)[d] == -1;
      Expr extent = kept ? Expr(-1) : (*whole)[first + d];
      name(extent);
      text += (d == 0 ? "" : ", ") + extent.text;
    }
    shape->second = text;
  }

  // A slice that is one of several equal parts, as of a fused q, k and v.
  void name_slice(Operation& operation) {
    const auto whole = numbers_of(operation.inputs.front());
    if (!whole || integer_of(operation, "step", 1) > 1) return;
    const auto rank = static_cast<std::int64_t>(whole->size());
    const std::int64_t dim = integer_of(operation, "dim", 0);
    const auto size = names_.number((*whole)[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)]);
    if (!size) return;
    const auto place = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + *size : at, 0, *size);
    };
    const std::int64_t start = place(integer_of(operation, "start", 0)),
                       length = integer_of(operation, "length", 0);
    const std::int64_t part =
        length > 0 ? length : place(integer_of(operation, "end", INT64_MAX)) - start;
    if (part < 2 || part >= *size || *size % part != 0 || start % part != 0) return;
    const std::string each = names_.add(part).text;
    operation.attributes.erase("end");
    operation.attributes["length"] = each;
    if (start == part) operation.attributes["start"] = each;
    if (start > part) operation.attributes["start"] = fmt::format("{}*{}", start / part, each);
  }

  void name_groups(Operation& operation) {
    const std::int64_t groups = integer_of(operation, "groups", 0);
    if (groups > 1) operation.attributes["groups"] = names_.add(groups).text;
  }

  static std::int64_t integer_of(const Operation& operation, const char* name,
                                 std::int64_t otherwise) {
    const auto found = operation.attributes.find(name);
    if (found == operation.attributes.end()) return otherwise;
    const auto* number = std::get_if<std::int64_t>(&found->second);
    return number == nullptr ? otherwise : *number;
  }

  // The shape of a tensor or an edge in numbers, or of a place of it ("x[t]").
  std::optional<ExprShape> numbers_of(const std::string& text) const {
    const StepName name = step_name(text);
    std::optional<ExprShape> shape;
    if (const Tensor* tensor = find_tensor(numbered_, name.base)) shape = tensor->shape;
    for (const Edge& edge : numbered_.edges) {
      if (edge.name == name.base) shape = edge.shape;
    }
    if (shape && name.sliced() && !shape->empty()) shape->erase(shape->begin());
    return shape;
  }

  // Asks the rules until they ask nothing more.
  bool solve() {
    for (bool changed = true; changed;) {
      changed = false;
      resolve();
      Equalities equal;
      equal.number = [&](const Expr& extent) { return names_.number(extent); };
      const auto composed = compose_equal(task_, equal);
      for (const auto& [whole, count] : equal.multiples)
        changed = names_.divide(whole, count) || changed;
      if (changed) continue;  // quotients of them are others now
      for (const Expr& extent : equal.kept) changed = names_.keep(extent) || changed;
      for (const auto& [a, b] : equal.products) changed = names_.equate(a, b) || changed;
      for (const Tensor& tensor : task_.tensors) changed = keep_square(tensor) || changed;
      if (composed || changed) continue;
      for (const RuleInput& input : equal.inputs) {
        for (const Expr& extent : input.shape) changed = names_.keep(extent) || changed;
      }
      if (!changed) return false;
    }
    return true;
  }

  // A triangle is one of a square.
  bool keep_square(const Tensor& tensor) {
    const auto& shape = tensor.shape;
    if (tensor.fill.structure == Structure::dense || shape.size() < 2) return false;
    const Expr &rows = shape[shape.size() - 2], &columns = shape.back();
    return names_.number(rows) == names_.number(columns) && names_.equate({rows}, {columns});
  }

  // Lets names be numbers that the width leaves out. Returns true if there were some.
  bool narrow(Width width) {
    if (width == Width::all) return false;
    Task composed = task_;
    if (!complete(composed)) return false;
    ExprShape all;
    std::set<std::string> given;  // names of outputs
    for (const Tensor& tensor : composed.tensors) {
      all.insert(all.end(), tensor.shape.begin(), tensor.shape.end());
      for (const Expr& extent : tensor.shape) {
        if (tensor.role == Role::out) given.merge(names_in(extent));
      }
    }
    for (const Edge& edge : composed.edges)
      all.insert(all.end(), edge.shape.begin(), edge.shape.end());
    bool changed = false;
    for (const Expr& extent : all) {
      const bool quotient = extent.text.find('/') != std::string::npos;
      for (const std::string& name : names_in(extent)) {
        if (quotient || (width == Width::outputs && !given.contains(name)))
          changed = names_.keep(name) || changed;
      }
    }
    return changed;
  }

  static std::set<std::string> names_in(const Expr& extent) {
    std::set<std::string> names;
    renamed_names(extent.text, [&](const std::string& name) {
      names.insert(name);
      return std::optional<std::string>();
    });
    return names;
  }

  // Writes what names are into the task.
  void resolve() {
    each_extent([&](Expr& extent) { extent = names_.resolved(extent); });
    task_.time_shapes.assign(1, {});
    task_.time_shapes[0].sizes = names_.numbers();
  }

  template <class Of>
  void each_extent(Of of) {
    for (Tensor& tensor : task_.tensors) {
      for (Expr& extent : tensor.shape) of(extent);
      of(tensor.fill.below);
    }
    for (Operation& operation : task_.operations) {
      if (!told_.contains(operation.name)) continue;
      for (auto& [name, value] : operation.attributes) {
        auto* text = is_told_in_text(name) ? std::get_if<std::string>(&value) : nullptr;
        if (text == nullptr) continue;
        std::string out;
        for (Expr extent : extents_in(*text)) {
          if (extent.text != "-1") of(extent);
          out += (out.empty() ? "" : ", ") + extent.text;
        }
        *text = out;
      }
    }
  }

  // Names that tensors have become axes d0, d1 …; others are numbers.
  void write_axes() {
    std::map<std::string, std::string> axes;
    std::set<std::string> taken = taken_names();
    const Sizes numbers = names_.numbers();
    for (const bool outputs : {false, true}) {
      for (const Tensor& tensor : task_.tensors) {
        if ((tensor.role == Role::out) != outputs) continue;
        for (const Expr& extent : tensor.shape) {
          renamed_names(extent.text, [&](const std::string& name) {
            if (numbers.contains(name) && !axes.contains(name)) axes[name] = next_name(taken);
            return std::optional<std::string>();
          });
        }
      }
    }
    each_extent([&](Expr& extent) {
      extent.text = renamed_names(extent.text, [&](const std::string& name) {
        const auto axis = axes.find(name);
        const auto number = numbers.find(name);
        if (axis != axes.end()) return std::optional(axis->second);
        if (number == numbers.end()) return std::optional<std::string>();
        return std::optional(std::to_string(number->second));
      });
      extent = names_axes(extent.text, axes) ? numbers_first(extent) : tidied(extent);
    });
    for (Operation& operation : task_.operations) {
      const auto told = told_.find(operation.name);
      if (told == told_.end()) continue;
      const auto& attributes = operation.attributes;
      const bool named =
          std::any_of(attributes.begin(), attributes.end(), [&](const auto& attribute) {
            const auto* text = std::get_if<std::string>(&attribute.second);
            return text != nullptr && is_told_in_text(attribute.first) && names_axes(*text, axes);
          });
      if (!named) operation.attributes = told->second;
    }
    Sizes sizes;
    for (const auto& [name, axis] : axes) sizes[axis] = numbers.at(name);
    for (std::size_t i = 0; i < axes_.size(); ++i) task_.axes.push_back({axes_[i]});
    task_.time_shapes[0].sizes = sizes;
  }

  static Expr numbers_first(const Expr& extent) {
    std::vector<Expr> numbers, names;
    for (const Expr& one : factors_in(extent))
      (is_whole_number(one.text) ? numbers : names).push_back(one);
    if (!numbers.empty()) names.insert(names.begin(), tidied(product_text(numbers)));
    return product_text(names);
  }

  static bool names_axes(const std::string& text, const std::map<std::string, std::string>& axes) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const auto& one) { return uses(text, one.second); });
  }

  std::string next_name(std::set<std::string>& taken) {
    std::string name;
    for (int i = 0; name.empty() || !taken.insert(name).second; ++i) name = fmt::format("d{}", i);
    axes_.push_back(name);
    return name;
  }

  std::set<std::string> taken_names() const {
    std::set<std::string> taken;
    for (const Tensor& tensor : task_.tensors) taken.insert(tensor.name);
    for (const Scalar& scalar : task_.scalars) taken.insert(scalar.name);
    for (const auto& [name, value] : task_.constants) taken.insert(name);
    for (const Repeat& repeat : task_.repeats) {
      taken.insert(repeat.step);
      for (const Carried& one : repeat.carried) taken.insert(one.name);
    }
    for (const Operation& operation : task_.operations) {
      taken.insert(operation.name);
      taken.insert(operation.outputs.begin(), operation.outputs.end());
    }
    return taken;
  }

  // Composes `bare`, the task not yet completed, at further sizes, where all that must be equal has
  // to be.
  bool holds(Task bare) const {
    std::vector<Workload> shapes;
    for (const bool large : {false, true}) {
      Workload shape = task_.time_shapes[0];
      std::int64_t i = 0;
      for (auto& [name, size] : shape.sizes) size = large ? size + ++i : 2 + (5 * ++i) % 7;
      if (has_sizes(task_, shape)) shapes.push_back(shape);
    }
    bare.time_shapes = shapes;
    return shapes.empty() || complete(bare);
  }

  // An axis is summed over, or no output has it.
  void choose_kinds() {
    for (Axis& axis : task_.axes) {
      const bool given =
          std::any_of(task_.tensors.begin(), task_.tensors.end(), [&](const Tensor& tensor) {
            return (tensor.role == Role::out || tensor.role == Role::in_out) &&
                   std::any_of(tensor.shape.begin(), tensor.shape.end(),
                               [&](const Expr& extent) { return names_axis(extent, axis.name); });
          });
      const auto& stages = task_.reference.stages;
      const bool summed = std::any_of(stages.begin(), stages.end(), [&](const auto& stage) {
        return std::any_of(stage.over.begin(), stage.over.end(), [&](const StageAxis& over) {
          return names_axis(over.extent, axis.name);
        });
      });
      if (summed || !given) axis.kind = AxisKind::reduced;
    }
  }

  Task task_;
  const Task& numbered_;
  Names names_;
  std::map<std::string, Attributes> told_;  // attributes of operations as they were
  std::vector<std::string> axes_;           // in the order of tensors
};

}  // namespace

bool names_axis(const Expr& extent, const std::string& axis) {
  if (extent.text == axis) return true;
  if (extent.text.find(axis) == std::string::npos) return false;
  const auto parsed = parse_expr(extent.text);
  const auto* tree = std::get_if<ExprTree>(&parsed);
  if (tree == nullptr) return false;
  return std::any_of(tree->nodes.begin(), tree->nodes.end(), [&](const ExprNode& node) {
    return node.op == ExprOp::name && node.name == axis;
  });
}

bool give_axes(Task& task, const Task& numbered) {
  for (const Width width : {Width::all, Width::whole, Width::outputs}) {
    if (auto made = AxisGiver(task, numbered).run(width)) {
      task = std::move(*made);
      return true;
    }
  }
  return false;
}

bool is_looked_up(const Task& task, const std::string& axis) {
  const bool is_free = std::any_of(task.axes.begin(), task.axes.end(), [&](const Axis& one) {
    return one.kind == AxisKind::free && one.name == axis;
  });
  const auto has_axis = [&](const Tensor& tensor) {
    return (tensor.role == Role::out || tensor.role == Role::in_out) &&
           std::any_of(tensor.shape.begin(), tensor.shape.end(),
                       [&](const Expr& extent) { return names_axis(extent, axis); });
  };
  return is_free && std::none_of(task.tensors.begin(), task.tensors.end(), has_axis);
}

}  // namespace cupilot
