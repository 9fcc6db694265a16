#include "program/join.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "kernel/library_step.hpp"
#include "program/hooks/pitched.hpp"
#include "program/join_text.hpp"
#include "program/step_values.hpp"
#include "task/identifiers.hpp"
#include "task/repeats.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

class Joiner {
 public:
  Joiner(const Task& program, const std::vector<PartKernel>& parts)
      : program_(program), parts_(parts) {}

  Result<KernelSource> run() {
    if (auto found = find_bodies(); !found) return found.error();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      prepared_.push_back(is_prepared(i));
      texts_.push_back(text_like(i));
      note_lifetimes(i);
    }
    buffers_ = share_buffers(std::move(lifetimes_));
    out_.plan.let = std::move(sizes_);
    out_.plan.buffers = buffers_.buffers;
    out_.plan.buffers.insert(out_.plan.buffers.end(), kept_.begin(), kept_.end());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (auto added = add_plan(i); !added) return added.error();
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto added = body_of(i) == nullptr    ? add_launches(i)
                         : body_of(i)->first == i ? add_steps(*body_of(i))
                                                  : Result<void>();
      if (!added) return added.error();
    }
    out_.template_name = "program";
    out_.text = joined_text();
    return std::move(out_);
  }

 private:
  // The parts of a repeat's body, which follow one another.
  struct Body {
    std::string repeat;
    StepValues values;
    std::size_t first = 0, last = 0;
  };

  Result<void> find_bodies() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Repeat* repeat = find_repeat(program_, parts_[i].form.repeat);
      if (repeat == nullptr) continue;
      if (!bodies_.empty() && bodies_.back().repeat == repeat->name) {
        bodies_.back().last = i;
        continue;
      }
      const auto count = fixed_count(program_, *repeat);
      if (!count)
        return lacks(i, fmt::format("repeat '{}' runs {} times, which is no number", repeat->name,
                                    repeat->count.text));
      bodies_.push_back({repeat->name, StepValues(program_, *repeat, *count), i, i});
    }
    return {};
  }

  const Body* body_of(std::size_t part) const {
    for (const Body& body : bodies_) {
      if (body.first <= part && part <= body.last) return &body;
    }
    return nullptr;
  }

  // The tensor or edge that has the memory of a part's tensor.
  std::string root_of(std::size_t part, const std::string& own) const {
    const PartTask& form = parts_[part].form;
    const auto place = form.places.find(own);
    return place == form.places.end() ? form.tensors.at(own) : place->second.root;
  }

  std::string edge_buffer(const std::string& edge) const {
    if (find_edge(program_, edge) == nullptr) return edge;
    const std::string name = "edge_" + edge;
    return tables_.contains(edge) ? name : buffers_.buffer_of.at(name);
  }

  // True if the part's launches can run as setup: it reads constant tensors and tables of earlier
  // parts, and writes edges alone.
  bool is_prepared(std::size_t part) const {
    const PartKernel& kernel = parts_[part];
    const auto& buffers = kernel.source.plan.buffers;
    if (body_of(part) != nullptr || !kernel.form.places.empty() || kernel.form.only_views)
      return false;
    if (std::any_of(buffers.begin(), buffers.end(), [](const PlanBuffer& buffer) {
          return buffer.content == BufferContent::zeroed;
        }))
      return false;
    const auto& tensors = kernel.form.task.tensors;
    return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& own) {
      const std::string& name = kernel.form.tensors.at(own.name);
      const Tensor* known = find_tensor(program_, name);
      if (own.role == Role::out) return known == nullptr;
      return tables_.contains(name) || (known != nullptr && known->role == Role::constant);
    });
  }

  // Edges live from the part that writes them to the last that reads them, scratch of a part during
  // it.
  void note_lifetimes(std::size_t part) {
    const PartKernel& kernel = parts_[part];
    if (const Body* body = body_of(part)) note_step_values(part, *body);
    for (const Tensor& tensor : kernel.form.task.tensors) {
      if (body_of(part) != nullptr) break;
      const std::string name = root_of(part, tensor.name);
      const Edge* edge = find_edge(program_, name);
      if (edge == nullptr || tables_.contains(name)) continue;
      const auto known =
          std::find_if(lifetimes_.begin(), lifetimes_.end(),
                       [&](const Lifetime& one) { return one.name == "edge_" + name; });
      if (known != lifetimes_.end()) {
        known->last = part;
        continue;
      }
      const std::string size = fmt::format("edge_{}_bytes", name);
      sizes_.emplace_back(size, product_of(with(edge->shape, size_of(edge_type(program_, name)))));
      if (prepared_[part]) {
        tables_.insert(name);
        kept_.push_back({"edge_" + name, size, BufferContent::table});
        continue;
      }
      lifetimes_.push_back({"edge_" + name, size, part, part});
    }
    for (const PlanBuffer& buffer : kernel.source.plan.buffers) {
      if (buffer.content != BufferContent::scratch || prepared_[part]) continue;
      const std::string name = part_prefix(part) + buffer.name;
      sizes_.emplace_back(name + "_bytes", here(part, buffer.bytes));
      lifetimes_.push_back({name, name + "_bytes", part, part});
    }
  }

  // Keeps the values that a body touches alive through all of its steps.
  void note_step_values(std::size_t part, const Body& body) {
    const PartTask& form = parts_[part].form;
    for (const Tensor& tensor : form.task.tensors) {
      const std::string& value = form.tensors.at(tensor.name);
      for (const std::string& name : body.values.outside(value)) {
        const Edge* edge = find_edge(program_, name);
        if (edge == nullptr || tables_.contains(name)) continue;
        live("edge_" + name, product_of(with(edge->shape, size_of(edge_type(program_, name)))),
             body);
      }
      if (!body.values.is_own(value)) continue;
      for (const std::string& buffer : body.values.buffers(value))
        live(buffer, here(part, product_of(with(tensor.shape, size_of(tensor.type)))), body);
    }
  }

  void live(const std::string& name, const Expr& bytes, const Body& body) {
    const auto known = std::find_if(lifetimes_.begin(), lifetimes_.end(),
                                    [&](const Lifetime& one) { return one.name == name; });
    if (known != lifetimes_.end()) {
      known->last = std::max(known->last, body.last);
      return;
    }
    sizes_.emplace_back(name + "_bytes", bytes);
    lifetimes_.push_back({name, name + "_bytes", body.first, body.last});
  }

  static ExprShape with(ExprShape shape, int bytes) {
    shape.push_back(bytes);
    return shape;
  }

  bool has_launch(std::size_t part, const std::string& name) const {
    const auto& launches = parts_[part].source.plan.launches;
    return std::any_of(launches.begin(), launches.end(),
                       [&](const PlanLaunch& launch) { return launch.name == name; });
  }

  // Translates a name of a part's plan to the program's.
  std::optional<std::string> name_here(std::size_t part, const std::string& name) const {
    const PartKernel& kernel = parts_[part];
    const std::string prefix = part_prefix(part);
    if (name.starts_with("dev.")) return std::nullopt;
    if (name.starts_with("resident.")) return "resident." + prefix + name.substr(9);
    if (name.starts_with("elem.")) {
      const Tensor* tensor = find_tensor(kernel.form.task, name.substr(5));
      return tensor == nullptr ? std::nullopt
                               : std::optional(std::to_string(size_of(tensor->type)));
    }
    if (name.ends_with(".ctas") && has_launch(part, name.substr(0, name.size() - 5)))
      return prefix + name;
    for (const auto& [known, expr] : kernel.source.plan.let) {
      if (known == name) return prefix + name;
    }
    if (kernel.source.constants.contains(name)) return prefix + name;
    if (const auto axis = kernel.form.axes.find(name); axis != kernel.form.axes.end())
      return axis->second == Expr(name) ? name : prefix + name;
    const auto constant = kernel.form.task.constants.find(name);
    if (constant != kernel.form.task.constants.end())
      return constant->second < 0 ? fmt::format("(0 - {})", -constant->second)
                                  : std::to_string(constant->second);
    return std::nullopt;
  }

  Expr here(std::size_t part, const Expr& expr) const {
    return renamed_names(expr.text, [&](const std::string& name) { return name_here(part, name); });
  }
  std::vector<Expr> here(std::size_t part, const std::vector<Expr>& exprs) const {
    std::vector<Expr> out;
    for (const Expr& expr : exprs) out.push_back(here(part, expr));
    return out;
  }

  Error lacks(std::size_t part, const std::string& reason) const {
    return {ErrorCode::usage,
            fmt::format("part {} ({}) of {}: {}", part + 1, parts_[part].form.name, program_.name,
                        reason),
            "write the part's kernel anew"};
  }

  // The tensor or buffer that a value of a part is at a step of its body.
  std::string memory_of(std::size_t part, const std::string& value, std::int64_t step) const {
    const Body* body = body_of(part);
    const std::string name = body == nullptr ? value : body->values.at(value, step);
    const auto own = buffers_.buffer_of.find(name);
    return body != nullptr && own != buffers_.buffer_of.end() ? own->second : edge_buffer(name);
  }

  Result<PlanArgument> argument_here(std::size_t part, PlanArgument argument,
                                     std::int64_t step) const {
    const PartKernel& kernel = parts_[part];
    for (PlanArgument& field : argument.fields) {
      auto mapped = argument_here(part, field, step);
      if (!mapped) return mapped.error();
      mapped->at = field.at;
      field = std::move(*mapped);
    }
    if (argument.kind != PlanArgument::Kind::name) {
      argument.value = here(part, argument.value);
      return argument;
    }
    const bool optional = argument.name.ends_with('?');
    const std::string name =
        optional ? argument.name.substr(0, argument.name.size() - 1) : argument.name;
    if (kernel.form.tensors.contains(name)) {
      argument.name = memory_of(part, root_of(part, name), step);
      return argument;
    }
    for (const Scalar& scalar : kernel.form.task.scalars) {
      if (scalar.name != name) continue;
      const bool wide = size_of(scalar.type) == 8;
      return PlanArgument{.kind = wide ? PlanArgument::Kind::i64 : PlanArgument::Kind::i32,
                          .value = bits_of(scalar)};
    }
    argument.name = storage_name(part, name);
    if (is_cleared(part, name)) argument.name = at_step(argument.name, step);
    if (!argument.name.empty()) return argument;
    if (!optional) return lacks(part, fmt::format("argument '{}' is nothing of its task", name));
    argument.name = part_prefix(part) + "no_" + name + "?";
    return argument;
  }

  // True for a buffer that each run finds cleared; each step of a body has one of its own.
  bool is_cleared(std::size_t part, const std::string& name) const {
    const auto& buffers = parts_[part].source.plan.buffers;
    return std::any_of(buffers.begin(), buffers.end(), [&](const PlanBuffer& buffer) {
      return buffer.name == name && buffer.content == BufferContent::zeroed;
    });
  }
  static std::string at_step(const std::string& name, std::int64_t step) {
    return step == 0 ? name : fmt::format("{}_step_{}", name, step);
  }

  // A buffer or map of the part in the program's plan; "": there is none.
  std::string storage_name(std::size_t part, const std::string& name) const {
    const LaunchPlan& plan = parts_[part].source.plan;
    const std::string own = part_prefix(part) + name;
    const auto called = [&](const auto& one) { return one.name == name; };
    const auto buffer = std::find_if(plan.buffers.begin(), plan.buffers.end(), called);
    if (buffer != plan.buffers.end())
      return buffer->content == BufferContent::scratch && !prepared_[part]
                 ? buffers_.buffer_of.at(own)
                 : own;
    return std::any_of(plan.maps.begin(), plan.maps.end(), called) ? own : "";
  }

  // The first part whose text and numbers are those of `part`: one text serves both.
  std::size_t text_like(std::size_t part) const {
    const KernelSource& own = parts_[part].source;
    std::size_t first = 0;
    while (first < part && (parts_[first].source.text != own.text ||
                            parts_[first].source.constants != own.constants ||
                            entries_of(parts_[first].source) != entries_of(own)))
      ++first;
    return first;
  }

  static std::set<std::string> entries_of(const KernelSource& source) {
    std::set<std::string> entries;
    for (const PlanLaunch& launch : source.plan.launches) entries.insert(launch.entry);
    return entries;
  }

  // Entries of `extern "C"` get the part's prefix in text and plan, others its namespace.
  static bool is_plain(const std::string& entry) {
    return std::all_of(entry.begin(), entry.end(), is_identifier_character);
  }

  std::string entry_here(std::size_t part, const std::string& entry) const {
    const std::string& text = parts_[part].source.text;
    if (is_plain(entry) && text.find("extern \"C\"") != std::string::npos)
      return part_prefix(texts_[part]) + entry;
    std::string filled;
    for (std::size_t at = 0; at < entry.size(); ++at) {
      const std::size_t close = entry[at] == '{' ? entry.find('}', at) : std::string::npos;
      if (close == std::string::npos) {
        filled += entry[at];
        continue;
      }
      filled += "{" + here(part, Expr(entry.substr(at + 1, close - at - 1))).text + "}";
      at = close;
    }
    return part_namespace(texts_[part]) + "::" + filled;
  }

  // Gives the part's kernel the places of its views in their buffers.
  Result<void> set_offsets(std::size_t part) {
    const PartTask& form = parts_[part].form;
    if (form.only_views) return {};
    for (const auto& view : form.places) {
      const ViewPlace& place = view.second;
      const std::string name = part_prefix(part) + view_offset(view.first);
      const auto offset = std::find_if(out_.plan.let.begin(), out_.plan.let.end(),
                                       [&](const auto& one) { return one.first == name; });
      if (offset != out_.plan.let.end())
        offset->second = place.offset;
      else if (place.offset != Expr(0))
        return lacks(part, fmt::format("its kernel takes no offset of '{}', which begins {} "
                                       "elements into {}",
                                       view.first, place.offset.text, place.root));
    }
    return {};
  }

  Result<void> add_plan(std::size_t part) {
    const PartKernel& kernel = parts_[part];
    const LaunchPlan& plan = kernel.source.plan;
    const std::string prefix = part_prefix(part);
    LaunchPlan& all = out_.plan;
    for (const auto& [axis, extent] : kernel.form.axes) {
      if (extent != Expr(axis)) all.let.emplace_back(prefix + axis, extent);
    }
    for (const auto& [name, value] : kernel.source.constants)
      out_.constants.emplace(prefix + name, value);
    for (const Expr& one : here(part, plan.require)) all.require.push_back(one);
    for (const auto& [name, expr] : plan.let) all.let.emplace_back(prefix + name, here(part, expr));
    if (auto set = set_offsets(part); !set) return set.error();
    for (const PlanBuffer& buffer : plan.buffers) {
      const bool scratch = buffer.content == BufferContent::scratch;
      if (scratch && !prepared_[part]) continue;
      const Body* body = body_of(part);
      const bool each = body != nullptr && buffer.content == BufferContent::zeroed;
      for (std::int64_t step = 0; step < (each ? body->values.count() : 1); ++step)
        all.buffers.push_back({at_step(prefix + buffer.name, step), here(part, buffer.bytes),
                               scratch ? BufferContent::table : buffer.content});
    }
    for (PlanTensorMap map : plan.maps) {
      const auto tensor = kernel.form.tensors.find(map.of);
      const std::string own = storage_name(part, map.of);
      const Body* body = body_of(part);
      if (body != nullptr && tensor != kernel.form.tensors.end() &&
          body->values.at(tensor->second, 0) != tensor->second)
        return lacks(part, fmt::format("map '{}' is of what each step has elsewhere", map.name));
      map.of = tensor != kernel.form.tensors.end() ? edge_buffer(root_of(part, map.of)) : own;
      if (map.of.empty()) return lacks(part, fmt::format("map '{}' is of nothing", map.name));
      map.name = prefix + map.name;
      map.dims = here(part, map.dims);
      map.pitch = here(part, map.pitch);
      map.box = here(part, map.box);
      all.maps.push_back(std::move(map));
    }
    if (plan.launches.empty() && !kernel.form.only_views)
      return lacks(part, "its plan has no launch");
    if (!plan.textures.empty()) return lacks(part, "its plan has textures, which no program joins");
    return {};
  }

  Result<void> add_launches(std::size_t part, std::int64_t step = 0) {
    for (const PlanLaunch& launch : parts_[part].source.plan.launches) {
      if (auto added = add_launch(part, launch, step); !added) return added;
    }
    return {};
  }

  // Launches of all steps of a body, one after the other.
  Result<void> add_steps(const Body& body) {
    for (std::int64_t step = 0; step < body.values.count(); ++step) {
      std::set<std::string> copied;
      for (std::size_t part = body.first; part <= body.last; ++part) {
        const PartTask& form = parts_[part].form;
        for (const Tensor& tensor : form.task.tensors) {
          const auto copy = body.values.copy_in(form.tensors.at(tensor.name), step);
          if (copy && copied.insert(copy->value).second) add_copy(part, tensor, *copy, step, true);
        }
        if (auto added = add_launches(part, step); !added) return added;
        for (const Tensor& tensor : form.task.tensors) {
          const auto copy = body.values.copy_out(form.tensors.at(tensor.name), step);
          if (copy && tensor.role != Role::in) add_copy(part, tensor, *copy, step, false);
        }
      }
    }
    return {};
  }

  // A launch that copies a value between its buffer and its place among all steps.
  void add_copy(std::size_t part, const Tensor& tensor, const StepCopy& copy, std::int64_t step,
                bool in) {
    const std::string value = memory_of(part, copy.value, step), whole = edge_buffer(copy.whole);
    const Expr count = here(part, product_of(tensor.shape));
    const auto number = [](const Expr& what) {
      return PlanArgument{.kind = PlanArgument::Kind::i64, .value = what};
    };
    const Expr place = fmt::format("({}) * ({})", copy.place.text, count.text);
    const int bytes = size_of(tensor.type);
    copied_.insert(bytes);
    PlanLaunch launch{.name = fmt::format("copy_{}", copies_++), .entry = copy_entry(bytes)};
    launch.grid = {copy_blocks};
    launch.block = {copy_threads};
    launch.args = {PlanArgument{.name = in ? whole : value}, number(in ? place : Expr(0)),
                   PlanArgument{.name = in ? value : whole}, number(in ? Expr(0) : place),
                   number(count)};
    out_.plan.launches.push_back(std::move(launch));
  }

  Result<void> add_launch(std::size_t part, PlanLaunch launch, std::int64_t step) {
    launch.name =
        at_step(part_prefix(part) + (launch.name.empty() ? launch.entry : launch.name), step);
    launch.entry = entry_here(part, launch.entry);
    launch.grid = here(part, launch.grid);
    launch.block = here(part, launch.block);
    launch.cluster = here(part, launch.cluster);
    launch.shared = here(part, launch.shared);
    if (prepared_[part]) launch.when = When::setup;
    for (PlanArgument& argument : launch.args) {
      auto mapped = argument_here(part, argument, step);
      if (!mapped) return mapped.error();
      argument = std::move(*mapped);
    }
    out_.plan.launches.push_back(std::move(launch));
    return {};
  }

  // A part's text with entries that have its prefix.
  std::string part_text(std::size_t part) const {
    const KernelSource& source = parts_[part].source;
    std::set<std::string> entries;
    for (const PlanLaunch& launch : source.plan.launches) {
      if (is_plain(launch.entry) && source.text.find("extern \"C\"") != std::string::npos)
        entries.insert(launch.entry);
    }
    return renamed(source.text, [&](const std::string& word) -> std::optional<std::string> {
      return entries.contains(word) ? std::optional(part_prefix(part) + word) : std::nullopt;
    });
  }

  std::string heading() const {
    std::string text = fmt::format("// {}, class {}: a program of {} parts, one after another\n",
                                   program_.name, name_of(program_.precision), parts_.size());
    for (const Body& body : bodies_)
      text += fmt::format("//  repeat {}: parts {} to {}, {} times\n", body.repeat, body.first + 1,
                          body.last + 1, body.values.count());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      text += fmt::format("//  {}: {}{}{}\n", i + 1, parts_[i].form.name,
                          prepared_[i] ? ", once before, of constants alone"
                          : parts_[i].form.only_views
                              ? ", no kernel: other parts write its inputs in place"
                              : "",
                          texts_[i] == i || parts_[i].form.only_views
                              ? ""
                              : fmt::format(", by the kernels of part {}", texts_[i] + 1));
      for (const StepLibrary& library : step_libraries())
        if (has_step_of(parts_[i].source.plan, library.name))
          text += fmt::format("//     by {}; its kernel stands in elsewhere\n", library.name);
    }
    for (const std::string& line : view_lines(parts_)) text += "//  " + line + "\n";
    for (const PlanBuffer& buffer : buffers_.buffers) {
      std::string held;
      for (const auto& [name, in] : buffers_.buffer_of) {
        if (in == buffer.name && name != buffer.name) held += (held.empty() ? "" : ", ") + name;
      }
      if (!held.empty()) text += fmt::format("//  buffer {} later holds {}\n", buffer.name, held);
    }
    return text;
  }

  std::string joined_text() const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      texts.push_back(texts_[i] == i ? part_text(i) : "");
    std::string out = heading() + "\n" + hoist_headers(texts);
    const std::set<std::string> arrays = clashing_arrays(texts);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (texts_[i] != i || parts_[i].form.only_views) continue;
      out += fmt::format("\n// Part {}: {}\nnamespace part_{} {{\n", i + 1, parts_[i].form.name,
                         i + 1);
      for (const std::string& array : arrays)
        out += fmt::format("#define {} {}{}\n", array, part_prefix(i), array);
      out += texts[i];
      if (!out.ends_with('\n')) out += '\n';
      for (const std::string& macro : macros_in(texts[i])) out += "#undef " + macro + "\n";
      for (const std::string& array : arrays) out += "#undef " + array + "\n";
      out += fmt::format("}}  // namespace part_{}\n", i + 1);
    }
    for (const int bytes : copied_) out += copy_text(bytes);
    return out;
  }

  const Task& program_;
  const std::vector<PartKernel>& parts_;
  std::vector<Body> bodies_;
  int copies_ = 0;        // launches that copy
  std::set<int> copied_;  // sizes of the elements that they copy
  std::vector<Lifetime> lifetimes_;
  std::vector<std::pair<std::string, Expr>> sizes_;
  SharedBuffers buffers_;
  std::vector<bool> prepared_;      // a part: its launches are setup
  std::vector<std::size_t> texts_;  // a part: the first one whose text serves it
  std::set<std::string> tables_;    // edges that prepared parts write
  std::vector<PlanBuffer> kept_;    // of these edges
  KernelSource out_;
};

}  // namespace

