#include "program/part_task.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "program/family_part.hpp"
#include "program/hooks/renaming.hpp"
#include "task/identifiers.hpp"
#include "task/operators.hpp"
#include "task/prepared.hpp"
#include "task/repeats.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

std::string joined_names(const Task& program, const Part& part) {
  std::string name;
  for (const int i : part)
    name += (name.empty() ? "" : "_") + program.operations[static_cast<std::size_t>(i)].name;
  return name;
}

Error unserved(const Task& program, const Part& part, const std::string& reason) {
  return {ErrorCode::usage,
          fmt::format("task '{}', part {}: {}", program.name, joined_names(program, part), reason),
          "add a template that serves it (docs/formats/tunable.md, Hooks)"};
}

// Collects the tensors of a part in the order in which its operations name them.
class GraphPart {
 public:
  GraphPart(const Task& program, const Part& part, const EdgeFills& fills, const Views& views)
      : program_(program), part_(part), fills_(fills), views_(views) {}

  Result<PartTask> run() {
    out_.name = joined_names(program_, part_);
    Task& task = out_.task;
    task.name = out_.name;
    task.family = "part:";
    out_.repeat = operation(part_.front()).repeat;
    for (const int i : part_) {
      if (operation(i).repeat != out_.repeat)
        return unserved(program_, part_, "it lies within the body of a repeat and without");
      for (const std::string& name : operation(i).outputs) made_.insert(plain(name));
    }
    for (const int i : part_) {
      task.operations.push_back(operation(i));
      task.family += (i == part_.front() ? "" : "+") + task.operations.back().kind;
      task.operations.back().repeat.clear();
      for (auto* names : {&task.operations.back().inputs, &task.operations.back().outputs})
        for (std::string& name : *names) name = own_name(plain(name));
    }
    const CopiedInputs* copied = part_.size() == 1 ? copied_inputs() : nullptr;
    if (copied != nullptr) out_.only_views = copied->first == copied->end;
    if (copied != nullptr && !out_.only_views) {
      if (auto kept = keep_copies(*copied); !kept) return kept.error();
      return finished();
    }
    for (const int i : part_) {
      for (const std::string& name : operation(i).inputs) {
        if (name.empty() || made_.contains(plain(name))) continue;
        if (auto added = add(plain(name), Role::in); !added) return added.error();
      }
    }
    for (const int i : part_) {
      for (const std::string& name : operation(i).outputs) {
        if (!is_wanted(name)) continue;
        if (auto added = add(plain(name), Role::out); !added) return added.error();
      }
    }
    if (reads_views_of_own_cat())
      return unserved(program_, part_, "it computes a `cat` whose inputs are views of the result");
    return finished();
  }

 private:
  Result<PartTask> finished() {
    Task& task = out_.task;
    task.constants = program_.constants;
    task.precision = program_.precision;
    task.deterministic = program_.deterministic;
    add_axes();
    if (auto completed = complete(task); !completed) return completed.error();
    if (auto valid = validate(task); !valid) return valid.error();
    return std::move(out_);
  }

  // Inputs that a part which is a `cat` alone copies; null: it is none with views.
  const CopiedInputs* copied_inputs() const {
    const Operation& cat = operation(part_.front());
    const auto found =
        cat.kind == "cat" ? views_.cats.find(cat.outputs.front()) : views_.cats.end();
    return found == views_.cats.end() ? nullptr : &found->second;
  }

  // True if others write inputs of a `cat` of the part where its result has them.
  bool reads_views_of_own_cat() const {
    if (part_.size() == 1) return false;
    return std::any_of(part_.begin(), part_.end(), [&](int i) {
      const auto& inputs = operation(i).inputs;
      return views_.cats.contains(operation(i).outputs.front()) &&
             std::any_of(inputs.begin(), inputs.end(), [&](const std::string& name) {
               return views_.places.contains(name) && own_names_.contains(name) &&
                      find_tensor(out_.task, own_names_.at(name)) != nullptr;
             });
    });
  }

  // The part of a `cat` that copies some inputs into the result, the others being there.
  Result<void> keep_copies(const CopiedInputs& copied) {
    const Operation& cat = operation(part_.front());
    const std::vector<std::string> inputs(
        cat.inputs.begin() + static_cast<std::ptrdiff_t>(copied.first),
        cat.inputs.begin() + static_cast<std::ptrdiff_t>(copied.end));
    for (const std::string& name : inputs) {
      if (auto added = add(name, Role::in); !added) return added.error();
    }
    if (auto added = add(cat.outputs.front(), Role::out); !added) return added.error();
    Operation& own = out_.task.operations.front();
    own.inputs.clear();
    for (const std::string& name : inputs) own.inputs.push_back(own_name(name));
    if (inputs.size() == 1) own.kind = "identity", own.attributes.clear();
    out_.task.family = "part:" + own.kind;
    Tensor& result = out_.task.tensors.back();
    const CopyPlace place = copy_place(program_, views_, cat, copied);
    result.shape = place.shape;
    result.strides = place.view.strides;
    result.alignment = view_alignment;
    out_.places[result.name] = place.view;
    return {};
  }

