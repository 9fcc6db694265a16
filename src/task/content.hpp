// Host side of the content recipes and error bounds: plain numbers for the trusted kernels, and
// filling host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "base/embedded.hpp"
#include "trusted/bound.cuh"
#include "trusted/content.cuh"

namespace cupilot {

// The recipe of one tensor (index into task.tensors) as numbers. Error: the shape has no value at
// this workload.
Result<FillParams> fill_params(const Task& task, std::size_t tensor, const Workload& workload,
                               const Content& content);

// The tensor (index) whose recipe and buffer stand for `tensor`: itself, or under
// Variation::overlap the first floating input of the same type and layout.
Result<std::size_t> source_of(const Task& task, std::size_t tensor, const Workload& workload,
                              const Content& content);

// True of a tensor that holds no infinity and no NaN in any content: its own values say so, or an
// operator that it is an input of (`finite`).
bool stays_finite(const Task& task, const Tensor& tensor);

// True if the first floating input may be nothing but an infinity (content infinite_lines).
bool may_be_infinite(const Task& task);

// True for content of whole numbers in a range, which kinds of content run through.
bool is_counted(const Tensor& tensor);

// Content of values near the largest of a type: products overflow in the contract's own type.
inline bool overflows(ContentKind kind) {
  return kind == ContentKind::special || kind == ContentKind::huge_element;
}

// Variation::scaled: the factor of the first floating input.
inline constexpr double scaled_by = 2.0;
// Variation::swapped: the axis whose lines are exchanged, null where none can be; its dimension in
// a tensor, the rank when absent.
const Axis* swapped_axis(const Task& task);
std::size_t swapped_dimension(const Task& task, const Tensor& tensor);

// True for tasks that are judged by arithmetic in fp16, whose range sums of integers that fp32 adds
// up exactly leave.
bool adds_in_fp16(const Task& task);

// Bytes that a tensor's base address lies past a multiple of default_alignment in this case. Cases
// with so many seeds that follow one another show tensors that lie alike and apart.
inline constexpr std::int64_t default_alignment = 256;
inline constexpr std::uint64_t base_ways = 3;
std::int64_t base_offset(const Tensor& tensor, const Case& what);

// True where the task's class rounds or splits an input that is stored wider.
bool rounds_inputs(const Task& task);

// The check of one output (out or in_out) as numbers.
Result<BoundParams> bound_params(const Task& task, std::size_t tensor, const Workload& workload,
                                 const Content& content);

// Writes elements [begin, begin + count) of the tensor into `memory`, which holds the tensor's
// whole span; elements between strides stay untouched. memory.size() >= span * size_of(type).
void fill(const FillParams& params, std::span<std::byte> memory, std::int64_t begin,
          std::int64_t count);
// All elements.
void fill(const FillParams& params, std::span<std::byte> memory);

// kernels/trusted/*.cuh as compiled in.
std::span<const EmbeddedFile> trusted_files();

// Without the lines that include other files: in a concatenation those stand before it already.
std::string without_includes(std::string_view text);

// storage.cuh, content.cuh and bound.cuh as one text without includes: the head of a trusted CUDA
// program.
std::string trusted_text();

}  // namespace cupilot
