// The canonical text of a task and its hash.
#include <fmt/format.h>

#include <cupilot/task.hpp>

#include "base/hash.hpp"

namespace cupilot {
namespace {

// Length-prefixed, so that no two different tasks give one text.
class Canonical {
 public:
  Canonical& operator<<(std::string_view text) {
    out_ += fmt::format("{}:{};", text.size(), text);
    return *this;
  }
  Canonical& operator<<(std::int64_t value) {
    out_ += fmt::format("i{};", value);
    return *this;
  }
  Canonical& operator<<(double value) {
    out_ += fmt::format("d{:a};", value);
    return *this;
  }
  Canonical& operator<<(const std::vector<Expr>& texts) {
    *this << static_cast<std::int64_t>(texts.size());
    for (const Expr& text : texts) *this << text.text;
    return *this;
  }
  Canonical& operator<<(const std::vector<std::string>& texts) {
    *this << static_cast<std::int64_t>(texts.size());
    for (const std::string& text : texts) *this << std::string_view(text);
    return *this;
  }
  Canonical& operator<<(const std::vector<Workload>& shapes) {
    *this << static_cast<std::int64_t>(shapes.size());
    for (const Workload& shape : shapes) {
      *this << static_cast<std::int64_t>(shape.sizes.size()) << shape.weight;
      for (const auto& [name, size] : shape.sizes) *this << std::string_view(name) << size;
    }
    return *this;
  }
  template <class E>
  Canonical& named(E value) {
    return *this << static_cast<std::int64_t>(value);
  }
  const std::string& text() const { return out_; }

 private:
  std::string out_;
};

void add_tensor(Canonical& out, const Tensor& tensor) {
  out << tensor.name << tensor.shape << tensor.strides;
  out.named(tensor.role) << name_of(tensor.type);
  out.named(tensor.fill.kind) << tensor.fill.low << tensor.fill.high << tensor.fill.below.text;
  out.named(tensor.fill.structure);
  // Fields that most tasks leave at their defaults are named only where they differ: ids of old
  // tasks stand.
  if (tensor.alignment != Tensor().alignment) out << "alignment" << tensor.alignment;
  if (tensor.fill.kind == FillKind::file) out << "file" << tensor.fill.file.sha256;
  if (tensor.fill.values != FillValues::any) (out << "values").named(tensor.fill.values);
  out.named(tensor.check.kind) << tensor.check.length.text << tensor.check.of
                               << tensor.check.relative << tensor.check.absolute;
}

void add_attributes(Canonical& out, const Operation& operation) {
  if (operation.attributes.empty()) return;
  out << "attributes";
  for (const auto& [name, value] : operation.attributes) {
    out << std::string_view(name);
    std::visit(
        [&](const auto& one) {
          if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::vector<std::int64_t>>) {
            out << static_cast<std::int64_t>(one.size());
            for (const std::int64_t number : one) out << number;
          } else if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::string>) {
            out << std::string_view(one);
          } else {
            out << one;
          }
        },
        value);
  }
}

void add_axes(Canonical& out, const std::vector<StageAxis>& axes) {
  out << static_cast<std::int64_t>(axes.size());
  for (const StageAxis& axis : axes) out << axis.name << axis.extent.text;
}

void add_stage(Canonical& out, const ReferenceStage& stage) {
  out << "stage" << stage.name;
  out.named(stage.kind).named(stage.combine);
  for (const auto* axes : {&stage.free, &stage.over, &stage.sizes}) add_axes(out, *axes);
  for (const StageRead& read : stage.reads) {
    out << read.name << read.source << read.extents << read.at;
    if (!read.step.empty()) out << "step" << read.step << read.first;
  }
  for (const auto& [name, text] : stage.constants) out << name << text;
  out << stage.term << stage.finish;
  if (!stage.repeat.empty()) out << "repeat" << stage.repeat;
}

void add_repeats(Canonical& out, const Task& task) {
  if (task.repeats.empty()) return;
  out << "repeats";
  for (const Repeat& repeat : task.repeats) {
    out << repeat.name << repeat.count.text << repeat.step;
    for (const Carried& one : repeat.carried) out << one.name << one.from << one.next << one.last;
  }
  for (const Operation& operation : task.operations) out << operation.repeat;
}

}  // namespace

std::string task_id(const Task& task) {
  Canonical out;
  out << "cupilot task 1" << task.name << task.family << name_of(task.precision);
  if (task.deterministic) out << "deterministic";
  out << static_cast<std::int64_t>(task.axes.size());
  for (const Axis& axis : task.axes) (out << axis.name).named(axis.kind);
  out << static_cast<std::int64_t>(task.tensors.size());
  for (const Tensor& tensor : task.tensors) add_tensor(out, tensor);
  out << static_cast<std::int64_t>(task.scalars.size());
  for (const Scalar& scalar : task.scalars)
    out << scalar.name << name_of(scalar.type) << scalar.value;
  out << static_cast<std::int64_t>(task.operations.size());
  for (const Operation& operation : task.operations) {
    out << operation.name << operation.kind << operation.inputs << operation.outputs;
    add_attributes(out, operation);
  }
  add_repeats(out, task);
  out << static_cast<std::int64_t>(task.constants.size());
  for (const auto& [name, value] : task.constants) out << std::string_view(name) << value;
  out << task.time_shapes << task.check_shapes << task.work.flops.text << task.work.matmul_like
      << task.reference.text;
  for (const ReferenceStage& stage : task.reference.stages) add_stage(out, stage);
  return sha256_hex(out.text());
}

TaskRef::TaskRef(Task task) {
  std::string id = task_id(task);
  shared_ = std::make_shared<const Identified>(Identified{std::move(task), std::move(id)});
}

}  // namespace cupilot
