// Text of the program's screens.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/result.hpp>

#include "screens/ticker.hpp"

namespace cupilot::cli {

// Message and next step on standard error, and with `json` the object of an error on standard
// output. Returns the exit code.
int fail(const Error& error, bool json);

// "61.2 us", "3.41 ms".
std::string time_text(double us);

// Columns padded to their widest cell; the first row is the head.
std::string table(const std::vector<std::vector<std::string>>& rows);

// One line a generation. A device that runs no kernels has no roofline.
std::string generation_line(const Progress& progress, Provenance provenance, bool runs_kernels);

// Tells the first refusal of a code: code and message, setting, line, next step.
std::string refusal_text(const Refusal& refusal);
// Names the work that a run waits for, then in a line each the agents whose questions are open.
std::vector<std::string> activity_lines(const Activity& activity);
// Says on standard error, every activity_seconds while it lives, that a verb still works.
Ticker tell_waits(std::string doing);
// Says that the program leaves its work where it stands.
std::string stopped_text(const std::string& run_dir);

// The table and the words at the end of a search or of `report`.
void print_report(const EvolveReport& report, const Task& task);

// Seconds by phase, the longest first.
void print_phases(const EvolveReport& report);

// A line on standard output. Waits for its reader, but not for long once a signal asked for the
// end.
void say(const std::string& line);
// The exit code of a program that would end with `code`: 1, and a word on standard error, where
// output was lost (no room).
int end_of_output(int code);

// A line for a reader who may be away: what finds no room within so many milliseconds is dropped.
// True if all of it was written.
bool show(std::FILE* stream, const std::string& line, int milliseconds = 0);
// Does the same for a text that ends as it is.
bool send(std::FILE* stream, const std::string& text, int milliseconds = 0);

}  // namespace cupilot::cli
