// The values that a captured launch left, judged by a task.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cupilot/parts/capture.hpp>
#include <cupilot/parts/rejection.hpp>

#include "backend/captured/binding.hpp"
#include "backend/observed.hpp"
#include "base/hash.hpp"
#include "task/content.hpp"
#include "task/extents.hpp"
#include "task/file_content.hpp"

namespace cupilot {
namespace {

using LeftBytes = std::vector<std::byte>;

bool is_output(const Tensor& tensor) {
  return tensor.role == Role::out || tensor.role == Role::in_out;
}

// Content of a tensor's storage at the launch.
struct Storage {
  FileContent before{};
  LeftBytes after{};                // of outputs
  bool changed = true;              // by the launch
  std::int64_t first_changed = -1;  // element; of inputs
  std::int64_t unchanged = 0;       // elements; of pure outputs
};

struct Changes {
  std::int64_t elements = 0, changed = 0, first = -1;  // first: an element
};

// Elements that differ between two storages; what lies between elements is not the tensor's.
Result<Changes> changes_of(const Task& task, std::size_t tensor, const Workload& shape,
                           const std::string& before, const std::string& after) {
  const auto layout = fill_params(task, tensor, shape, {});
  if (!layout) return layout.error();
  Changes out;
  out.elements = layout->elements;
  for (std::int64_t i = 0; i < layout->elements; ++i) {
    const std::int64_t at = storage_offset(*layout, i);
    if (load_bits(before.data(), at, layout->type) == load_bits(after.data(), at, layout->type))
      continue;
    ++out.changed;
    if (out.first < 0) out.first = i;
  }
  return out;
}

class ValueJudge {
 public:
  ValueJudge(ObservingDevice& device, const Capture& capture, const CapturedLaunch& launch,
             const Task& task)
      : device_(device), capture_(capture), launch_(launch), task_(task) {}

  Result<CapturedValues> judge(const Binding& binding);

 private:
  const Workload& shape() const { return task_.time_shapes.front(); }
  Result<Storage> storage(std::size_t tensor, const LaunchPointer& place) const;
  Result<void> check_scalars(const Binding& binding) const;
  std::int64_t elements_to_compare() const;
  void conclude(const CaseReport& report, const std::vector<Storage>& storages,
                CapturedValues& out) const;
  Error left_out(const Tensor& tensor, const LaunchPointer& place) const {
    return {ErrorCode::not_done,
            fmt::format("launch {} of {}: the capture left out a part of {} ({})", launch_.number,
                        launch_.entry, tensor.name, place.name),
            "capture with more --megabytes"};
  }

