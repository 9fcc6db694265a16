// The one place that knows valijson: it takes seconds to compile.
#include "llm/answer_schema.hpp"

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <fmt/core.h>

#include "llm/fault.hpp"
#include "llm/wire_json.hpp"

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

std::string messages(valijson::ValidationResults& results) {
  std::string all;
  valijson::ValidationResults::Error error;
  for (int count = 0; count < 5 && results.popError(error); ++count) {
    std::string place;
    for (const std::string& part : error.context) place += part;
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", place, error.description);
  }
  return excerpt(all, 600);
}

}  // namespace

struct AnswerSchema::Parsed {
  valijson::Schema schema;
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
    return {object, fits ? std::string() : messages(results)};
  } catch (const std::exception& error) {
    return {"", excerpt(error.what())};
  }
}

}  // namespace cupilot
