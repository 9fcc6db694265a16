// A family's template in the names of another task.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

class Renaming {
 public:
  // The task that the template shall serve.
  explicit Renaming(const Task& task);

  std::map<std::string, std::string> tensors{};  // the template's -> the task's
  std::map<std::string, std::string> names{};    // in expressions: sizes -> expressions

  // Constants that the template reads, as numbers.
  void set_constants(const Constants& constants);

  // The template with its text in a namespace of its own. Names of its own definitions, buffers and
  // maps that are the task's too become others.
  Tunable applied(const Tunable& tunable) const;

 private:
  void keep_apart(const Tunable& tunable);
  std::string name(const std::string& given) const;
  std::string source(const std::string& given) const;  // of a tensor, a buffer or a map
  Expr expr(const Expr& given) const;
  void apply(std::vector<Expr>& all) const;
  void apply(NamedExprs& all) const;
  void apply(LaunchPlan& plan) const;
  void apply(TunableModel& model) const;
  std::string text(const std::string& given) const;

  const Task& task_;
  Constants constants_{};
  std::set<std::string> taken_{};
};

}  // namespace cupilot
