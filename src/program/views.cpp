#include "program/views.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "program/composites.hpp"
#include "program/hooks/pitched.hpp"
#include "program/hooks/product.hpp"
#include "program/library_part.hpp"
#include "program/part_task.hpp"
#include "task/operators.hpp"
#include "task/prepared.hpp"
#include "task/repeats.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

constexpr std::size_t longest_chain = 6;  // operations of a part whose templates are compared

// The place of a `cat`, and with it of its inputs, by its result.
struct Home {
  std::string name, root;
  ExprShape shape;
  std::size_t dim = 0;  // along which the inputs follow one another
  Expr offset = 0, pitch = 1;
  DType type = DType::f32;
};

std::optional<Home> home_of(const Task& program, const Views& views, const Operation& cat) {
  Home out{.name = cat.outputs.front(), .root = cat.outputs.front()};
  const Tensor* tensor = find_tensor(program, out.name);
  const Edge* edge = find_edge(program, out.name);
  if (tensor != nullptr && (tensor->role != Role::out || !tensor->strides.empty() ||
                            tensor->alignment != Tensor().alignment))
    return std::nullopt;
  if (tensor == nullptr && edge == nullptr) return std::nullopt;
  out.shape = tensor != nullptr ? tensor->shape : edge->shape;
  out.type = tensor != nullptr ? tensor->type : edge_type(program, out.name);
  const auto given = cat.attributes.find("dim");
  const auto* dim =
      given == cat.attributes.end() ? nullptr : std::get_if<std::int64_t>(&given->second);
  const auto rank = static_cast<std::int64_t>(out.shape.size());
  const std::int64_t along = dim == nullptr ? 0 : *dim < 0 ? *dim + rank : *dim;
  if (along < 0 || along >= rank) return std::nullopt;
  out.dim = static_cast<std::size_t>(along);
  out.pitch = product_of({out.shape.begin() + along, out.shape.end()});
  const auto placed = views.places.find(out.name);
  if (placed == views.places.end()) return out;
  out.root = placed->second.root;
  out.offset = placed->second.offset;
  const auto pitch = pitch_of({.shape = out.shape, .strides = placed->second.strides});
  if (!pitch || (pitch->outer > 0 && pitch->outer != out.dim)) return std::nullopt;
  if (pitch->outer > 0) out.pitch = pitch->pitch;
  return out;
}

ExprShape shape_of_value(const Task& program, const std::string& name) {
  const Edge* edge = find_edge(program, name);
  return edge == nullptr ? find_tensor(program, name)->shape : edge->shape;
}

// The place of input `number` of a `cat`; before: of those in front of it.
ViewPlace place_in(const Task& program, const Home& home, const Operation& cat,
                   std::size_t number) {
  std::vector<std::string> terms;
  if (home.offset.text != "0") terms.push_back(home.offset.text);
  for (std::size_t i = 0; i < number; ++i) {
    ExprShape extents = {shape_of_value(program, cat.inputs[i])[home.dim]};
    extents.insert(extents.end(), home.shape.begin() + static_cast<std::ptrdiff_t>(home.dim) + 1,
                   home.shape.end());
    const std::string term = product_of(extents).text;
    terms.push_back(term.find_first_of("?<>=|&") == term.npos ? term : "(" + term + ")");
  }
  std::string offset;
  for (const std::string& term : terms) offset += (offset.empty() ? "" : " + ") + term;
  return {home.root, terms.empty() ? Expr(0) : Expr(offset),
          pitched_strides(shape_of_value(program, cat.inputs[number]), home.dim, home.pitch)};
}

class ViewFinder {
 public:
  ViewFinder(const ComposedTask& program, const Families& families)
      : composed_(program),
        program_(composed_.task),
        families_(families),
        prepared_(prepared_operations(program_)),
        trial_(program) {
    trial_.views = {};
  }

  // From the last `cat` on, so that the place of a result is known before those of its inputs.
  Views run() {
    for (std::size_t i = program_.operations.size(); i-- > 0;) {
      if (program_.operations[i].kind == "cat" && program_.operations[i].repeat.empty() &&
          !prepared_[i])
        place_inputs(i);
    }
    return views_;
  }

 private:
  const Operation& operation(std::size_t i) const { return program_.operations[i]; }

  bool is_aligned(const Home& home, const ViewPlace& place) const {
    const auto fits = [&](const Expr& elements, const Workload& shape) {
      const auto number = evaluate_or_error(elements, task_scope(program_, shape));
      return number && *number * size_of(home.type) % view_alignment == 0;
    };
    return std::all_of(
        program_.time_shapes.begin(), program_.time_shapes.end(), [&](const Workload& shape) {
          return fits(place.offset, shape) && (home.dim == 0 || fits(home.pitch, shape));
        });
  }

