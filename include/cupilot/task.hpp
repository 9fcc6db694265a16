// A task: the computation, its shapes and its precision. A plain task is an operator graph of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <cupilot/parts/dtype.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/expr.hpp>
#include <cupilot/parts/reference.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

using Sizes = std::map<std::string, std::int64_t>;  // axis name -> extent

// free: an output dimension; reduced: summed over; fixed: may not be shrunk for a proof.
enum class AxisKind { free, reduced, fixed };
struct Axis {
  std::string name{};
  AxisKind kind = AxisKind::free;
};

// Content is a recipe: a function of (seed, tensor, linear index); see kernels/trusted/content.cuh.
enum class FillKind {
  normal,
  uniform,
  integers,
  labels,
  boolean,
  signs,
  one_hot_rows,
  unit_sum_rows,
  zeros,
  ones,
  file
};
// Declares zeros or mirrored elements of the last two dimensions; a kernel may rely on it.
enum class Structure { dense, upper, lower, symmetric, diagonal };
std::string_view name_of(Structure structure);
// Says what a float tensor may hold: any value, finite ones, or values from `low` to `high` alone.
enum class FillValues { any, finite, range };
// Bytes of a file: a tensor's storage as it lies in memory, little-endian.
struct FileContent {
  std::string path{};  // from the current folder where it is relative
  std::int64_t offset = 0, bytes = 0;
  std::string sha256{};  // of these bytes, 64 hex digits
};
struct Fill {
  FillKind kind = FillKind::normal;
  double low = 0.0;   // uniform: lower end; normal: mean
  double high = 1.0;  // uniform: upper end; normal: standard deviation
  Expr below = 0;     // integers, labels, whole numbers of a file: values in [0, below)
  Structure structure = Structure::dense;
  FillValues values = FillValues::any;
  // file: the storage where it has as many bytes; at other shapes values are drawn from the file's.
  FileContent file{};
};

// One concrete shape. `weight`: its share in the weighted mean over time shapes.
struct Workload {
  Sizes sizes{};
  double weight = 1.0;
  bool operator==(const Workload&) const = default;
};

// Numbers of one tensor at one workload.
struct TensorShape {
  std::vector<std::int64_t> extents{};
  std::vector<std::int64_t> strides{};  // elements
  std::int64_t elements = 0;            // product of extents
  std::int64_t span = 0;                // elements from first to last touched, 0 when empty
};
// A tensor after a run: an input as the kernel got it, an output as it was left, whole storage.
struct TensorView {
  std::string_view name{};
  TensorShape shape{};
  std::span<const std::byte> bytes{};
};
// A program's own judgement of one output. Returns "" where it is right, else the reason. Any
// thread, for as long as the task is in use; the device's lock is held meanwhile, so that it calls
// nothing of that device.
using HostJudge =
    std::function<std::string(const Workload& workload, std::span<const TensorView> tensors)>;

// The comparison that an output must pass. `within`: |y - ref| <= 8 sqrt(L) u_acc S + u_in S [lower
// classes] + u_out |ref| + tiny, with S the sum of magnitudes the tracked reference gives and L =
// `length` (docs/formats/numerics.md).
enum class CheckKind { within, bitwise, index_of, close, custom };
struct Check {
  CheckKind kind = CheckKind::within;
  Expr length = 1;  // accumulation length L
  // index_of: the tensor whose extreme is attained; custom: the judge's name and version, which the
  // task's id holds
  std::string of{};
  double relative = 0.0;  // close
  double absolute = 0.0;  // close
  // within: the type that intermediate values may be rounded to; narrower than fp32 where a kernel
  // adds and multiplies in fp16 or bf16.
  DType arithmetic = DType::f32;
  // custom: judges on devices that live in this process. No file holds it.
  HostJudge judge{};
};

enum class Role { in, out, in_out, constant };
struct Tensor {
  std::string name{};
  Role role = Role::in;
  DType type = DType::f32;
  std::vector<Expr> shape{};    // outermost first
  std::vector<Expr> strides{};  // elements; empty: dense row-major
  Fill fill{};                  // in, in_out, constant
  Check check{};                // out, in_out
  // Bytes; kernels may assume that the base address is a multiple of it. A power of two, at least
  // the element's size.
  std::int64_t alignment = 256;
};

// A value between operations, which is no tensor of the task.
struct Edge {
  std::string name{};
  std::vector<Expr> shape{};  // outermost first
  std::string repeat{};       // the repeat whose steps each make one anew; "": none
};

