// Small faults that a programmer, a model or a cheat might put into a kernel, each at a place of a
// text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "source_text.hpp"

namespace cupilot::mutation {

struct Edit {
  std::size_t begin = 0, end = 0;  // offsets in the text
  std::string with{};
};
// Edits that make one fault, in order of place.
using Site = std::vector<Edit>;

struct Operator {
  const char* name = "";
  const char* fault = "";  // what the mutant does wrong
  std::vector<Site> (*sites)(const SourceText&) = nullptr;
};

// The fourteen of the campaign.
std::span<const Operator> operators();

std::string apply(const std::string& text, const Site& site);

}  // namespace cupilot::mutation
