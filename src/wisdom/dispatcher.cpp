// A dispatcher header: the kernels of a portfolio as cubin, their plans as functions, and which to
// use at which shape.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include <cupilot/wisdom.hpp>

#include "base/hash.hpp"
#include "kernel/plan_cpp.hpp"
#include "kernel/plan_json.hpp"
#include "wisdom/dispatcher_main.hpp"
#include "wisdom/plan_export.hpp"

namespace cupilot {
namespace {

std::string image_text(const WisdomKernel& kernel) {
  std::string out =
      fmt::format("alignas(16) inline constexpr unsigned char image_{}[] = {{", kernel.name);
  for (std::size_t i = 0; i < kernel.image.size(); ++i)
    out += fmt::format("{}{},", i % 40 == 0 ? "\n    " : "", kernel.image[i]);
  return out + "};\n";
}

// Kernels that were timed at a shape, fastest first.
std::vector<int> ranked(const WisdomShape& shape) {
  std::vector<int> order;
  for (std::size_t i = 0; i < shape.times_us.size(); ++i) {
    if (shape.times_us[i] > 0) order.push_back(static_cast<int>(i));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return shape.times_us[static_cast<std::size_t>(a)] <
           shape.times_us[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<std::int64_t> sizes_of(const Task& task, const Workload& workload) {
  std::vector<std::int64_t> sizes;
  for (const Axis& axis : task.axes) sizes.push_back(workload.sizes.at(axis.name));
  return sizes;
}

std::string shape_text(const Task& task, const WisdomShape& shape) {
  const std::vector<int> order = ranked(shape);
  const std::string best =
      order.empty()
          ? ""
          : fmt::format("  // {:.2f} us", shape.times_us[static_cast<std::size_t>(order[0])]);
  return fmt::format("          {{{{{}}}, {{{}}}}},{}\n",
                     fmt::join(sizes_of(task, shape.workload), ", "), fmt::join(order, ", "), best);
}

template <class List, class Name>
std::string quoted_names(const List& list, const Name& name) {
  std::string out;
  for (const auto& one : list) out += (out.empty() ? "" : ", ") + cpp_quoted(name(one));
  return out;
}

std::string tensor_table(const Task& task) {
  std::string out;
  for (const Tensor& tensor : task.tensors)
    out += fmt::format("{}{{{}, {}}}", out.empty() ? "" : ", ", cpp_quoted(tensor.name),
                       tensor.alignment);
  return out;
}

std::string table_text(const WisdomEntry& entry) {
  std::string kernels, shapes;
  for (const WisdomKernel& kernel : entry.kernels) {
    kernels += fmt::format("          {{{}, {}, image_{}, sizeof image_{}, &plan_{}}},\n",
                           cpp_quoted(kernel.name), cpp_quoted(kernel.strategy), kernel.name,
                           kernel.name, kernel.name);
  }
  for (const WisdomShape& shape : entry.shapes) shapes += shape_text(entry.task, shape);
  return fmt::format(R"(inline const Table& table() {{
  static const Table all = {{
      {},
      {},
      {},
      {},
      {{{}}},
      {{{}}},
      {{
{}      }},
      {{
{}      }},
      {}}};
  return all;
}}
)",
                     cpp_quoted(entry.task.name), cpp_quoted(entry.device_label),
                     entry.compute_major, entry.compute_minor,
                     quoted_names(entry.task.axes, [](const Axis& axis) { return axis.name; }),
                     tensor_table(entry.task), kernels, shapes, entry.fallback);
}

// The class a program uses: sizes and tensors by name.
std::string class_text(const WisdomEntry& entry, const std::string& name) {
  std::string parameters, sizes, tensors;
  for (const Axis& axis : entry.task.axes) {
    parameters += fmt::format("std::int64_t {}, ", cpp_name(axis.name));
    sizes += (sizes.empty() ? "" : ", ") + cpp_name(axis.name);
  }
  for (const Tensor& tensor : entry.task.tensors) {
    const bool written = tensor.role == Role::out || tensor.role == Role::in_out;
    const std::string own = cpp_name(tensor.name);
    parameters += fmt::format("{}void* {}, ", written ? "" : "const ", own);
    tensors += fmt::format("{}{}", tensors.empty() ? "" : ", ",
                           written ? own : fmt::format("const_cast<void*>({})", own));
  }
  return fmt::format(
      R"(// Use one for each stream. Tensors are device pointers laid out as the first lines of this file say.
class {0} {{
 public:
  explicit {0}(const char* libcuda = "libcuda.so.1") : dispatcher_(detail_{0}::tables(), libcuda) {{}}
  // Enqueues into `stream` (a CUstream or cudaStream_t) of the current context.
  cupilot::runtime::Status launch({1}void* stream) {{
    return dispatcher_.launch({{{2}}}, {{{3}}}, stream);
  }}
  // The kernel a launch of these sizes used, in the order of launch(); null before one.
  const cupilot::runtime::Kernel* used(const std::vector<std::int64_t>& sizes) const {{ return dispatcher_.used(sizes); }}

 private:
  cupilot::runtime::Dispatcher dispatcher_;
}};
)",
      name, parameters, sizes, tensors);
}

std::string joined(const std::vector<Expr>& exprs, const char* between) {
  std::string out;
  for (const Expr& expr : exprs) out += (out.empty() ? "" : between) + expr.text;
  return out;
}

std::string tensor_lines(const Task& task) {
  std::string out;
  for (const Tensor& tensor : task.tensors) {
    const std::string layout = tensor.strides.empty()
                                   ? "dense, the last fastest"
                                   : "strides " + joined(tensor.strides, ", ") + " elements";
    out += fmt::format("//   {} {}: {}; {}; aligned to {} bytes\n", tensor.name,
                       name_of(tensor.type), joined(tensor.shape, " x "), layout, tensor.alignment);
  }
  for (const Scalar& scalar : task.scalars)
    out += fmt::format("//   {} = {}\n", scalar.name, scalar.value);
  return out;
}

// One device's kernels, plans and table.
Result<std::string> device_text(const WisdomEntry& entry, std::size_t index) {
  std::string plans, images;
  for (const WisdomKernel& kernel : entry.kernels) {
    auto plan = plan_function(entry.task, kernel);
    if (!plan) return plan.error();
    plans += *plan + "\n";
    images += image_text(kernel);
  }
  return fmt::format(R"(// {} kernels chosen on {} by {} times; mean regret {:.1f} % over {} shapes.
namespace device_{} {{

#pragma GCC diagnostic push  // expressions stand as the launch plans have them
#pragma GCC diagnostic ignored "-Wparentheses"
{}#pragma GCC diagnostic pop

{}
{}
}}  // namespace device_{}

)",
                     entry.kernels.size(), entry.device_label, name_of(entry.provenance),
                     100 * entry.regret, entry.shapes.size(), index, plans, images,
                     table_text(entry), index);
}

