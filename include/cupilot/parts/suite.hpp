// Lists of tasks that come with the library, each under a word: "kernelbench:1/23"; a suite
// searched task after task, and its table (docs/formats/suite.md). The run directory keeps each
// task's outcome when it ends, so that a run goes on where it stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>
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

// A subject that a champion was timed against.
struct SuiteTime {
  std::string name{};  // "plain", "torch"
  double time_us = 0;
  // Its time over the champion's: median of the rounds and its 95 % interval; 0: not interleaved.
  double ratio = 0, low = 0, high = 0;
  std::string says{};  // contestants: versions and flags
};

struct SuiteRow {
  std::string id{}, title{}, family{}, precision{};
  std::string apart{};  // why the task counts in no mean; "": it does
  bool ended = false;
  std::string error{};  // why there is no champion; "": there is one, or the task has not ended
  std::string device{}, identity{};
  std::string proved{};  // class of the champion
  std::string provenance{};
  double time_us = 0;
  // max(unavoidable bytes / sustained DRAM rate, operations / sustained rate of the proved class),
  // and the floor of the datasheet's rates.
  double floor_us = 0, datasheet_floor_us = 0;
  std::string rates{};  // origin of the sustained rates
  std::vector<SuiteTime> times{};
  std::int64_t evaluations = 0;
  double seconds = 0;             // wall clock without contestants
  double contestant_seconds = 0;  // importing, compiling and running them
  std::string strategy{};
  std::vector<std::string> notices{};
};
// Id of the row whose task this one searches in another class: "1" for "1@fp32-emulated"; "": it
// stands for a task by itself.
std::string_view stands_beside(const SuiteRow& row);
// Share of the sustained floor, 0..1.
double floor_share(const SuiteRow& row);
// 1 / (1 + (time - floor) / (baseline - floor)) with the datasheet's floor: 0.5 is as fast as the
// baseline. 0: not defined.
double sol_score(const SuiteRow& row, std::string_view baseline);
// The row's time against one contestant, or against the fastest of "torch" and the other counting
// ones but torch-max-autotune by the name "best of torch"; null: there is none.
const SuiteTime* time_against(const SuiteRow& row, std::string_view name);

// Means over tasks with a time of that contestant. A task without a champion counts as 1, and so
// does one apart. Rows beside others count in no group but those that name them.
struct SuiteMean {
  // group: "all", "class fp32-strict", "family softmax", "beside in fp32-emulated", "all, the
  // faster class"
  std::string against{}, group{};
  int tasks = 0;
  double geometric = 0, low = 0, high = 0;                // low, high: of the ends of the intervals
  double arithmetic = 0, arithmetic_without_largest = 0;  // without the five largest
  // Intervals above 1.01, below 0.99, and the others.
  int faster = 0, slower = 0, undecided = 0;
};

struct SuiteReport {
  std::string suite{}, source{}, settings{};
  std::vector<SuiteRow> rows{};  // in the suite's order
  std::vector<SuiteMean> means{};
  double median_floor_share = 0;  // among champions
  int tasks = 0, ended = 0, solved = 0;
  std::vector<std::string> notices{};  // devices that were lost
};
// Fills in what follows from the rows.
void summarise(SuiteReport& report);

struct SuiteOptions {
  std::string suite{};                 // "kernelbench:1", or the path of a suite file
  std::vector<std::string> only{};     // ids; empty: all
  std::vector<std::string> devices{};  // names; each runs a task at a time
  double seconds_per_task = 60;        // 0: no limit
  std::int64_t evaluations = 2000;     // a task
  std::uint64_t seed = 1;
  std::vector<std::string> against{};  // contestants
  std::string run_dir{};
  std::string pool{};  // strategy pool; "": none
  BackendOptions backend{};
  // Called by the threads that search, one at a time: when a task begins and when it has ended.
  std::function<void(const SuiteRow& row, const std::string& device)> on_task{};
  std::atomic<bool>* cancel = nullptr;
};

// Searches what has not ended, a task after another on each device. A task that fails leaves its
// error in its row. Error: the directory holds a run of other settings, or no device is left.
Result<SuiteReport> run_suite(const SuiteOptions& options);
// Reads the results that a run directory holds so far.
Result<SuiteReport> read_suite_run(const std::string& run_dir);

// The report as texts.
std::string suite_json(const SuiteReport& report);
std::string suite_csv(const SuiteReport& report);
std::string suite_page(const SuiteReport& report);
std::string suite_markdown(const SuiteReport& report);

}  // namespace cupilot
CUPILOT_EXPORTS_END