std::string part_prefix(std::size_t part) { return fmt::format("p{}_", part + 1); }

std::string part_namespace(std::size_t part) { return fmt::format("part_{}", part + 1); }

SharedBuffers share_buffers(std::vector<Lifetime> lifetimes) {
  std::stable_sort(lifetimes.begin(), lifetimes.end(),
                   [](const Lifetime& a, const Lifetime& b) { return a.first < b.first; });
  SharedBuffers out;
  std::vector<std::size_t> busy_until;
  for (const Lifetime& one : lifetimes) {
    std::size_t place = 0;
    while (place < busy_until.size() && busy_until[place] >= one.first) ++place;
    if (place == busy_until.size()) {
      out.buffers.push_back({.name = one.name, .bytes = one.bytes});
      busy_until.push_back(one.last);
    } else {
      Expr& bytes = out.buffers[place].bytes;
      bytes = fmt::format("max({}, {})", bytes.text, one.bytes.text);
      busy_until[place] = one.last;
    }
    out.buffer_of[one.name] = out.buffers[place].name;
  }
  return out;
}

std::vector<std::string> view_lines(const std::vector<PartKernel>& parts) {
  std::map<std::string, std::string> lines;  // by view
  for (const PartKernel& part : parts) {
    for (const auto& [own, place] : part.form.places) {
      const std::string& name = part.form.tensors.at(own);
      const std::string& kind = part.form.task.operations.front().kind;
      const bool copies = find_tensor(part.form.task, own)->role == Role::out &&
                          (kind == "cat" || kind == "identity");  // some of its inputs
      if (name == place.root || copies) continue;
      lines[name] =
          fmt::format("{} lies in {}, from element {} on", name, place.root, place.offset.text);
    }
  }
  std::vector<std::string> out;
  for (auto& [name, line] : lines) out.push_back(std::move(line));
  return out;
}

Result<KernelSource> join_parts(const Task& program, const std::vector<PartKernel>& parts) {
  if (parts.empty())
    return Error{ErrorCode::usage, "program of " + program.name + ": it has no part",
                 "name at least one"};
  return Joiner(program, parts).run();
}

}  // namespace cupilot
