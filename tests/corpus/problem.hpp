// A problem in numbers, and the host's answers to it: the references that kernels of the corpus are
// compared with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot::coverage {

using Values = std::vector<double>;  // of a tensor, dense and row-major
using Index = std::int64_t;

struct Problem {
  Sizes sizes{};
  std::map<std::string, Values> inputs{};

  // Throw std::out_of_range when the kernel's header does not name it.
  Index size(const std::string& name) const { return sizes.at(name); }
  // As size(), `fallback` when absent: strides, paddings and the like have a usual value.
  Index size_or(const std::string& name, Index fallback) const {
    const auto found = sizes.find(name);
    return found == sizes.end() ? fallback : found->second;
  }
  const Values& in(const std::string& name) const { return inputs.at(name); }
};

using Reference = std::function<Values(const Problem&)>;
using References = std::map<std::string, Reference, std::less<>>;

// By family; each in double and in the most obvious way.
const References& matmul_references();
const References& elementwise_references();
const References& row_references();
const References& image_references();
const References& feature_references();
const References& applied_references();

// Null when no family has that name.
const Reference* find_reference(std::string_view name);

}  // namespace cupilot::coverage
