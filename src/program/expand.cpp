// Conditions, words and expressions of a task as data, decided and replaced.
#include <cmath>

#include <fmt/format.h>

#include "program/recipe.hpp"

namespace cupilot {
namespace {

class Expander {
 public:
  Expander(const WordValues& words, std::string origin)
      : words_(words), scope_(scope_of(words.names())), origin_(std::move(origin)) {}

  Json expand(const Json& json) {
    if (json.is_object()) return object(json);
    if (json.is_array()) return array(json);
    if (json.is_string()) return text(json.get<std::string>());
    return json;
  }
  const std::optional<Error>& fault() const { return fault_; }

 private:
  std::int64_t number(const Json& json) {
    if (!json.is_string()) {
      fail("an expression is a text, but there is " + json.dump());
      return 0;
    }
    const auto value = evaluate_or_error(json.get<std::string>(), scope_);
    if (!value) fail(value.error().message);
    return value ? *value : 0;
  }

  Json object(const Json& json) {
    if (json.contains("if")) {
      const char* branch = number(json.at("if")) != 0 ? "then" : "else";
      return json.contains(branch) ? expand(json.at(branch)) : Json();
    }
    if (json.contains("rsqrt")) {
      const auto of = static_cast<double>(std::max<std::int64_t>(number(json.at("rsqrt")), 1));
      return 1.0 / std::sqrt(of);
    }
    if (json.contains("strict")) return strict(json.at("strict"));
    Json out = Json::object();
    for (const auto& [key, value] : json.items()) {
      if (key == "when") continue;
      Json expanded = expand(value);
      if (!expanded.is_null()) out[key] = std::move(expanded);
    }
    return out;
  }

  Json array(const Json& json) {
    Json out = Json::array();
    for (const Json& item : json) {
      const bool conditional = item.is_object() && item.contains("when");
      if (conditional && number(item.at("when")) == 0) continue;
      Json expanded = expand(conditional && item.contains("is") ? item.at("is") : item);
      if (!expanded.is_null()) out.push_back(std::move(expanded));
    }
    return out;
  }

  Json text(const std::string& text) {
    if (text.starts_with('=')) return number(text.substr(1));
    if (!text.starts_with('$')) return text;
    if (words_.has(text.substr(1))) return words_.value(text.substr(1));
    fail("'" + text + "' names no word that is known here");
    return {};
  }

  Json strict(const Json& word) {
    const std::string name = word.is_string() ? word.get<std::string>() : "";
    const bool known = words_.has(name) && words_.value(name).is_string();
    const auto type =
        known ? dtype_from(words_.value(name).get<std::string>()) : std::optional<DType>();
    if (type) return std::string(name_of(strict_class(*type)));
    fail("'strict' takes the name of a dtype word, not '" + name + "'");
    return {};
  }

  void fail(const std::string& reason) {
    if (!fault_)
      fault_ = Error{ErrorCode::usage, origin_ + ": " + reason,
                     "docs/formats/family.md describes the file"};
  }

  const WordValues& words_;
  ExprScope scope_;
  std::string origin_;
  std::optional<Error> fault_;
};

}  // namespace

Result<Json> expand(const Json& json, const WordValues& words, const std::string& origin) {
  Expander expander(words, origin);
  Json out = expander.expand(json);
  if (expander.fault()) return *expander.fault();
  return out;
}

std::string filled(std::string_view sentence, const WordValues& words) {
  std::string out;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t close = sentence[at] == '{' ? sentence.find('}', at) : std::string::npos;
    const std::string_view name =
        close == std::string::npos ? "" : sentence.substr(at + 1, close - at - 1);
    if (name.empty() || !words.has(name)) {
      out += sentence[at++];
      continue;
    }
    const Json& value = words.value(std::string(name));
    out += value.is_string() ? value.get<std::string>() : value.dump();
    at = close + 1;
  }
  return out;
}

}  // namespace cupilot
