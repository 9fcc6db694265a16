// Real PTX and ways to spoil it.
#pragma once

#include <string>
#include <vector>

#include "fuzz/dice.hpp"
#include "ptx/gate/gate.hpp"

namespace cupilot::fuzz {

// A module as the compiler made it, and the launches it is meant for.
struct Seed {
  std::string name{}, text{};
  std::vector<ptx::ExpectedEntry> entries{};
};

// Every file of tests/data/ptx-fuzz, in order of name.
std::vector<Seed> seeds();

// A mutant with what the gate must say to it; an empty code: refused, by whatever code.
struct Mutant {
  std::string text, code, what;
};

Mutant with_second_entry(const Seed& seed, Dice& dice);
Mutant with_hidden_state(const Seed& seed, Dice& dice);
Mutant with_forbidden_instruction(const Seed& seed, Dice& dice);
Mutant with_oversize_variable(const Seed& seed, Dice& dice);
// Changes the parameters or the name of an entry.
Mutant with_other_interface(const Seed& seed, Dice& dice);

// Bytes, words and lines changed at random; nothing is known of the outcome.
std::string scrambled(const Seed& seed, std::span<const Seed> others, Dice& dice);

// What a reader of the text alone, without the parser, sees of its interface: "" or what is wrong
// with it.
std::string complaint(const std::string& text, const Seed& seed);

}  // namespace cupilot::fuzz
