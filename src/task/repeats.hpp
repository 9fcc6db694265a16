// Loops of a graph: the names that a body uses, and the stages that hand values from step to step.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

#include "task/rules/apply.hpp"

namespace cupilot {

// The first coordinate of a body's stages.
inline constexpr const char* step_coordinate = "cupilot_step";
inline constexpr std::int64_t most_steps = 16384;

// A name in a body: "x" or "x[t + 1]".
struct StepName {
  std::string base{};
  Expr index{""};  // over the step and sizes; "": there is none
  bool sliced() const { return !index.text.empty(); }
  bool operator==(const StepName&) const = default;
};
StepName step_name(const std::string& text);

// The repeat of this name, or null.
const Repeat* find_repeat(const Task& task, const std::string& name);
// The value of this name that a repeat carries, or null.
const Carried* find_carried(const Repeat& repeat, const std::string& name);

// Lists the tensors and edges that an operation reads from before its repeat or its own step, and
// those that it makes for its step or for readers behind the repeat.
std::vector<std::string> read_names(const Task& task, const Operation& operation);
std::vector<std::string> made_names(const Task& task, const Operation& operation);

// True if the body of `repeat` reads the value of `carried` or the caller gets it.
bool is_read(const Task& task, const Repeat& repeat, const Carried& carried);

// Names, counts and bodies of a task's repeats. Error usage names the repeat and what is wrong.
Result<void> check_repeats(const Task& task);

// Evaluates `expr` at each step. Error usage: it has no value there.
Result<std::vector<std::int64_t>> at_each_step(const Task& task, const Repeat& repeat,
                                               const Expr& expr, const Workload& workload);

// A tensor or stage as an operation reads it.
struct SeenInput {
  std::string source{};
  ExprShape shape{};    // of one step
  std::string step{};   // StageRead::step
  std::string first{};  // StageRead::first
};

// The names of one body while its operations are composed in order.
class RepeatBody {
 public:
  // `outer`: shapes of what can be read outside. Stages are added to `task`. `equal`: gets what has
  // to be equal, or null.
  RepeatBody(Task& task, const Repeat& repeat, std::map<std::string, ExprShape>& outer,
             Equalities* equal = nullptr)
      : task_(task), repeat_(repeat), outer_(outer), equal_(equal) {}

  const Repeat& repeat() const { return repeat_; }
  // Errors of all of these leave out the task and the operation.
  Result<SeenInput> input(const std::string& text) const;
  // The name of the stage that gives this output at each step.
  Result<std::string> stage_of(const std::string& text) const;
  // Notes an output of the body with its shape at one step; adds its edge.
  Result<void> add_output(const std::string& text, const ExprShape& shape);
  // Hands values on: after the last operation of the body.
  Result<void> finish();

 private:
  Error fail(const std::string& reason, const std::string& hint) const;
  Result<bool> runs_backwards(const StepName& name) const;
  Result<void> check_range(const StepName& name, const Expr& extent) const;
  Result<void> check_handed(const StepName& name, const ExprShape& shape) const;
  bool is_written(const std::string& base) const;
  Result<void> hand_on(const Carried& carried);
  Result<void> add_copy(const std::string& name, const std::string& stage, const ExprShape& shape,
                        const std::string& step, bool all_steps);

  Task& task_;
  const Repeat& repeat_;
  std::map<std::string, ExprShape>& outer_;
  Equalities* equal_;
  struct Value {
    StepName name;
    std::string stage;
    ExprShape shape;
  };
  std::vector<Value> values_;
};

}  // namespace cupilot
