#include "verify/full_contents.hpp"

#include <algorithm>

#include "task/content.hpp"

namespace cupilot {
namespace {

using Kind = ContentKind;

constexpr FullContent full_contents[] = {
    {Kind::ordinary},   {Kind::probe},       {Kind::integers},     {Kind::special},
    {Kind::range_rows}, {Kind::integers, 1}, {Kind::constant_rows}};
// Probe, integers and special are ordinary ones of inputs that are whole numbers: lines of one
// value, which all meet in one counter, take their place.
constexpr FullContent full_counts[] = {{Kind::ordinary},
                                       {Kind::constant_rows},
                                       {Kind::range_rows},
                                       {Kind::scales},
                                       {Kind::constant_rows, 1}};

// Returns how many of the inputs are whole numbers.
std::size_t whole_inputs(const Task& task) {
  return static_cast<std::size_t>(std::count_if(
      task.tensors.begin(), task.tensors.end(),
      [](const Tensor& tensor) { return tensor.role != Role::out && is_counted(tensor); }));
}

// True if an output is of whole numbers, such as a count.
bool counts(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& tensor) {
    return tensor.role == Role::out && !is_float_type(static_cast<int>(tensor.type));
  });
}

}  // namespace

std::span<const FullContent> contents_in_full(const Task& task) {
  const auto inputs = static_cast<std::size_t>(
      std::count_if(task.tensors.begin(), task.tensors.end(),
                    [](const Tensor& tensor) { return tensor.role != Role::out; }));
  const std::size_t whole = whole_inputs(task);
  if (whole == inputs && whole > 0) return full_counts;
  const std::span<const FullContent> all = full_contents;
  return whole > 0 || counts(task) ? all : all.first(all.size() - 1);
}

bool are_of_counts(std::span<const FullContent> contents) { return contents.data() == full_counts; }

}  // namespace cupilot