  const Operation& operation(int i) const {
    return program_.operations[static_cast<std::size_t>(i)];
  }

  // One text for one value.
  static std::string plain(const std::string& text) {
    const StepName name = step_name(text);
    return name.sliced() ? fmt::format("{}[{}]", name.base, name.index.text) : text;
  }

  // The part's name of what the program calls so: without places of steps.
  std::string own_name(const std::string& text) {
    if (text.empty()) return text;
    const auto known = own_names_.find(text);
    if (known != own_names_.end()) return known->second;
    const std::string base = step_name(text).base;
    std::string name = base;
    const auto taken = [&] {
      return std::any_of(own_names_.begin(), own_names_.end(),
                         [&](const auto& one) { return one.second == name; });
    };
    for (int i = 2; taken(); ++i) name = fmt::format("{}_{}", base, i);
    return own_names_[text] = name;
  }

  // True for an output of the program, for what an operation of another part reads, and for what is
  // handed to the next step.
  bool is_wanted(const std::string& text) const {
    const StepName name = step_name(text);
    if (find_tensor(program_, name.base) != nullptr || name.sliced()) return true;
    if (const Repeat* repeat = find_repeat(program_, out_.repeat)) {
      if (std::any_of(repeat->carried.begin(), repeat->carried.end(),
                      [&](const Carried& one) { return step_name(one.next) == name; }))
        return true;
    }
    for (int i = 0; i < static_cast<int>(program_.operations.size()); ++i) {
      if (std::find(part_.begin(), part_.end(), i) != part_.end()) continue;
      const auto inputs = read_names(program_, operation(i));
      if (std::find(inputs.begin(), inputs.end(), name.base) != inputs.end()) return true;
    }
    return false;
  }

  // The program's tensor or edge of this name as a tensor.
  std::optional<Tensor> known_as(const std::string& name) const {
    if (const Tensor* known = find_tensor(program_, name)) return *known;
    const Edge* edge = find_edge(program_, name);
    if (edge == nullptr) return std::nullopt;
    return Tensor{.name = name, .type = edge_type(program_, name), .shape = edge->shape};
  }

  Result<void> add(const std::string& text, Role role) {
    const std::string own = own_name(text);
    if (find_tensor(out_.task, own) != nullptr) return {};
    const StepName name = step_name(text);
    const Repeat* repeat = find_repeat(program_, out_.repeat);
    const Carried* carried = repeat == nullptr ? nullptr : find_carried(*repeat, text);
    const std::string next = carried == nullptr ? name.base : step_name(carried->next).base;
    auto known = known_as(carried == nullptr ? name.base : carried->from);
    if (!known) return unserved(program_, part_, "'" + text + "' is nothing of the program");
    Tensor made = std::move(*known);
    if (carried != nullptr) {
      const auto later = known_as(next);
      if (!later || later->type != made.type)
        return unserved(program_, part_, "'" + text + "' changes its type after a step");
    }
    const bool is_place = name.sliced() || is_collected(text);
    if (is_place && !made.strides.empty())
      return unserved(program_, part_, "'" + text + "' is a place of a tensor with strides");
    if (is_place) made.shape.erase(made.shape.begin());
    if (made.shape.empty()) made.shape.push_back(1);
    const bool given = find_tensor(program_, name.base) != nullptr;
    if (given) made.check.length = 1;  // of the part's own sums
    const bool written = made.role == Role::out || made.role == Role::in_out;
    if (!given || (role == Role::in && written)) made.role = role;
    made.name = own;
    if (const auto place = views_.places.find(name.base);
        place != views_.places.end() && out_.repeat.empty()) {
      made.strides = place->second.strides;
      made.alignment = view_alignment;
      out_.places[own] = place->second;
    }
    if (const auto fill = fills_.find(next); fill != fills_.end()) made.fill = fill->second;
    out_.tensors[own] = text;
    out_.task.tensors.push_back(std::move(made));
    return {};
  }

