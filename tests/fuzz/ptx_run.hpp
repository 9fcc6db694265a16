// PTX text through all that the virtual device does with it: parse, gate, facts, decode, run.
#pragma once

#include <string>

#include "fuzz/dice.hpp"
#include "fuzz/ptx_mutants.hpp"

namespace cupilot::fuzz {

// How far a mutant of the seed came: the code of the refusal or fault that ended it, "" when a
// launch ended well.
std::string outcome(const std::string& text, const Seed& seed, Dice& dice);

// A seed with its instructions changed as PTX is written: registers, types, modifiers, numbers,
// guards and whole lines exchanged.
std::string regrown(const Seed& seed, std::span<const Seed> others, Dice& dice);

}  // namespace cupilot::fuzz
