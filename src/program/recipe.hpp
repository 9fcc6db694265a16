// family.json as read: the words that name a task, and the task as data with conditions
// (docs/formats/family.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cupilot/family.hpp>
#include <cupilot/result.hpp>

#include "task/json_reader.hpp"

namespace cupilot {

struct RecipeWord {
  FamilyWord shown{};
  Json fallback{};  // a value, or a rule over other words
  bool by_rule = false;
  std::int64_t least = 1;          // size
  DType number_type = DType::f64;  // number: what it is rounded to
  std::string offered_by{};        // precision: the word that decides which classes there are
  std::map<std::string, std::vector<std::string>> offers{};  // by value of that word
  std::map<std::string, std::string> also{};                 // precision: other names of a class
};

struct RecipeRefusal {
  Expr when{};
  std::string reason{}, hint{};  // {word}: the word's value
};

// An operator that the family's task computes, so that a part of a graph finds its templates.
struct RecipeOperator {
  std::string kind{};                                // the operator's row
  std::map<std::string, std::int64_t> attributes{};  // the values that they must have
  // The family's tensors -> inputs and outputs of the row. "bias?" may be absent, and is the word
  // bias=1 where it is not.
  std::map<std::string, std::string> tensors{};
  // The family's axes -> coordinates of the row's rule; one that the operation lacks is left out.
  std::map<std::string, std::string> sizes{};
  std::map<std::string, std::string> types{};  // words -> the input or output that has the type
  std::vector<std::string> words{};            // further words of the task
};

struct Recipe {
  std::string name{}, computes{}, example{};
  std::vector<RecipeWord> words{};
  std::vector<RecipeRefusal> refuse{};
  std::optional<Json> task{};
  std::optional<LibraryCall> library{};
  std::vector<RecipeOperator> operators{};
};

// Error usage names origin and field.
Result<Recipe> recipe_from(std::string_view text, const std::string& origin);

// Values of all words: those typed, then defaults, then rules. Error usage names the word.
class WordValues {
 public:
  // `typed`: "key=value" each.
  static Result<WordValues> from(const Recipe& recipe, const std::vector<std::string>& typed);
  const Json& value(const std::string& word) const { return values_.at(word); }
  bool has(std::string_view word) const { return values_.contains(std::string(word)); }
  // Names that expressions see: docs/formats/family.md.
  const std::map<std::string, std::int64_t>& names() const { return names_; }

 private:
  void put(const RecipeWord& word, Json value);
  std::map<std::string, Json> values_;
  std::map<std::string, std::int64_t> names_;
};

// `json` with conditions decided, words and expressions replaced by values. Error usage names the
// place.
Result<Json> expand(const Json& json, const WordValues& words, const std::string& origin);

// "{word}" in a sentence replaced by the word's value.
std::string filled(std::string_view sentence, const WordValues& words);

}  // namespace cupilot