// Puts the content into an inline namespace named by its digest, and by the runtime's it is
// compiled with: the linker and the loader know functions and tables by name alone, and would let
// one dispatcher answer for another of its name.
std::string in_own_namespace(const std::string& content, const std::string& name) {
  const std::string own = fmt::format("{}_{}", name, sha256_hex(content).substr(0, 16));
  return fmt::format(
      "inline namespace {0} {{\ninline namespace CUPILOT_RUNTIME_VERSION {{\n\n{1}\n"
      "}}  // namespace CUPILOT_RUNTIME_VERSION\n}}  // namespace {0}\n",
      own, content);
}

Result<std::string> header(const std::vector<WisdomEntry>& entries, const std::string& name) {
  std::string devices, tables;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto text = device_text(entries[i], i + 1);
    if (!text) return text.error();
    devices += *text;
    tables += fmt::format("{}&device_{}::table()", tables.empty() ? "" : ", ", i + 1);
  }
  const Task& task = entries.front().task;
  auto bytes = tensor_bytes_function(task);
  if (!bytes) return bytes.error();
  const std::string content = fmt::format(
      "namespace detail_{} {{\n\nusing namespace cupilot::runtime;\n\n{}{}\n"
      "inline std::vector<const Table*> tables() {{ return {{{}}}; }}\n\n"
      "}}  // namespace detail_{}\n\n{}",
      name, devices, *bytes, tables, name, class_text(entries.front(), name));
  return fmt::format("// Written by `cupilot wisdom --dispatcher`: {}, {}.\n", task.name,
                     name_of(task.precision)) +
         tensor_lines(task) + "#pragma once\n\n#include <cupilot/runtime.hpp>\n\n" +
         in_own_namespace(content, name);
}

Result<void> check(const std::vector<WisdomEntry>& entries, const std::string& name) {
  if (!is_identifier(name) || cpp_name(name) != name) {
    return Error{ErrorCode::usage, fmt::format("'{}' cannot be the name of a C++ class", name),
                 "choose one by --name, such as my_kernels"};
  }
  if (entries.empty())
    return Error{ErrorCode::usage, "there is no entry to make a dispatcher of",
                 "evolve with --shapes first"};
  for (const WisdomEntry& entry : entries) {
    if (!same_task(entry, entries.front())) {
      return Error{ErrorCode::usage, "the entries are of several tasks", "choose one by --entry"};
    }
    for (const WisdomKernel& kernel : entry.kernels) {
      if (kernel.image.empty()) {
        return Error{ErrorCode::usage, fmt::format("kernel {} has no cubin", kernel.name),
                     "evolve where NVRTC can assemble"};
      }
      if (const std::string found = kernel_id(kernel.source); found != kernel.kernel_id) {
        return Error{
            ErrorCode::usage,
            fmt::format("kernel {} of {} on {} is named {}, but its text, plan and "
                        "constants have the id {}",
                        kernel.name, entry.task.name, entry.device_label, kernel.kernel_id, found),
            "compile the changed text and name it by kernel_id(), or search again"};
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<GeneratedFile>> dispatcher_files(const std::vector<WisdomEntry>& entries,
                                                    const std::string& name) {
  if (auto fine = check(entries, name); !fine) return fine.error();
  std::vector<WisdomEntry> sorted = entries;
  // The measured one of two entries for a device comes first.
  std::stable_sort(sorted.begin(), sorted.end(), [](const WisdomEntry& a, const WisdomEntry& b) {
    return a.provenance < b.provenance;
  });
  auto text = header(sorted, name);
  if (!text) return text.error();
  return std::vector<GeneratedFile>{{name + ".hpp", std::move(*text)},
                                    {"main.cpp", dispatcher_main(sorted.front().task, name)}};
}

}  // namespace cupilot
