#include "program/recipe.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace cupilot {
namespace {

constexpr std::array<std::string_view, 6> word_kinds = {"size",  "number",    "flag",
                                                        "dtype", "precision", "choice"};
constexpr std::array<std::string_view, 2> number_word_types = {"fp32", "fp64"};
constexpr std::array<std::string_view, 1> library_calls = {"matmul"};

std::string typed_as(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

void read_offers(JsonObject& object, RecipeWord& word) {
  word.offered_by = object.text("offered_by", true);
  const Json* offers = object.find_object("offers", true);
  if (offers == nullptr) return;
  JsonObject by_value(object.faults(), *offers, object.where("offers"));
  for (const auto& [key, names] : offers->items()) {
    word.offers[key] = by_value.texts(key.c_str(), true);
    for (const std::string& name : word.offers[key]) {
      auto& options = word.shown.options;
      if (!precision_from(name)) by_value.fail(key, "'" + name + "' is no known class");
      if (std::find(options.begin(), options.end(), name) == options.end()) options.push_back(name);
    }
  }
  by_value.done();
}

void read_also(JsonObject& object, RecipeWord& word) {
  const Json* also = object.find_object("also");
  if (also == nullptr) return;
  JsonObject names(object.faults(), *also, object.where("also"));
  for (const auto& [key, value] : also->items()) {
    word.also[key] = names.text(key.c_str(), true);
    word.shown.options.push_back(key);
    if (!precision_from(word.also[key])) names.fail(key, "is no known class");
  }
  names.done();
}

void check_default(JsonObject& object, const RecipeWord& word) {
  using Kind = FamilyWord::Kind;
  const Json& value = word.fallback;
  if (word.by_rule) return;
  const auto& options = word.shown.options;
  const bool fits = word.shown.kind == Kind::size
                        ? value.is_number_integer() && value.get<std::int64_t>() >= word.least
                    : word.shown.kind == Kind::number ? value.is_number()
                    : word.shown.kind == Kind::flag
                        ? value.is_boolean()
                        : value.is_string() && std::find(options.begin(), options.end(),
                                                         value.get<std::string>()) != options.end();
  if (!fits) object.fail("default", "is no value of this word");
}

RecipeWord word_from(JsonFaults& faults, const Json& json, const std::string& where) {
  using Kind = FamilyWord::Kind;
  JsonObject object(faults, json, where);
  RecipeWord word;
  word.shown.name = object.text("name", true);
  word.shown.kind = static_cast<Kind>(object.choice("kind", word_kinds, 0));
  word.shown.about = object.text("about", false);
  if (const Json* fallback = object.find("default", true)) word.fallback = *fallback;
  word.by_rule = word.fallback.is_object() ||
                 (word.fallback.is_string() && word.fallback.get<std::string>().starts_with('$'));
  if (!word.by_rule) word.shown.default_value = typed_as(word.fallback);
  if (word.shown.kind == Kind::size) word.least = object.integer("least", false, 1);
  if (word.shown.kind == Kind::number)
    word.number_type = object.choice("type", number_word_types, 1) == 0 ? DType::f32 : DType::f64;
  if (word.shown.kind == Kind::choice || word.shown.kind == Kind::dtype)
    word.shown.options = object.texts("options", true);
  if (word.shown.kind == Kind::dtype) {
    for (const std::string& name : word.shown.options) {
      if (!dtype_from(name)) object.fail("options", "'" + name + "' is no known type");
    }
  }
  if (word.shown.kind == Kind::precision) {
    read_offers(object, word);
    read_also(object, word);
  }
  check_default(object, word);
  object.done();
  return word;
}

RecipeRefusal refusal_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  RecipeRefusal refusal{.when = object.expr("when", true),
                        .reason = object.text("reason", true),
                        .hint = object.text("hint", false)};
  object.done();
  return refusal;
}

LibraryCall library_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  object.choice("call", library_calls, 0);
  if (object.find("call", true) == nullptr) return {};
  LibraryCall call;
  call.families = object.texts("families", true);
  for (const auto& [key, tensor, needed] : {std::tuple{"a", &call.a, true},
                                            {"b", &call.b, true},
                                            {"c", &call.c, false},
                                            {"d", &call.d, true},
                                            {"bias", &call.bias, false},
                                            {"scale_a", &call.scale_a, false},
                                            {"scale_b", &call.scale_b, false},
                                            {"alpha", &call.alpha, false},
                                            {"beta", &call.beta, false}})
    *tensor = object.text(key, needed);
  for (const auto& [key, size] : {std::pair{"m", &call.m}, {"n", &call.n}, {"k", &call.k}})
    *size = object.expr(key, true);
  for (const auto& [key, value] : {std::pair{"batch", &call.batch},
                                   {"trans_a", &call.trans_a},
                                   {"trans_b", &call.trans_b},
                                   {"relu", &call.relu},
                                   {"scale", &call.scale}})
    *value = object.expr(key, false, *value);
  for (const Json* item : object.items("refuse", false)) {
    JsonObject refusal(faults, *item,
                       fmt::format("{}[{}]", object.where("refuse"), call.refuse.size()));
    call.refuse.push_back({refusal.expr("when", true), refusal.text("reason", true)});
    refusal.done();
  }
  object.done();
  return call;
}

