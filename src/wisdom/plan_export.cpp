#include "wisdom/plan_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "base/expr_parse.hpp"
#include "kernel/library_step.hpp"
#include "kernel/plan_arguments.hpp"
#include "kernel/plan_cpp.hpp"

namespace cupilot {
namespace {

// Writes expressions as C++ and collects the definitions they need, each before its use.
class Exporter {
 public:
  Exporter(const Task& task, const WisdomKernel* kernel) : task_(task), kernel_(kernel) {}

  std::string text(const Expr& expr) {
    const auto parsed = parse_expr(expr.text);
    if (std::holds_alternative<ExprFault>(parsed))
      return refuse(fmt::format("`{}` is no expression", expr.text));
    std::map<int, std::pair<std::size_t, std::string>> edits;  // by column: length, replacement
    for (const ExprNode& node : std::get<ExprTree>(parsed).nodes) {
      if (node.op == ExprOp::name) edits[node.column] = {node.name.size(), reference(node.name)};
      // Products of small literals fit int; others are 64 bits wide from the start.
      if (node.op == ExprOp::literal && node.value > 32767) {
        const std::string digits = std::to_string(node.value);
        edits[node.column] = {digits.size(), digits + "l"};
      }
    }
    std::string out = expr.text;
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
      out.replace(static_cast<std::size_t>(edit->first) - 1, edit->second.first,
                  edit->second.second);
    }
    return out;
  }

  std::string list(const std::vector<Expr>& exprs) {
    std::string out;
    for (const Expr& expr : exprs) out += (out.empty() ? "" : ", ") + text(expr);
    return "{" + out + "}";
  }

  // Three sides, 1 where the plan has none.
  std::string sides(std::vector<Expr> exprs) {
    exprs.resize(3, Expr(1));
    return list(exprs);
  }

  // Definitions of everything written so far, in order of need.
  const std::string& definitions() const { return definitions_; }
  const std::string& refused() const { return refused_; }

 private:
  std::string refuse(std::string reason) {
    if (refused_.empty()) refused_ = std::move(reason);
    return "0";
  }

  // Returns what stands for a name in C++; writes its definition first.
  std::string reference(std::string_view name) {
    const std::string out = cpp_name(name);
    if (kernel_ != nullptr) {
      for (const auto& [let, expr] : kernel_->source.plan.let) {
        if (let == name)
          return defined(out, name, [&, &text = expr] { return lambda(out, this->text(text)); }) +
                 "()";
      }
      if (const PlanLaunch* launch = launch_called(name, "resident.", "")) {
        return defined(out, name, [&] { return resident(out, *launch); }) + "()";
      }
      if (const PlanLaunch* launch = launch_called(name, "", ".ctas")) {
        return defined(out, name, [&] { return lambda(out, product(launch->grid)); }) + "()";
      }
      if (const auto at = kernel_->source.constants.find(std::string(name));
          at != kernel_->source.constants.end()) {
        return constant(out, name, at->second);
      }
      static const std::set<std::string_view> device = {"sms", "shared", "threads", "registers",
                                                        "l2",  "blocks", "cc"};
      if (name.starts_with("dev.") && device.contains(name.substr(4))) {
        return defined(out, name, [&] {
          return fmt::format("const Int {} = query.device.{};", out, name.substr(4));
        });
      }
    }
    for (std::size_t i = 0; i < task_.axes.size(); ++i) {
      if (task_.axes[i].name != name) continue;
      const char* sizes = kernel_ != nullptr ? "query.sizes" : "sizes";
      return defined(out, name,
                     [&] { return fmt::format("const Int {} = {}[{}];", out, sizes, i); });
    }
    if (const auto at = task_.constants.find(std::string(name)); at != task_.constants.end())
      return constant(out, name, at->second);
    const ExprValue value = task_scope(task_, task_.time_shapes.front())(name);  // elem.T, class.X
    if (const auto* number = std::get_if<std::int64_t>(&value)) return constant(out, name, *number);
    return refuse(fmt::format("'{}' has no meaning outside a search", name));
  }

  std::string constant(const std::string& out, std::string_view name, std::int64_t value) {
    return defined(out, name, [&] {
      return fmt::format("const Int {} = {}{};", out, value, value > INT32_MAX ? "l" : "");
    });
  }

  std::string lambda(const std::string& out, const std::string& value) const {
    return fmt::format("const auto {} = [&]() -> Int {{ return {}; }};", out, value);
  }

  std::string product(const std::vector<Expr>& exprs) {
    std::string out;
    for (const Expr& expr : exprs)
      out += fmt::format("{}({})", out.empty() ? "" : " * ", text(expr));
    return out;
  }

  std::string resident(const std::string& out, const PlanLaunch& launch) {
    const std::string entry = entry_name(launch), threads = product(launch.block),
                      shared = text(launch.shared);
    return lambda(out, fmt::format("query.resident(query.context, {}, {}, {})", cpp_quoted(entry),
                                   threads, shared));
  }

