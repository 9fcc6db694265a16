// Reads a tunable's `model`, and the fitted numbers beside it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <cupilot/parts/tunable.hpp>

#include "task/json_reader.hpp"

namespace cupilot {

// Named expressions under `key` of an object; empty where it is absent.
NamedExprs named_exprs(JsonObject& object, const char* key);

TunableModel model_from(JsonFaults& faults, const Json& json, const std::string& where);

// Lines of the keys of a JSON text, by path ("let.units", "model.blocks"), counted from 1. Elements
// of arrays are left out.
std::map<std::string, int> lines_of_keys(std::string_view json);

// True where the plan defines `cost`, which older versions read, and nothing else of it does.
bool has_unread_cost(const Tunable& tunable);

// Copies the definitions of `let` that the plan or the registers use into the plan, and refuses
// names that stand twice and definitions that need themselves.
void share_lets(JsonObject& object, Tunable& tunable);

}  // namespace cupilot