  // True for a value of the body of which a tensor holds all steps.
  bool is_collected(const std::string& text) const {
    return !out_.repeat.empty() && find_tensor(program_, text) != nullptr &&
           std::any_of(program_.operations.begin(), program_.operations.end(),
                       [&](const Operation& one) {
                         return one.repeat == out_.repeat &&
                                std::find(one.outputs.begin(), one.outputs.end(), text) !=
                                    one.outputs.end();
                       });
  }

  bool uses_axis(const std::string& axis) const {
    for (const Tensor& tensor : out_.task.tensors) {
      for (const auto* texts : {&tensor.shape, &tensor.strides}) {
        for (const Expr& text : *texts)
          if (uses(text.text, axis)) return true;
      }
      if (uses(tensor.fill.below.text, axis)) return true;
    }
    for (const Operation& operation : out_.task.operations) {
      for (const auto& [name, value] : operation.attributes) {
        const auto* text = std::get_if<std::string>(&value);
        if (text != nullptr && uses(*text, axis)) return true;
      }
    }
    return false;
  }

  bool is_of_output(const std::string& axis) const {
    return std::any_of(
        out_.task.tensors.begin(), out_.task.tensors.end(), [&](const Tensor& tensor) {
          return (tensor.role == Role::out || tensor.role == Role::in_out) &&
                 std::any_of(tensor.shape.begin(), tensor.shape.end(),
                             [&](const Expr& extent) { return uses(extent.text, axis); });
        });
  }

  void add_axes() {
    Task& task = out_.task;
    for (Axis axis : program_.axes) {
      if (!uses_axis(axis.name)) continue;
      if (axis.kind != AxisKind::fixed)
        axis.kind = is_of_output(axis.name) ? AxisKind::free : AxisKind::reduced;
      task.axes.push_back(axis);
      out_.axes[axis.name] = axis.name;
    }
    task.time_shapes = projected(program_.time_shapes);
    task.check_shapes = projected(program_.check_shapes);
  }

  // Sizes of the axes that the part has; equal ones once.
  std::vector<Workload> projected(const std::vector<Workload>& all) const {
    std::vector<Workload> out;
    for (Workload workload : all) {
      std::erase_if(workload.sizes,
                    [&](const auto& size) { return !out_.axes.contains(size.first); });
      const bool known = std::any_of(out.begin(), out.end(), [&](const Workload& other) {
        return other.sizes == workload.sizes;
      });
      if (!known) out.push_back(std::move(workload));
    }
    return out;
  }

  const Task& program_;
  const Part& part_;
  const EdgeFills& fills_;
  const Views& views_;
  std::set<std::string> made_;                    // by the part
  std::map<std::string, std::string> own_names_;  // by the program's
  PartTask out_;
};

bool is_served(const Task& task, const Families& families) {
  const auto templates = templates_of(families, task);
  return std::any_of(templates.begin(), templates.end(),
                     [&](const Tunable& one) { return serves(one, task); });
}

std::optional<PartTask> family_part(const PartTask& graph, const Families& families) {
  for (const Family& family : families) {
    for (PartTask& made : family_forms(graph, family, families)) {
      if (is_served(made.task, families)) return std::move(made);
    }
  }
  return std::nullopt;
}

// The family's template in the names of a task that has another form of the family's own.
Tunable renamed(const Tunable& tunable, const Task& task, const PartTask& form) {
  Renaming renaming(task);
  renaming.tensors = form.tensors;
  for (const auto& [axis, extent] : form.axes) renaming.names[axis] = "(" + extent.text + ")";
  renaming.set_constants(form.task.constants);
  Tunable out = renaming.applied(tunable);
  out.family = task.family;
  out.anchor.clear();
  return out;
}

}  // namespace

std::vector<Tunable> templates_of_operator(const Families& families, const Task& task) {
  std::vector<Tunable> out;
  if (!task.repeats.empty()) return out;
  const PartTask graph = whole_task(task);
  for (const Family& family : families) {
    for (const PartTask& form : family_forms(graph, family, families)) {
      if (!form.task.scalars.empty()) continue;
      for (const Tunable& tunable : family.templates) {
        const bool has_words = tunable.anchor.empty() || tunable.anchor == "weighted";
        if (has_words && serves(tunable, form.task)) out.push_back(renamed(tunable, task, form));
      }
    }
  }
  return out;
}

