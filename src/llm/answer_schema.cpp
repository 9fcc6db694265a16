// The one place that knows valijson: it takes seconds to compile.
#include "llm/answer_schema.hpp"

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "llm/codec/fault.hpp"
#include "llm/codec/wire_json.hpp"
#include "task/nearest.hpp"

namespace cupilot {
namespace {

// From an opening brace to its closing one, strings and escapes observed; npos when it does not
// close.
std::size_t end_of_object(std::string_view text, std::size_t begin) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == '{') {
      ++depth;
    } else if (!quoted && c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return text.npos;
}

constexpr int most_tries = 8;  // braces in prose before an object are few

// The first stretch that parses as an object.
nlohmann::json first_object(std::string_view text) {
  std::size_t begin = text.find('{');
  for (int tries = 0; begin != text.npos && tries < most_tries;
       ++tries, begin = text.find('{', begin + 1)) {
    const std::size_t end = end_of_object(text, begin);
    if (end == text.npos) continue;
    const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
      return depth <= deepest_reply;
    };
    nlohmann::json json = nlohmann::json::parse(text.substr(begin, end - begin), shallow, false);
    if (json.is_object()) return json;
  }
  return nlohmann::json::value_t::discarded;
}

// "strategies[0].techniques[1].name" of {"<root>", "[strategies]", "[0]", …}.
std::string place_of(const std::vector<std::string>& context) {
  std::string place;
  for (std::size_t i = 1; i < context.size(); ++i) {
    const std::string& part = context[i];
    const bool index = part.size() > 2 && part[1] >= '0' && part[1] <= '9';
    const std::string name = part.substr(1, part.size() - 2);
    place += index ? part : place.empty() ? name : "." + name;
  }
  return place.empty() ? "the answer" : place;
}

// The part of `json`, and of the schema that holds it, which the context names; null: none.
std::pair<const nlohmann::json*, const nlohmann::json*> found_at(
    const nlohmann::json& json, const nlohmann::json& schema,
    const std::vector<std::string>& context) {
  const nlohmann::json *value = &json, *rule = &schema;
  const auto member = [](const nlohmann::json* object, const std::string& key) {
    const bool there = object != nullptr && object->is_object() && object->contains(key);
    return there ? &(*object)[key] : nullptr;
  };
  for (std::size_t i = 1; i < context.size() && value != nullptr; ++i) {
    const std::string name = context[i].substr(1, context[i].size() - 2);
    if (value->is_array()) {
      const std::size_t index = std::strtoul(name.c_str(), nullptr, 10);
      value = index < value->size() ? &(*value)[index] : nullptr;
      rule = member(rule, "items");
    } else {
      value = member(value, name);
      rule = member(member(rule, "properties"), name);
    }
  }
  return {value, rule};
}

// `strategies[0].techniques[1].name is "vectorized_load", which is not allowed; nearest:
// vector_load`.
std::string wrong_word(const std::string& place, const nlohmann::json& value,
                       const nlohmann::json& rule) {
  std::vector<std::string> words;
  for (const nlohmann::json& word : rule["enum"])
    if (word.is_string()) words.push_back(word.get<std::string>());
  const std::vector<std::string_view> known(words.begin(), words.end());
  const std::string word = value.get<std::string>();
  const std::string_view close = close_to(word, known);
  return fmt::format("{} is \"{}\", which is not allowed{}{}", place, word,
                     close.empty() ? "" : "; nearest: ", close);
}

// Tells the faults at the innermost places; their surroundings repeat them.
std::string messages(valijson::ValidationResults& results, const nlohmann::json& json,
                     const nlohmann::json& schema) {
  std::string all;
  valijson::ValidationResults::Error error;
  for (int count = 0; count < 5 && results.popError(error);) {
    if (error.description.find("associated with") != std::string::npos ||
        error.description.starts_with("Failed to validate item"))
      continue;
    const auto [value, rule] = found_at(json, schema, error.context);
    const std::string place = place_of(error.context);
    const bool word = value != nullptr && value->is_string() && rule != nullptr &&
                      rule->is_object() && rule->contains("enum");
    all += fmt::format(
        "{}{}", all.empty() ? "" : "; ",
        word ? wrong_word(place, *value, *rule) : fmt::format("{}: {}", place, error.description));
    ++count;
  }
  return excerpt(all.empty() ? "it does not fit the schema" : all, 600);
}

}  // namespace

struct AnswerSchema::Parsed {
  valijson::Schema schema;
  nlohmann::json json;
};

Result<AnswerSchema> AnswerSchema::from(const std::string& schema) {
  const nlohmann::json json = nlohmann::json::parse(schema, nullptr, false);
  if (!json.is_object())
    return Error{ErrorCode::usage, "the schema of an answer is no JSON object", ""};
  auto parsed = std::make_shared<Parsed>();
  try {
    valijson::SchemaParser parser;
    const valijson::adapters::NlohmannJsonAdapter adapter(json);
    parser.populateSchema(adapter, parsed->schema);
  } catch (const std::exception& error) {
    return Error{ErrorCode::usage, fmt::format("the schema of an answer: {}", error.what()), ""};
  }
  parsed->json = json;
  AnswerSchema answer;
  answer.parsed_ = std::move(parsed);
  return answer;
}

AnswerSchema::Checked AnswerSchema::check(std::string_view text) const {
  const nlohmann::json json = first_object(text);
  if (!json.is_object()) return {"", "the answer holds no JSON object"};
  try {
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    valijson::ValidationResults results;
    const valijson::adapters::NlohmannJsonAdapter adapter(json);
    const bool fits = validator.validate(parsed_->schema, adapter, &results);
    const std::string object = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return {object, fits ? std::string() : messages(results, json, parsed_->json)};
  } catch (const std::exception& error) {
    return {"", excerpt(error.what())};
  }
}

}  // namespace cupilot
