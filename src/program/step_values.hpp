// Places of the values of a repeat's body, step by step, in a program's plan.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot {

// The steps of a repeat whose count is a number; nullopt: it depends on sizes.
std::optional<std::int64_t> fixed_count(const Task& program, const Repeat& repeat);

// A copy between a value of a step and its place in a tensor or edge of all steps.
struct StepCopy {
  std::string value{};  // as the body names it
  std::string whole{};  // a tensor or edge
  Expr place = 0;       // along its first dimension
};

// The values that parts of one body read and write.
class StepValues {
 public:
  StepValues(const Task& program, const Repeat& repeat, std::int64_t count)
      : program_(program), repeat_(repeat), count_(count) {}

  std::int64_t count() const { return count_; }
  // True for what the body makes anew in each step, or a place that it reads: it has a buffer of
  // its own.
  bool is_own(const std::string& value) const;
  // The buffers that own values take turns in: two where a step hands the value on.
  std::vector<std::string> buffers(const std::string& value) const;
  // The buffer of a value at a step, or the tensor or edge outside that it is there.
  std::string at(const std::string& value, std::int64_t step) const;
  // Tensors and edges outside of the body that a value stands for at some step.
  std::vector<std::string> outside(const std::string& value) const;
  // The copy before a part that reads the value at a step, or after one that writes it.
  std::optional<StepCopy> copy_in(const std::string& value, std::int64_t step) const;
  std::optional<StepCopy> copy_out(const std::string& value, std::int64_t step) const;
  // Finds the place where a program with its edges exposed keeps the value of a step: `value` is
  // empty where it is all of `whole`.
  StepCopy kept(const std::string& value, std::int64_t step) const;

 private:
  bool is_made(const std::string& value) const;
  const Carried* handed_on(const std::string& value) const;
  Expr place(const std::string& value, std::int64_t step) const;

  const Task& program_;
  const Repeat& repeat_;
  std::int64_t count_;
};

}  // namespace cupilot