  ObservingDevice& device_;
  const Capture& capture_;
  const CapturedLaunch& launch_;
  const Task& task_;
};

Result<Storage> ValueJudge::storage(std::size_t index, const LaunchPointer& place) const {
  const Tensor& tensor = task_.tensors[index];
  const auto layout = shape_of(task_, tensor, shape());
  if (!layout) return layout.error();
  const auto bytes = static_cast<std::size_t>(layout->span * size_of(tensor.type));
  const CapturedBuffer& buffer = launch_.buffers[place.buffer];
  auto before = kept_bytes(capture_, buffer, buffer.before, place.address);
  if (!before) return before.error();
  if (before->size() < bytes) return left_out(tensor, place);
  before->resize(bytes);
  Storage out;
  out.before = {capture_.folder + "/" + buffer.before,
                static_cast<std::int64_t>(place.address - buffer.kept_from),
                static_cast<std::int64_t>(bytes), sha256_hex(*before)};
  auto after = kept_bytes(capture_, buffer, buffer.after, place.address);
  if (!after) return after.error();
  if (after->size() < bytes) return left_out(tensor, place);
  after->resize(bytes);
  const auto changes = changes_of(task_, index, shape(), *before, *after);
  if (!changes) return changes.error();
  out.changed = changes->changed > 0;
  if (!is_output(tensor)) {
    out.first_changed = changes->first;
    return out;
  }
  if (tensor.role == Role::out) out.unchanged = changes->elements - changes->changed;
  out.after.resize(bytes);
  std::memcpy(out.after.data(), after->data(), bytes);
  return out;
}

Result<void> ValueJudge::check_scalars(const Binding& binding) const {
  for (const auto& [number, name] : binding.scalars) {
    const auto scalar =
        std::find_if(task_.scalars.begin(), task_.scalars.end(),
                     [&, &name = name](const Scalar& one) { return one.name == name; });
    const auto bytes = static_cast<std::size_t>(size_of(scalar->type));
    const std::uint64_t word = word_at(launch_, launch_.parameters[2 * number], bytes);
    const int type = static_cast<int>(scalar->type);
    if (encode(scalar->value, type) == word) continue;
    return launch_refusal(launch_,
                          fmt::format("arg{} is {}, and scalar {} of task {} is {}", number,
                                      decode(word, type), name, task_.name, scalar->value),
                          "state the task with the value that the program had");
  }
  return {};
}

// All, or as many as the reference computes in some seconds; 0: all.
std::int64_t ValueJudge::elements_to_compare() const {
  constexpr double most_flops = 1e9, fewest = 2048;
  const auto flops = textbook_flops(task_, shape());
  if (!flops || static_cast<double>(*flops) <= most_flops) return 0;
  double elements = 0;
  for (const Tensor& tensor : task_.tensors) {
    const auto layout = shape_of(task_, tensor, shape());
    if (is_output(tensor) && layout) elements += static_cast<double>(layout->elements);
  }
  const double share = most_flops / static_cast<double>(*flops);
  return static_cast<std::int64_t>(std::max(fewest, elements * share));
}

void ValueJudge::conclude(const CaseReport& report, const std::vector<Storage>& storages,
                          CapturedValues& out) const {
  out.outputs = report.outputs;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    out.unchanged += storages[i].unchanged;
    if (storages[i].first_changed < 0) continue;
    const std::string& name = task_.tensors[i].name;
    out.outcome = ValuesOutcome::wrong;
    out.fault =
        reject("run.input_write",
               fmt::format("{} of input {} holds another value after the launch",
                           element_name(task_, name, shape(), storages[i].first_changed), name),
               name);
    return;
  }
  for (const OutputReport& one : report.outputs) {
    // Written so that a NaN ratio fails.
    if (one.failed == 0 && one.worst_ratio <= 1.0) continue;
    const std::string where = element_name(task_, one.tensor, shape(), one.worst_index);
    const CheckKind kind = find_tensor(task_, one.tensor)->check.kind;
    const bool exact = kind == CheckKind::bitwise || kind == CheckKind::index_of;
    out.outcome = ValuesOutcome::wrong;
    out.fault = reject(
        exact ? "verify.mismatch" : "verify.bound",
        fmt::format("{} of {} compared elements of {} are wrong; worst {}: got {:.9g}, "
                    "want {:.9g}, allowed error {:.3g}",
                    one.failed, one.compared, one.tensor, where, one.got, one.want, one.bound),
        where);
    return;
  }
  out.outcome = ValuesOutcome::right;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    if (task_.tensors[i].role != Role::out || storages[i].changed) continue;
    out.outcome = ValuesOutcome::not_done;
    out.reason =
        fmt::format("{} held these values before the launch, which may have written nothing",
                    task_.tensors[i].name);
    out.next = "have the program clear its outputs, and capture it again";
  }
}

Result<CapturedValues> ValueJudge::judge(const Binding& binding) {
  CapturedValues out;
  out.says = binding.says();
  if (auto scalars = check_scalars(binding); !scalars) return scalars.error();
  Task given = task_;
  std::vector<Storage> storages;
  std::vector<LeftBytes> left;
  for (std::size_t i = 0; i < given.tensors.size(); ++i) {
    Tensor& tensor = given.tensors[i];
    const LaunchPointer* const place = binding.of(tensor.name);
    if (place == nullptr)
      return launch_refusal(launch_, "no argument is tensor " + tensor.name, "name it by --bind");
    auto one = storage(i, *place);
    if (!one) return one.error();
    left.push_back(std::move(one->after));
    if (tensor.role != Role::out) {
      tensor.fill.kind = FillKind::file;
      tensor.fill.file = one->before;
    }
    storages.push_back(std::move(*one));
  }
  if (auto fits = check_files(given); !fits)
    return std::move(fits.error()).while_doing(fmt::format("launch {}", launch_.number));
  Case what;
  what.workload = shape();
  what.compare = elements_to_compare();
  auto report = device_.judge(TaskRef(std::move(given)), what, left);
  if (!report) return report.error();
  conclude(*report, storages, out);
  return out;
}

