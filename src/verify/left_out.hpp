// Says which cases were left out that the executed code asked for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cupilot/parts/trial.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// "not run: rows=4097 cols=37, for PTX line 12, which compares with 4097: it is priced at …", the
// first four, and how many more there are.
std::vector<std::string> sentences_of(std::span<const CaseLeftOut> left_out);

// The sizes, within those that the task names, at which a kernel did not end or which the code
// names and that did not run: "rows=4097 cols=37; rows=9 cols=37"; "": none.
std::string excepted_sizes(const Task& task, std::span<const CaseLeftOut> left_out);

// "rows=5 cols=4097"
std::string sizes_text(const Workload& workload);

}  // namespace cupilot
