// The values that a captured launch left, judged by a task.
#include <algorithm>
#include <cstring>
#include <functional>
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

using Order = std::vector<std::size_t>;  // of tensors

// Tensors that stand at their places by order alone, and that may be exchanged by role, type and
// size.
std::vector<Order> exchangeable(const Binding& binding, const Task& task) {
  std::vector<Order> groups;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    const Tensor& tensor = task.tensors[i];
    const bool guessed = std::find(binding.in_order.begin(), binding.in_order.end(), tensor.name) !=
                         binding.in_order.end();
    const auto layout = shape_of(task, tensor, task.time_shapes.front());
    if (!guessed || !layout) continue;
    const auto fits = [&](const Order& group) {
      const Tensor& first = task.tensors[group.front()];
      const auto other = shape_of(task, first, task.time_shapes.front());
      return first.type == tensor.type && is_output(first) == is_output(tensor) && other &&
             other->span == layout->span;
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

// The tensors that take the places of `from`, in order.
struct Exchange {
  Order from, to;
  std::ptrdiff_t moved() const {
    return std::inner_product(from.begin(), from.end(), to.begin(), std::ptrdiff_t{0},
                              std::plus<>(), std::not_equal_to<>());
  }
};

// Other orders of a group: all of a short one, of a long one those that exchange two.
std::vector<Order> orders_of(const Order& group) {
  constexpr std::size_t longest = 4;
  std::vector<Order> all;
  Order one = group;
  while (group.size() <= longest && std::next_permutation(one.begin(), one.end()))
    all.push_back(one);
  for (std::size_t a = 0; group.size() > longest && a < group.size(); ++a) {
    for (std::size_t b = a + 1; b < group.size(); ++b) {
      all.push_back(group);
      std::swap(all.back()[a], all.back()[b]);
    }
  }
  return all;
}

// Other orders of these groups, those that move fewest tensors first.
std::vector<Exchange> exchanges_of(const std::vector<Order>& groups) {
  constexpr std::size_t most = 24, enough = 1000;
  std::vector<Exchange> all = {{}};
  for (const Order& group : groups) {
    const std::vector<Exchange> before = all.size() < enough ? all : std::vector<Exchange>{{}};
    for (const Order& to : orders_of(group)) {
      for (Exchange one : before) {
        one.from.insert(one.from.end(), group.begin(), group.end());
        one.to.insert(one.to.end(), to.begin(), to.end());
        all.push_back(std::move(one));
      }
    }
  }
  all.erase(all.begin());  // none moved
  std::stable_sort(all.begin(), all.end(),
                   [](const Exchange& a, const Exchange& b) { return a.moved() < b.moved(); });
  if (all.size() > most) all.resize(most);
  return all;
}

Binding exchanged(Binding binding, const Task& task, const Exchange& exchange) {
  for (LaunchPointer& place : binding.places) {
    for (std::size_t i = 0; i < exchange.from.size(); ++i) {
      if (place.taken != task.tensors[exchange.from[i]].name) continue;
      place.taken = task.tensors[exchange.to[i]].name;
      break;
    }
  }
  return binding;
}

// Another order of tensors that order alone told apart, by which values are not wrong.
struct OtherOrder {
  std::ptrdiff_t moved = 0;   // 0: no order does
  std::string words, reason;  // of --bind; why they are not judged
};

Result<OtherOrder> other_order(ValueJudge& judge, const Binding& binding, const Task& task) {
  OtherOrder found;
  for (const Exchange& exchange : exchanges_of(exchangeable(binding, task))) {
    const Binding other = exchanged(binding, task, exchange);
    const auto values = judge.judge(other);
    if (!values) continue;  // an order in which nothing can be judged is no other one
    const bool right = values->outcome == ValuesOutcome::right;
    if (values->outcome == ValuesOutcome::wrong || (found.moved > 0 && !right)) continue;
    found = {exchange.moved(), "", values->reason};
    for (const std::string& word : words_of(other, task)) found.words += " --bind " + word;
    if (right) break;
  }
  return found;
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
  const auto other = other_order(judge, *binding, task);
  if (!other) return other.error();
  if (other->moved == 0) return first;
  const bool right = other->reason.empty();
  return Error{
      ErrorCode::usage,
      fmt::format("launch {} of {}: its pointers do not tell which tensor is which: with {} the "
                  "values are wrong, with {} exchanged they {}",
                  launch.number, launch.entry, first->says,
                  other->moved == 2 ? "two" : std::to_string(other->moved),
                  right ? "are right" : "fit, but " + other->reason),
      fmt::format("say which is meant: as they {},{}", right ? "are right" : "fit", other->words)};
}

}  // namespace cupilot
