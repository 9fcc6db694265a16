// What a tuner's list says, in our terms.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/parts/expr.hpp>

#include "task/json_reader.hpp"

namespace cupilot {

struct TunerList {
  std::string kernel{};
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> parameters{};
  std::vector<Expr> restrictions{};
  std::vector<Expr> grid{};   // blocks
  std::vector<Expr> block{};  // threads
  Expr shared = 0;            // dynamic bytes
};

// Either layout of docs/formats/kernel-tuner.md. `problem`: sizes in place of the list's own.
// Faults get what is wrong.
TunerList tuner_list_from(JsonFaults& faults, const Json& json, const std::vector<Expr>& problem);

}  // namespace cupilot
