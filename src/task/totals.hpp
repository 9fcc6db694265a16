// Sums work and lengths over all operations of a graph.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot {

// The longest of all sums an output is made of.
Expr length_of(const Task& task, const std::string& output);

// The textbook operations of a graph; those of a repeat's body count once a step.
class WorkSum {
 public:
  // `repeat`: whose body they belong to, or null.
  void add(const std::string& flops, const Repeat* repeat);
  std::string total();

 private:
  void append(const std::string& flops);
  void end();

  std::string sum_;
  const Repeat* repeat_ = nullptr;
  std::vector<std::pair<std::string, int>> body_;  // with how often it stands there
};

}  // namespace cupilot
