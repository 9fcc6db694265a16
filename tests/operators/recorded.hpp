// Results of PyTorch, as scripts/device/operators.py records them (docs/formats/operators.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot::testing {

struct RecordedInput {
  bool absent = false;
  std::vector<std::int64_t> shape{};
  DType type = DType::f32;
  std::vector<std::uint8_t> bytes{};  // as the tensor holds them
};

struct RecordedOutput {
  std::vector<std::int64_t> shape{};
  std::vector<double> values{};
};

struct RecordedCase {
  std::string op{};
  std::size_t number = 0;  // within the operator
  std::map<std::string, Attribute> attributes{};
  std::vector<RecordedInput> inputs{};
  std::vector<RecordedOutput> outputs{};
};

// Where our values differ from PyTorch's, and why.
struct Difference {
  std::string op{}, kind{}, reason{};
};

std::vector<RecordedCase> recorded_cases();
std::vector<Difference> recorded_differences();

}  // namespace cupilot::testing
