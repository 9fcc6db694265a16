// The time model's input for a compiled kernel, from the virtual device of its chip.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>
#include <cupilot/verdict.hpp>

// Any thread.
class Counting {
 public:
  static cupilot::Result<std::unique_ptr<Counting>> open(const std::string& chip);
  ~Counting();
  cupilot::Attempt<std::vector<cupilot::ModelInput>> inputs(
      const cupilot::TaskRef& task, const cupilot::CompiledKernel& kernel) const;

 private:
  struct State;
  explicit Counting(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};
