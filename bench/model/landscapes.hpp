// Recorded landscapes with what models need of each strategy.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/task.hpp>
#include <cupilot/verdict.hpp>

struct Row {
  cupilot::Strategy strategy{};
  std::string template_name{};
  int half = 0;        // 0 or 1, by the strategy's id: the same at all shapes
  double time_us = 0;  // median of the rounds
  std::vector<cupilot::ModelInput> launches{};  // empty: not counted
};

struct Landscape {
  std::string name{};
  cupilot::Task task{};
  cupilot::DeviceSpec device{};
  std::vector<Row>
      rows{};  // those timed, in an order that has nothing to do with how they were drawn
};

// Ends the program with a sentence where the files cannot be read.
Landscape read_landscape(const std::string& folder, const std::string& counts_folder);