// Words of --bind that give the tensors of a binding their places.
std::vector<std::string> words_of(const Binding& binding, const Task& task) {
  std::vector<std::string> out;
  for (const Tensor& tensor : task.tensors) {
    if (const LaunchPointer* place = binding.of(tensor.name))
      out.push_back(fmt::format("{}={}", tensor.name, place->name));
  }
  return out;
}

// Inputs that stand at their places by order alone, and that may be exchanged by type and size.
std::vector<std::vector<std::size_t>> exchangeable(const Binding& binding, const Task& task) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    const Tensor& tensor = task.tensors[i];
    const bool guessed = std::find(binding.in_order.begin(), binding.in_order.end(), tensor.name) !=
                         binding.in_order.end();
    const auto layout = shape_of(task, tensor, task.time_shapes.front());
    if (is_output(tensor) || !guessed || !layout) continue;
    const auto fits = [&](const std::vector<std::size_t>& group) {
      const Tensor& first = task.tensors[group.front()];
      const auto other = shape_of(task, first, task.time_shapes.front());
      return first.type == tensor.type && other && other->span == layout->span;
    };
    const auto group = std::find_if(groups.begin(), groups.end(), fits);
    if (group == groups.end()) {
      groups.push_back({i});
    } else {
      group->push_back(i);
    }
  }
  return groups;
}

// Calls f with the binding after each exchange of two inputs that order alone told apart, until it
// returns true.
template <class F>
Result<bool> any_exchange(const Binding& binding, const Task& task, F f) {
  for (const std::vector<std::size_t>& group : exchangeable(binding, task)) {
    for (std::size_t a = 0; a < group.size(); ++a) {
      for (std::size_t b = a + 1; b < group.size(); ++b) {
        Binding other = binding;
        const std::string& first = task.tensors[group[a]].name;
        const std::string& second = task.tensors[group[b]].name;
        for (LaunchPointer& place : other.places) {
          if (place.taken == first) {
            place.taken = second;
          } else if (place.taken == second) {
            place.taken = first;
          }
        }
        Result<bool> found = f(other);
        if (!found || *found) return found;
      }
    }
  }
  return false;
}

}  // namespace

Result<CapturedValues> captured_values(Device& device, const Capture& capture,
                                       const CapturedLaunch& launch, const Task& task,
                                       const std::vector<std::string>& bound) {
  auto* const observing = dynamic_cast<ObservingDevice*>(&device);
  if (observing == nullptr)
    return Error{ErrorCode::usage, device.identity() + ": computes no references on the host",
                 "open a virtual device"};
  CapturedValues out;
  if (!launch.ended || launch.result != 0) {
    out.reason = launch.ended ? "the device reported " + launch.result_name
                              : "the program ended before the launch did";
    out.next = "look at the first launch that failed";
    return out;
  }
  const auto binding = bind_launch(capture, launch, task, bound);
  if (!binding) return binding.error();
  ValueJudge judge(*observing, capture, launch, task);
  auto first = judge.judge(*binding);
  if (!first || first->outcome != ValuesOutcome::wrong) return first;
  std::string words, reason;
  const auto exchanged = any_exchange(*binding, task, [&](const Binding& other) -> Result<bool> {
    const auto values = judge.judge(other);
    if (!values) return values.error();
    if (values->outcome == ValuesOutcome::wrong) return false;
    for (const std::string& word : words_of(other, task)) words += " --bind " + word;
    reason = values->reason;
    return true;
  });
  if (!exchanged) return exchanged.error();
  if (!*exchanged) return first;
  const bool right = reason.empty();
  return Error{
      ErrorCode::usage,
      fmt::format("launch {} of {}: its pointers do not tell which input is which: with "
                  "{} the values are wrong, with two exchanged they {}",
                  launch.number, launch.entry, first->says,
                  right ? "are right" : "fit, but " + reason),
      fmt::format("say which is meant: as they {},{}", right ? "are right" : "fit", words)};
}

}  // namespace cupilot
