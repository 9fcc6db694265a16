// Lists of tasks that come with the library, each under a word: "kernelbench:1/23".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct SuiteTask {
  std::string word{};       // "kernelbench:1/23"
  std::string title{};      // its name in the source
  std::string structure{};  // the sentence that declares structure of inputs; "": none does
  std::string note{};       // differences from the source
  std::string apart{};      // why its times count in no mean: "its output is constant"; "": they do
  Task task{};
};

// A task of the source that has no row.
struct SuiteGap {
  std::string word{}, title{}, reason{};
};

struct Suite {
  std::string name{};    // "kernelbench:1"
  std::string source{};  // repository, commit and folder
  std::vector<SuiteTask> tasks{};
  // Tasks once more in another class, "kernelbench:1/1@fp32-emulated", by `also` of their rows.
  std::vector<SuiteTask> beside{};
  std::vector<SuiteGap> skipped{};
};

// Names of the built-in suites.
std::vector<std::string> suite_names();

// A built-in suite, or that of a file whose path holds a slash or ends in .json, with all its tasks
// completed and validated. Error usage: no such suite.
Result<Suite> load_suite(std::string_view name);

// True for words of the form SUITE:LEVEL or SUITE:LEVEL/ID.
bool is_suite_word(std::string_view word);

// {"kernelbench:1/23", "AXIS=SIZE", …}: the task with these sizes in its time shapes;
// "kernelbench:1/1@CLASS": in another class. Error usage names the word, the reason and what is
// known.
Result<Task> task_from_suite(const std::vector<std::string>& words);

}  // namespace cupilot
CUPILOT_EXPORTS_END
