// Concludes from the reports of a battery, beside correctness: class, determinism, relations, and
// open questions.
#pragma once

#include <vector>

#include <cupilot/parts/verification.hpp>

namespace cupilot {

// The largest relative error that the task's contract allows a value of one term; infinite where it
// says nothing.
double one_term_error_of(const Task& task);

// The time shapes that no case ran in full, but those that the kernel does not take; all of them
// where it takes none.
std::vector<Workload> shapes_left(const Task& task, const std::vector<CaseReport>& cases);

// Fills proved, repeats, deterministic, proved_by and unproved from out.cases and what they
// executed.
void say_what_was_shown(const Task& task, const CompiledKernel& kernel, const TrialReport& report,
                        Verification& out);

}  // namespace cupilot
