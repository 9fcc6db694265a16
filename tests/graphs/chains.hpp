// Chains of operators as tasks, and kernels of their parts with a fault each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <cupilot/result.hpp>

#include "program/join.hpp"

namespace cupilot::graphs {

// "linear 64", "linear_bias 64": a contraction of that width; else the name of an operator, or
// "residual" (adds an input), "scale" (multiplies by a vector).
struct Step {
  std::string name;
  int width = 0;
  bool contracts() const { return name.starts_with("linear"); }
  bool folds() const { return contracts() || name == "softmax" || name.ends_with("_norm"); }
};

struct Chain {
  std::string name;
  std::int64_t rows = 0, k = 0;
  std::vector<Step> steps;
};

// The rows of a file and the number of chains that it asks to draw.
Result<std::vector<Chain>> read_chains(const std::string& path, std::uint64_t seed);

enum class Kind { honest, tf32, fp16, bf16, dropped_term, rounded_edge };
const char* name_of(Kind kind);

struct Fault {
  Kind kind = Kind::honest;
  std::size_t step = 0;
};

// All faults that the chain can have.
std::vector<Fault> faults_of(const Chain& chain);

Result<Task> task_of(const Chain& chain);

// A contraction and the pointwise steps behind it are a part; others are parts of their own.
Partition partition_of(const Chain& chain);

// The kernels of the parts. `seed` draws the order in which each sums.
Result<std::vector<PartKernel>> kernels_of(const Chain& chain, const Task& task, const Fault& fault,
                                           std::uint64_t seed);
// The part that holds a step.
std::size_t part_of(const Partition& partition, std::size_t step);

// A graph with its kernels, honest or with one fault in one operation.
struct Subject {
  std::string name{};
  std::int64_t k = 0;  // of its first contraction; of a loop, its steps
  Task task{};
  std::vector<std::string> operators{};  // by step
  Partition partition{};
  std::vector<Fault> faults{};
  std::function<Result<std::vector<PartKernel>>(const Fault&, std::uint64_t seed)> kernels{};
};
Result<Subject> subject_of(const Chain& chain);

}  // namespace cupilot::graphs
