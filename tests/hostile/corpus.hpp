// The corpus of kernels that must be refused, or accepted, and what the pipe makes of each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/result.hpp>

namespace cupilot::hostile {

// One line of a manifest. "accepted" stands for a kernel that must pass every stage.
struct Row {
  std::string file{};                 // under the corpus folder
  std::string manifest{};             // the file it stands in
  std::vector<std::string> expect{};  // codes allowed on the virtual device, or with it as a screen
  std::vector<std::string>
      device{};  // codes allowed on a real device alone; "undetected": physics hides it there
  std::vector<std::string> covers{};  // entries of the threat catalogue: "A1"
  std::string says{};                 // a pattern that the reason holds; "": any
  std::vector<std::string> task{};    // task words in place of the file's own
  // Parts of the file's text, header included, each with what stands in its place everywhere.
  std::vector<std::pair<std::string, std::string>> swap{};

  std::string name() const;  // file, task words and what is swapped in
};

struct Corpus {
  std::string folder{};
  std::vector<Row> rows{};
};

// Every manifest*.json of the folder, in order of name. Error: unreadable, not of the form, or a
// file twice with one task.
Result<Corpus> read_corpus(const std::string& folder);

// Kernel files below the folder, tasks aside, as rows name them.
std::vector<std::string> kernel_files(const std::string& folder);

// A row's kernel. Error: the file is unreadable, or lacks a part that is to be swapped.
Result<StandaloneKernel> kernel_of(const Corpus& corpus, const Row& row);

struct Outcome {
  std::string code{};  // a rejection code, "accepted", "error" when the machine or the row failed,
                       // "" when time was up
  std::string message{};  // why
  double seconds = 0;     // wall clock of the whole pipe
};

// The pipe at the level of a finalist. `screen`: a device asked first, or null.
Outcome evaluate_row(const Corpus& corpus, const Row& row, Backend& backend, Backend* screen);

// How rows are evaluated.
struct RunOptions {
  Backend* screen = nullptr;  // asked first
  int jobs = 1;               // rows at a time
  double seconds = 0;         // no row begins later; 0: no limit
};

// Outcomes in order of rows.
std::vector<Outcome> evaluate_rows(const Corpus& corpus, const std::vector<Row>& rows,
                                   Backend& backend, const RunOptions& options);

bool is_allowed(const std::vector<std::string>& allowed, const std::string& code);
// True if the outcome's message holds what the row asks of a reason.
bool says_why(const Row& row, const Outcome& outcome);

}  // namespace cupilot::hostile
