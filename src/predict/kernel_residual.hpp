// The residual of times that are modelled from counts, for kernels of any family, with or without a
// template (docs/formats/time-model.md, Residual).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>
#include <cupilot/verdict.hpp>

#include "predict/residual.hpp"

namespace cupilot {

// The content of a file residual-DEVICE.json.
struct ResidualData {
  std::string device{};                       // DeviceSpec::name of what it was learnt on
  std::vector<std::string> operators{};       // of the tasks whose kernels it corrects
  std::vector<double> weights{};              // coordinate weights; 0: does not matter
  double deviation = 0.3;                     // deviation of errors far from all points, in octaves
  double noise = 0.1;                         // in units of deviation squared
  std::vector<std::vector<double>> points{};  // coordinates (predict/resources.hpp)
  std::vector<double> errors{};               // log2(measured / modelled), one a point
};
Result<ResidualData> residual_data(std::string_view json, const std::string& file);

// Any thread.
class KernelResidual {
 public:
  explicit KernelResidual(const ResidualData& data);
  // `coordinates`: of the kernel. Far from all points: mean 0.
  ResidualGuess guess(const std::vector<double>& coordinates) const;

 private:
  std::vector<double> weights_;
  Residual residual_;
};

// model_time(), corrected by the residuals that ship with the families, where one was learnt on the
// device and of an operator of the task's graph; the interval reaches one standard deviation
// further, which of other operators is the residual's for what is like none of its points. No
// correction takes a time below `floor_us`.
ModelledTime predicted_time(const DeviceSpec& device, const Task& task,
                            const std::vector<ModelInput>& launches, double floor_us = 0);

}  // namespace cupilot