DType edge_type(const Task& program, std::string_view edge) {
  const DType rounded = program.precision == Precision::fp64 ? DType::f64 : DType::f32;
  const auto maker = std::find_if(program.operations.begin(), program.operations.end(),
                                  [&](const Operation& operation) {
                                    const auto made = made_names(program, operation);
                                    return std::find(made.begin(), made.end(), edge) != made.end();
                                  });
  const OperatorRow* row = maker == program.operations.end() ? nullptr : find_operator(maker->kind);
  // A pad's value may be none of the type.
  if (row == nullptr || row->group != "layout" || row->name == "pad") return rounded;
  std::optional<DType> type;
  for (const std::string& name : read_names(program, *maker)) {
    const Tensor* tensor = find_tensor(program, name);
    const DType moved = tensor != nullptr ? tensor->type : edge_type(program, name);
    const bool indices = type && unit_roundoff(*type) > 0 && unit_roundoff(moved) == 0;
    if (indices) continue;
    if (type && *type != moved) return rounded;
    type = moved;
  }
  return type.value_or(rounded);
}

const Edge* find_edge(const Task& task, std::string_view name) {
  const auto found = std::find_if(task.edges.begin(), task.edges.end(),
                                  [&](const Edge& edge) { return edge.name == name; });
  return found == task.edges.end() ? nullptr : &*found;
}

std::set<std::string> edge_names(const Task& task) {
  std::set<std::string> names;
  for (const Edge& edge : task.edges) names.insert(edge.name);
  return names;
}

Result<Task> exposed_task(const Task& program, const std::set<std::string>& edges) {
  if (program.operations.empty())
    return Error{ErrorCode::usage, "task '" + program.name + "' has no operations",
                 "state it as a graph (docs/formats/task.md)"};
  Task out = program;
  for (const Edge& edge : program.edges) {
    if (!edges.contains(edge.name)) continue;
    out.tensors.push_back({.name = edge.name,
                           .role = Role::out,
                           .type = edge_type(program, edge.name),
                           .shape = edge.shape});
    if (const Repeat* repeat = find_repeat(program, edge.repeat))  // all steps
      out.tensors.back().shape.insert(out.tensors.back().shape.begin(), repeat->count);
  }
  out.edges.clear();
  out.reference = {};
  const std::vector<bool> prepared = prepared_operations(program);
  // Here they run each time.
  if (std::find(prepared.begin(), prepared.end(), true) != prepared.end()) out.work.flops = 0;
  if (auto completed = complete(out); !completed) return completed.error();
  if (auto valid = validate(out); !valid) return valid.error();
  return out;
}

Result<PartTask> graph_part(const Task& program, const Part& part, const EdgeFills& fills,
                            const Views& views) {
  return GraphPart(program, part, fills, views).run();
}

PartTask whole_task(const Task& program) {
  PartTask out{.name = program.name, .task = program};
  for (const Tensor& tensor : program.tensors) out.tensors[tensor.name] = tensor.name;
  for (const Axis& axis : program.axes) out.axes[axis.name] = axis.name;
  return out;
}

std::optional<PartTask> stated_part(const Task& program, int operation, const Families& families) {
  const auto graph = graph_part(program, {operation});
  if (!graph) return std::nullopt;
  for (const Family& family : families) {
    auto forms = family_forms(*graph, family, families);
    if (!forms.empty()) return std::move(forms.front());
  }
  return std::nullopt;
}

std::string read_before_update(const Task& program, const Part& part) {
  const auto holds = [](const auto& all, const auto& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  for (const Tensor& tensor : program.tensors) {
    if (tensor.role != Role::in_out) continue;
    for (int i = 0; i < static_cast<int>(program.operations.size()); ++i) {
      const Operation& updating = program.operations[static_cast<std::size_t>(i)];
      if (holds(part, i) || !(holds(updating.outputs, tensor.name) ||
                              holds(made_names(program, updating), tensor.name)))
        continue;
      for (const int reader : part) {
        const Operation& reading = program.operations[static_cast<std::size_t>(reader)];
        if (reader < i && (holds(reading.inputs, tensor.name) ||
                           holds(read_names(program, reading), tensor.name)))
          return tensor.name;
      }
    }
  }
  return "";
}

Result<PartTask> served_part(const Task& program, const Part& part, const Families& families,
                             const EdgeFills& fills, const Views& views) {
  if (const std::string name = read_before_update(program, part); !name.empty())
    return unserved(program, part, "another part updates " + name + ", which it reads before");
  if (part.size() == program.operations.size() && is_served(program, families))
    return whole_task(program);
  auto graph = graph_part(program, part, fills, views);
  if (!graph || graph->only_views) return graph;
  if (auto made = family_part(*graph, families)) return std::move(*made);
  if (is_served(graph->task, families)) return graph;
  return unserved(program, part, "no template and no family serves it");
}

}  // namespace cupilot