struct Scalar {
  std::string name{};
  DType type = DType::f32;
  double value = 0.0;
};

// An attribute of an operator: a whole number, a real one, a word, or whole numbers a dimension.
using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>>;

// One operator over named tensors and edges; a technique's `on` names operations.
struct Operation {
  std::string name{};
  std::string kind{};  // a row of docs/formats/operators.md: "gemm", "softmax" …
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  std::map<std::string, Attribute> attributes{};
  std::string repeat{};  // the repeat whose body it belongs to; "": none
};

// A value that a step of a repeat hands to the next one.
struct Carried {
  std::string name{};  // a name that the body reads
  std::string from{};  // its value at the first step: a tensor, or an edge made before
  std::string next{};  // an output of the body: its value at the following step
  std::string last{};  // the tensor or edge that gets `next` of the last step; "": none
};

// Operations that run `count` times, one step after the other. In their body "x[t + 1]" is a place
// along the first dimension of x.
struct Repeat {
  std::string name{};
  Expr count = 1;
  std::string step = "t";  // the step's number, from 0, in such places
  std::vector<Carried> carried{};
};

struct Work {
  Expr flops = 0;             // textbook operation count of the task's class
  std::string matmul_like{};  // the reason why tensor cores apply; "": they do not
};

// Numbers that the task fixes; kernel text sees them as constants (TRANS_A, ACT …), expressions
// by name.
using Constants = std::map<std::string, std::int64_t>;

struct Task {
  std::string name{};    // "gemm", or a user's name
  std::string family{};  // selects the templates: "gemm", "softmax" …
  std::vector<Axis> axes{};
  std::vector<Tensor> tensors{};
  std::vector<Scalar> scalars{};
  std::vector<Operation> operations{};
  std::vector<Repeat> repeats{};  // whose bodies are runs of operations
  std::vector<Edge> edges{};      // complete() infers them from the operations
  Constants constants{};
  Precision precision = Precision::fp32_strict;  // the contract's class
  bool deterministic = false;                    // equal runs must give equal bits
  std::vector<Workload> time_shapes{};           // shapes that are optimised
  std::vector<Workload> check_shapes{};          // extra shapes for the proof of every candidate
  Work work{};
  Reference reference{};
};

const Tensor* find_tensor(const Task& task, std::string_view name);

// Resolves the names that an Expr of a task may use at this workload: sizes, constants, elem.T
// (bytes per element of tensor T).
ExprScope task_scope(const Task& task, const Workload& workload);

// Numbers of one tensor at one workload. The Error names the tensor and the reason (negative
// extent, overflow).
Result<TensorShape> shape_of(const Task& task, const Tensor& tensor, const Workload& workload);

// Bytes that any correct kernel must move: each input read once, each output written once.
Result<std::int64_t> compulsory_bytes(const Task& task, const Workload& workload);
Result<std::int64_t> textbook_flops(const Task& task, const Workload& workload);

// Checks a task at its own shapes; the Error names the first fault: unknown names, zero extents,
// missing reference …
Result<void> validate(const Task& task);

// Fills in what follows from a task's operations: edges, and, where there is no reference, its
// stages, the work and the length of `within` checks that say none. Without operations, or where
// nothing is missing, the task stays as it is. Error usage names the operation and what does not
// fit.
Result<void> complete(Task& task);

// SHA-256 of the canonical text, the key of proofs.
std::string task_id(const Task& task);

// An immutable task and its id, hashed once; copies share both. Empty by default, as a pointer is.
class TaskRef {
 public:
  TaskRef() = default;
  explicit TaskRef(Task task);

  explicit operator bool() const { return shared_ != nullptr; }
  const Task& operator*() const { return shared_->task; }
  const Task* operator->() const { return &shared_->task; }
  // Passes itself to functions that need no id.
  operator const Task&() const { return shared_->task; }  // NOLINT(google-explicit-constructor)
  const std::string& id() const { return shared_->id; }

 private:
  struct Identified {
    Task task;
    std::string id;
  };
  std::shared_ptr<const Identified> shared_{};
};

// Task files (docs/formats/task.md): JSON beside its reference .cu. The path names the JSON.
Result<Task> load_task(const std::string& path);
Result<std::string> task_to_json(const Task& task);
Result<Task> task_from_json(std::string_view json, const std::string& origin);

}  // namespace cupilot
CUPILOT_EXPORTS_END
