// Faults of order, width and rounds, put into the instructions of a PTX text.
#pragma once

#include <span>
#include <vector>

#include "operators.hpp"
#include "ptx_text.hpp"

namespace cupilot::mutation {

struct PtxOperator {
  const char* name = "";
  const char* fault = "";    // what the mutant does wrong
  bool needs_large = false;  // tells nothing where every tensor is below 2 GiB
  std::vector<Site> (*sites)(const PtxText&) = nullptr;
};

std::span<const PtxOperator> ptx_operators();

}  // namespace cupilot::mutation
