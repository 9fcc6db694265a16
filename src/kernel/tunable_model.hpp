// Reads a tunable's `model`, and the fitted numbers beside it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

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

// Gives all templates of a folder their numbers from its model.json, as set_model_weights does, and
// refuses an entry of a template that the folder lacks or that has no model. Error: usage.
Result<void> set_folder_weights(const std::vector<Tunable*>& tunables, std::string_view json,
                                const std::string& file);

}  // namespace cupilot