  template <class Make>
  std::string defined(const std::string& out, std::string_view name, const Make& make) {
    if (done_.contains(std::string(name))) return out;
    if (!open_.insert(std::string(name)).second)
      return refuse(fmt::format("'{}' needs itself", name));
    const std::string line = make();  // may define what it needs
    definitions_ += "  " + line + "\n";
    done_.insert(std::string(name));
    return out;
  }

  const PlanLaunch* launch_called(std::string_view name, std::string_view before,
                                  std::string_view after) const {
    if (!name.starts_with(before) || !name.ends_with(after) ||
        name.size() <= before.size() + after.size())
      return nullptr;
    const std::string_view bare =
        name.substr(before.size(), name.size() - before.size() - after.size());
    for (const PlanLaunch& launch : kernel_->source.plan.launches) {
      if (launch.name == bare && before.size() + after.size() > 0) return &launch;
    }
    return nullptr;
  }

 public:
  // As the cubin spells it, {CONSTANT}s filled in.
  std::string entry_name(const PlanLaunch& launch) {
    std::string filled = launch.entry;
    for (std::size_t open = filled.find('{'); open != std::string::npos; open = filled.find('{')) {
      const std::size_t close = filled.find('}', open);
      const auto at = kernel_->source.constants.find(filled.substr(open + 1, close - open - 1));
      if (close == std::string::npos || at == kernel_->source.constants.end())
        return refuse(launch.entry + " names no constant");
      filled.replace(open, close - open + 1, std::to_string(at->second));
    }
    for (const auto& [source, lowered] : kernel_->entries) {
      if (source == filled) return lowered;
    }
    return refuse(fmt::format("the kernel has no entry {}", filled));
  }

 private:
  const Task& task_;
  const WisdomKernel* kernel_;
  std::string definitions_, refused_;
  std::set<std::string> open_, done_;
};

template <class List>
int index_in(const List& list, std::string_view name) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

PlanCpp::Map map_of(Exporter& exporter, const Task& task, const LaunchPlan& plan,
                    const PlanTensorMap& map) {
  const int tensor = index_in(task.tensors, map.of);
  return {tensor < 0,
          tensor < 0 ? index_in(plan.buffers, map.of) : tensor,
          map.type,
          map.swizzle,
          exporter.list(map.dims),
          exporter.list(map.pitch),
          exporter.list(map.box)};
}

using ArgumentKind = ResolvedArgument::Kind;

// A scalar's bits, which a kernel takes by value.
PlanCpp::Argument scalar_argument(const Scalar& scalar) {
  std::int64_t bits = 0;
  int bytes = 8;
  if (scalar.type == DType::f32) {
    const auto value = static_cast<float>(scalar.value);
    std::int32_t word = 0;
    std::memcpy(&word, &value, bytes = 4);
    bits = word;
  } else if (scalar.type == DType::f64) {
    std::memcpy(&bits, &scalar.value, 8);
  } else {
    bits = static_cast<std::int64_t>(scalar.value);
    bytes = static_cast<int>(size_of(scalar.type));
  }
  PlanCpp::Argument out;
  out.kind = ArgumentKind::immediate;
  out.number = fmt::format("std::int64_t{{{}}}", bits);
  out.bytes = bytes;
  out.remark = fmt::format("{} = {}", scalar.name, scalar.value);
  return out;
}

PlanCpp::Argument named_argument(const Task& task, const LaunchPlan& plan, std::string_view name) {
  if (name.ends_with('?')) name.remove_suffix(1);
  PlanCpp::Argument out;
  const auto is = [&](ArgumentKind kind, int at) {
    out.kind = kind;
    out.index = at;
    return at >= 0;
  };
  if (is(ArgumentKind::buffer, index_in(plan.buffers, name)) ||
      is(ArgumentKind::map, index_in(plan.maps, name)) ||
      is(ArgumentKind::tensor, index_in(task.tensors, name)))
    return out;
  if (const int at = index_in(task.scalars, name); at >= 0)
    return scalar_argument(task.scalars[static_cast<std::size_t>(at)]);
  return {};
}

PlanCpp::Argument argument_of(Exporter& exporter, const Task& task, const LaunchPlan& plan,
                              const PlanArgument& argument) {
  PlanCpp::Argument out;
  if (argument.kind == PlanArgument::Kind::name) {
    out = named_argument(task, plan, argument.name);
  } else if (argument.kind == PlanArgument::Kind::record) {
    out.kind = ArgumentKind::record;
    out.bytes = argument.bytes;
    for (const PlanArgument& field : argument.fields)
      out.fields.push_back(argument_of(exporter, task, plan, field));
  } else if (is_integer(argument.kind)) {
    out.kind = ArgumentKind::immediate;
    out.number = exporter.text(argument.value);
    out.bytes = number_type(argument.kind)->bytes;
  } else {
    const bool narrow = argument.kind == PlanArgument::Kind::f32;
    out = scalar_argument({"value", narrow ? DType::f32 : DType::f64, argument.number});
  }
  out.at = argument.at;
  return out;
}

PlanCpp::Launch launch_of(Exporter& exporter, const Task& task, const LaunchPlan& plan,
                          const PlanLaunch& launch) {
  PlanCpp::Launch out;
  for (const PlanArgument& argument : launch.args)
    out.arguments.push_back(argument_of(exporter, task, plan, argument));
  out.entry = exporter.entry_name(launch);
  out.setup = launch.when == When::setup;
  out.cooperative = launch.cooperative;
  out.grid = exporter.sides(launch.grid);
  out.block = exporter.sides(launch.block);
  out.cluster = exporter.sides(launch.cluster);
  out.shared = exporter.text(launch.shared);
  return out;
}

PlanCpp plan_of(Exporter& exporter, const Task& task, const LaunchPlan& plan) {
  PlanCpp out;
  for (const PlanBuffer& buffer : plan.buffers)
    out.buffers.push_back({buffer.content, exporter.text(buffer.bytes)});
  for (const PlanTensorMap& map : plan.maps) out.maps.push_back(map_of(exporter, task, plan, map));
  for (const PlanLaunch& launch : plan.launches)
    out.launches.push_back(launch_of(exporter, task, plan, launch));
  return out;
}

}  // namespace

