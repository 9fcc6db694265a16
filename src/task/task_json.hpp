// A task's JSON object, for readers that made the object themselves.
#pragma once

#include <optional>
#include <string>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "task/json_reader.hpp"

namespace cupilot {

// A whole number, a number, a truth (1 or 0), a word, or a list of whole numbers; else none.
std::optional<Attribute> attribute_from(const Json& json);

// One operation: version 1 names kind, inputs and outputs; version 2 op, in, out and attrs.
Operation operation_from(JsonFaults& faults, const Json& json, const std::string& where);

// The fields alone, neither completed nor validated; `reference` gets the file that holds the
// reference text, "" where the object holds the text. Error usage names origin and field.
Result<Task> read_task(const Json& json, const std::string& origin, std::string& reference);

}  // namespace cupilot