std::map<std::string, std::string> names_from(JsonFaults& faults, JsonObject& object,
                                              const char* key, bool needed) {
  std::map<std::string, std::string> names;
  const Json* json = object.find_object(key, needed);
  if (json == nullptr) return names;
  JsonObject values(faults, *json, object.where(key));
  for (const auto& [name, value] : json->items()) names[name] = values.text(name.c_str(), true);
  values.done();
  return names;
}

RecipeOperator operator_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  RecipeOperator out;
  out.kind = object.text("op", true);
  if (const Json* attributes = object.find_object("attrs")) {
    JsonObject values(faults, *attributes, object.where("attrs"));
    for (const auto& [name, value] : attributes->items())
      out.attributes[name] = values.integer(name.c_str(), true);
    values.done();
  }
  out.tensors = names_from(faults, object, "tensors", true);
  out.sizes = names_from(faults, object, "sizes", true);
  out.types = names_from(faults, object, "types", false);
  out.words = object.texts("words", false);
  object.done();
  return out;
}

void check_words(JsonObject& object, const Recipe& recipe) {
  std::set<std::string> names;
  for (const RecipeWord& word : recipe.words) {
    if (!names.insert(word.shown.name).second)
      object.fail("words", "'" + word.shown.name + "' stands twice");
  }
  for (const RecipeWord& word : recipe.words) {
    if (!word.offered_by.empty() && !names.contains(word.offered_by))
      object.fail("words", "'" + word.offered_by + "' in offered_by is no word");
  }
}

}  // namespace

std::string_view name_of(FamilyWord::Kind kind) {
  return word_kinds[static_cast<std::size_t>(kind)];
}

Result<Recipe> recipe_from(std::string_view text, const std::string& origin) {
  const auto json = read_json_object(text, origin);
  if (!json) return json.error();
  JsonFaults faults(origin, "docs/formats/family.md");
  JsonObject object(faults, *json, "");
  if (object.integer("cupilot_family", true, 1) != 1)
    object.fail("cupilot_family", "is of another version", "write 1: this program reads no other");
  Recipe recipe;
  recipe.name = object.text("name", true);
  recipe.computes = object.text("computes", false);
  recipe.example = object.text("example", false);
  for (const Json* item : object.items("words", false))
    recipe.words.push_back(word_from(faults, *item, fmt::format("words[{}]", recipe.words.size())));
  for (const Json* item : object.items("refuse", false)) {
    recipe.refuse.push_back(
        refusal_from(faults, *item, fmt::format("refuse[{}]", recipe.refuse.size())));
  }
  if (const Json* task = object.find_object("task")) recipe.task = *task;
  if (const Json* library = object.find_object("library"))
    recipe.library = library_from(faults, *library, "library");
  for (const Json* item : object.items("operators", false)) {
    recipe.operators.push_back(
        operator_from(faults, *item, fmt::format("operators[{}]", recipe.operators.size())));
  }
  check_words(object, recipe);
  object.done();
  if (faults.first()) return *faults.first();
  return recipe;
}

}  // namespace cupilot