  // The operation that makes an edge; nullopt: none, or one of a loop or that is prepared.
  std::optional<int> maker_of(const std::string& name) const {
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      const auto& outputs = operation(i).outputs;
      if (std::find(outputs.begin(), outputs.end(), name) == outputs.end()) continue;
      if (prepared_[i] || !operation(i).repeat.empty()) return std::nullopt;
      return static_cast<int>(i);
    }
    return std::nullopt;
  }

  std::vector<int> readers_of(const std::string& name) const {
    std::vector<int> out;
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      const auto names = read_names(program_, operation(i));
      if (std::find(names.begin(), names.end(), name) != names.end())
        out.push_back(static_cast<int>(i));
    }
    return out;
  }

  bool may_move(const Home& home, const Operation& cat, std::size_t number) const {
    const std::string& name = cat.inputs[number];
    const Edge* edge = find_edge(program_, name);
    if (edge == nullptr || !edge->repeat.empty() || views_.places.contains(name) ||
        edge_type(program_, name) != home.type || !maker_of(name) ||
        std::count(cat.inputs.begin(), cat.inputs.end(), name) != 1)
      return false;
    const auto readers = readers_of(name);
    return std::none_of(readers.begin(), readers.end(), [&](int reader) {
      return !operation(static_cast<std::size_t>(reader)).repeat.empty();
    });
  }

  // Parts that write or read an edge, as a program may cut them: one operation, and chains of it
  // up to a `cat`, among them composites whole.
  std::vector<Part> parts_around(const std::string& edge) const {
    std::vector<Part> all;
    const auto extended = [&](int first, const std::function<std::optional<int>(int)>& next) {
      Part part;
      for (std::optional<int> one = first; one && part.size() < longest_chain; one = next(*one)) {
        if (operation(static_cast<std::size_t>(*one)).kind == "cat") break;
        part.push_back(*one);
        all.push_back(part);
        std::sort(all.back().begin(), all.back().end());
      }
    };
    extended(*maker_of(edge), [&](int one) -> std::optional<int> {
      for (const std::string& name : operation(static_cast<std::size_t>(one)).inputs) {
        if (find_edge(program_, name) != nullptr && readers_of(name).size() == 1)
          return maker_of(name);
      }
      return std::nullopt;
    });
    for (const int reader : readers_of(edge)) {
      extended(reader, [&](int one) -> std::optional<int> {
        const auto& outputs = operation(static_cast<std::size_t>(one)).outputs;
        const auto readers = readers_of(outputs.front());
        return outputs.size() == 1 && readers.size() == 1 ? std::optional(readers.front())
                                                          : std::nullopt;
      });
    }
    return all;
  }

  std::set<std::string> templates_for(const Task& task) const {
    std::set<std::string> names;
    for (const Tunable& one : templates_of(families_, task)) {
      if (serves(one, task)) names.insert(one.name);
    }
    return names;
  }

  // True if the part has all of its templates with these views. Operands of a product are read from
  // the buffer's beginning.
  bool keeps_templates(const Part& part) const {
    const auto known = dense_.find(part);
    const auto& dense = known != dense_.end()
                            ? known->second
                            : dense_.emplace(part, dense_templates(part)).first->second;
    // A step of a library takes no strides.
    if (!dense) return !step_alone(program_, part, families_);
    const auto viewed = served_part(trial_, part, families_);
    if (!viewed) return false;
    if (viewed->only_views) return true;
    if (const auto product = graph_product(viewed->task)) {
      for (const std::string& operand : {product->a, product->b}) {
        const auto place = viewed->places.find(operand);
        if (place != viewed->places.end() && place->second.offset.text != "0") return false;
      }
    }
    return *dense == templates_for(viewed->task);
  }

  // nullopt: no template serves the part.
  std::optional<std::set<std::string>> dense_templates(const Part& part) const {
    const auto form = served_part(composed_, part, families_);
    return form ? std::optional(templates_for(form->task)) : std::nullopt;
  }

  bool is_free(const std::string& edge, const ViewPlace& place) {
    trial_.views = views_;
    trial_.views.places[edge] = place;
    const auto parts = parts_around(edge);
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Part& part) { return keeps_templates(part); });
  }

  // True if a reader of the result that is no product computes the `cat` itself: one kernel less
  // than with a copy.
  bool is_computed_by_reader(int cat, const Home& home) const {
    if (find_edge(program_, home.name) == nullptr || views_.places.contains(home.name))
      return false;
    const auto readers = readers_of(home.name);
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      const OperatorRow* row = find_operator(operation(static_cast<std::size_t>(reader)).kind);
      return row != nullptr && row->work.matmul_like.empty() &&
             served_part(program_, Part{cat, reader}, families_);
    });
  }

  // Places a result whose inputs stand side by side in a buffer already, as where each `cat` joins
  // what the one before it did and more.
  bool place_result(const Home& home, const Operation& cat) {
    const auto first = views_.places.find(cat.inputs.front());
    const Edge* edge = find_edge(program_, home.name);
    if (edge == nullptr || !edge->repeat.empty() || home.root != home.name ||
        first == views_.places.end())
      return false;
    const auto pitch = pitch_of(
        {.shape = shape_of_value(program_, cat.inputs.front()), .strides = first->second.strides});
    if (!pitch || pitch->outer != home.dim) return false;
    Home there = home;
    there.root = first->second.root;
    there.offset = first->second.offset;
    if (home.dim > 0) there.pitch = pitch->pitch;
    for (std::size_t i = 0; i < cat.inputs.size(); ++i) {
      const auto place = views_.places.find(cat.inputs[i]);
      if (place == views_.places.end() || place->second != place_in(program_, there, cat, i))
        return false;
    }
    ViewPlace place{there.root, there.offset, pitched_strides(home.shape, home.dim, there.pitch)};
    if (!is_free(home.name, place)) return false;
    views_.places[home.name] = std::move(place);
    views_.cats[home.name] = {};
    return true;
  }

  void place_inputs(std::size_t number) {
    const Operation& cat = operation(number);
    const auto home = home_of(program_, views_, cat);
    if (!home || place_result(*home, cat)) return;
    const Views before = views_;
    std::vector<bool> moved;
    for (std::size_t i = 0; i < cat.inputs.size(); ++i) {
      moved.push_back(false);
      if (!may_move(*home, cat, i)) continue;
      ViewPlace place = place_in(program_, *home, cat, i);
      if (!is_aligned(*home, place) || !is_free(cat.inputs[i], place)) continue;
      views_.places[cat.inputs[i]] = std::move(place);
      moved.back() = true;
    }
    // Views between copied inputs are copied with them.
    const auto first = std::find(moved.begin(), moved.end(), false);
    const auto last = std::find(moved.rbegin(), moved.rend(), false);
    const CopiedInputs copied{static_cast<std::size_t>(first - moved.begin()),
                              static_cast<std::size_t>(moved.rend() - last)};
    const bool copies = copied.first < copied.end;
    for (std::size_t i = copied.first; i < copied.end; ++i) {
      if (moved[i]) views_.places.erase(cat.inputs[i]);
    }
    if (copies && copied.end - copied.first == cat.inputs.size()) return;
    views_.cats[home->name] = copies ? copied : CopiedInputs{};
    const Part alone = {static_cast<int>(number)};
    if (copies && (is_computed_by_reader(alone.front(), *home) ||
                   !served_part(program_, alone, families_, {}, views_)))
      views_ = before;
  }

  const ComposedTask& composed_;
  const Task& program_;  // of composed_
  const Families& families_;
  std::vector<bool> prepared_;
  Views views_;
  ComposedTask trial_;  // composed_ with the views that are tried
  mutable std::map<Part, std::optional<std::set<std::string>>> dense_;  // asked for before
};

}  // namespace

CopyPlace copy_place(const Task& program, const Views& views, const Operation& cat,
                     const CopiedInputs& copied) {
  const auto home = home_of(program, views, cat);
  if (!home) return {};
  CopyPlace out;
  out.shape = shape_of_value(program, cat.inputs[copied.first]);
  std::string along;
  for (std::size_t i = copied.first; i < copied.end; ++i)
    along += (along.empty() ? "" : " + ") + shape_of_value(program, cat.inputs[i])[home->dim].text;
  out.shape[home->dim] = along;
  out.view = place_in(program, *home, cat, copied.first);
  out.view.strides = pitched_strides(out.shape, home->dim, home->pitch);
  return out;
}

Views find_views(const Task& program, const Families& families) {
  ComposedTask whole{.given = program, .task = program};
  for (std::size_t i = 0; i < program.operations.size(); ++i)
    whole.origin.push_back(static_cast<int>(i));
  return find_views(whole, families);
}

Views find_views(const ComposedTask& program, const Families& families) {
  return ViewFinder(program, families).run();
}

}  // namespace cupilot
