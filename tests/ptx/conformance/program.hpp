// Random straight-line programs over the forms of this folder, run lane by lane on the host and as
// PTX.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ptx/conformance/form.hpp"
#include "ptx/conformance/values.hpp"

namespace conformance {

// Registers of a program: predicates, then those of 16, 32 and 64 bits. All are read from memory
// before and written after.
struct Bank {
  int bits, first, count;
};
inline constexpr Bank banks[] = {{1, 0, 4}, {16, 4, 5}, {32, 9, 9}, {64, 18, 5}};
inline constexpr int register_count = 23;
using State = std::array<u64, register_count>;  // of one lane

struct Step {
  const Form* form = nullptr;
  std::array<int, 2> results{};
  std::array<int, 5> arguments{};
  int guard = -1;  // a predicate
  bool guard_inverted = false;
};
struct Program {
  std::vector<Step> steps;
};

// Among the forms that ptxas takes.
Program random_program(Generator& generator, std::size_t steps);
State random_state(Generator& generator);
void run(const Program& program, State& lane);

// An entry of one block of 32 threads: name(.param .u64 before, .param .u64 after), a State a
// thread.
std::string entry_of(const Program& program, const std::string& name);
std::string module_head();
// The instructions alone, a line each.
std::string listing(const Program& program);

}  // namespace conformance