std::string cpp_name(std::string_view name) {
  static const std::set<std::string_view> taken = {
      "alignas", "alignof", "and", "asm", "auto", "bitand", "bitor", "bool", "break", "case",
      "catch", "char", "class", "compl", "const", "constexpr", "continue", "decltype", "default",
      "delete", "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float",
      "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
      "noexcept", "not", "nullptr", "operator", "or", "private", "protected", "public", "register",
      "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this",
      "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
      "virtual", "void", "volatile", "while", "xor",
      // names of the generated code and of the runtime that it uses
      "plan", "query", "sizes", "stream", "min", "max", "cdiv", "up", "pow2", "log2", "isqrt",
      "passes", "fault", "table", "std", "cupilot", "dispatcher_"};
  std::string out(name);
  std::replace(out.begin(), out.end(), '.', '_');
  return taken.contains(name) ? out + "_" : out;
}

Result<std::string> plan_function(const Task& task, const WisdomKernel& kernel) {
  const LaunchPlan& plan = kernel.source.plan;
  if (has_library_step(plan))
    return Error{ErrorCode::usage, "a dispatcher calls no library: the kernel has a library's step",
                 "use the launcher in best/"};
  if (!plan.textures.empty())
    return Error{ErrorCode::usage, "a dispatcher binds no textures: the kernel's plan has some",
                 ""};
  Exporter exporter(task, &kernel);
  std::string fits;
  for (const Expr& require : plan.require)
    fits += fmt::format("{}bool(Int({}))", fits.empty() ? "" : " && ", exporter.text(require));
  const std::string body = assignments(plan_of(exporter, task, plan));
  if (!exporter.refused().empty()) {
    return Error{
        ErrorCode::failure,
        fmt::format("kernel {} cannot be launched from C++: {}", kernel.name, exporter.refused()),
        ""};
  }
  return fmt::format(
      "// {}\ninline Plan plan_{}([[maybe_unused]] const Query& query) {{\n{}  Plan plan;\n  "
      "plan.fits = {};\n"
      "  if (!plan.fits) return plan;\n{}  return plan;\n}}\n",
      kernel.strategy, kernel.name, exporter.definitions(), fits.empty() ? "true" : fits, body);
}

Result<std::string> tensor_bytes_function(const Task& task) {
  Exporter exporter(task, nullptr);
  std::string list;
  for (const Tensor& tensor : task.tensors) {
    std::string elements;
    if (tensor.strides.empty()) {
      for (const Expr& extent : tensor.shape)
        elements += fmt::format("({}) * ", exporter.text(extent));
    } else {
      // From the first element to the last touched.
      elements = "(1";
      for (std::size_t i = 0; i < tensor.shape.size(); ++i)
        elements += fmt::format(" + (({}) - 1) * ({})", exporter.text(tensor.shape[i]),
                                exporter.text(tensor.strides[i]));
      elements += ") * ";
    }
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", elements, size_of(tensor.type));
  }
  if (!exporter.refused().empty())
    return Error{ErrorCode::failure, "the tensors' shapes: " + exporter.refused(), ""};
  return fmt::format(
      "inline std::vector<Int> tensor_bytes([[maybe_unused]] const Int* sizes) {{\n{}  return "
      "{{{}}};\n}}\n",
      exporter.definitions(), list);
}

}  // namespace cupilot
