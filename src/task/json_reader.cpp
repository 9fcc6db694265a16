#include "task/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "task/nearest.hpp"

namespace cupilot {
namespace {

constexpr int deepest = 32;

// Lines and columns of a byte, from 1.
std::string place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  return fmt::format("line {}, column {}", lines + 1,
                     byte - (start == std::string_view::npos ? 0 : start + 1) + 1);
}

std::string quoted(const Json& value) {
  const std::string out = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return out.size() > 60 ? out.substr(0, 60) + "…" : out;
}

bool fits_64_bits(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() ||
          value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
}

}  // namespace

void JsonFaults::fail(const std::string& where, const std::string& reason, const std::string& fix) {
  if (first_) return;
  first_ = Error{ErrorCode::usage,
                 where.empty() ? fmt::format("{}: {}", origin_, reason)
                               : fmt::format("{}: {}: {}", origin_, where, reason),
                 fix.empty() ? "see " + guide_ : fix};
}

JsonObject::JsonObject(JsonFaults& faults, const Json& value, std::string where)
    : faults_(faults), where_(std::move(where)) {
  if (value.is_object()) {
    object_ = &value;
  } else {
    faults_.fail(where_, fmt::format("{} is not an object", quoted(value)), "write { … }");
  }
}

const Json* JsonObject::find(const char* key, bool needed) {
  asked_.insert(key);
  if (object_ == nullptr) return nullptr;
  const auto found = object_->find(key);
  if (found != object_->end()) return &*found;
  if (needed) missing_.emplace_back(key);
  return nullptr;
}

const Json* JsonObject::find_object(const char* key, bool needed) {
  const Json* value = find(key, needed);
  if (value == nullptr || value->is_object()) return value;
  fail(key, fmt::format("{} is not an object", quoted(*value)), "write { … }");
  return nullptr;
}

std::string JsonObject::text(const char* key, bool needed, std::string otherwise) {
  const Json* value = find(key, needed);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  faults_.fail(where(key), fmt::format("{} is not a text", quoted(*value)),
               "put it in double quotes");
  return otherwise;
}

double JsonObject::number(const char* key, double otherwise) {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_number()) return value->get<double>();
  faults_.fail(where(key), fmt::format("{} is not a number", quoted(*value)),
               "write a number without quotes");
  return otherwise;
}

bool JsonObject::truth(const char* key, bool otherwise) {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  faults_.fail(where(key), fmt::format("{} is neither true nor false", quoted(*value)),
               "write true or false");
  return otherwise;
}

std::int64_t JsonObject::integer(const char* key, bool needed, std::int64_t otherwise) {
  const Json* value = find(key, needed);
  if (value == nullptr) return otherwise;
  if (fits_64_bits(*value)) return value->get<std::int64_t>();
  fail(key, fmt::format("{} is not a whole number of 64 bits", quoted(*value)),
       "write digits without a point");
  return otherwise;
}

std::vector<std::int64_t> JsonObject::integers(const char* key, bool needed) {
  std::vector<std::int64_t> out;
  for (const Json* item : items(key, needed)) {
    const bool fits = fits_64_bits(*item);
    if (!fits) {
      fail(fmt::format("{}[{}]", key, out.size()),
           fmt::format("{} is not a whole number of 64 bits", quoted(*item)),
           "write digits without a point");
    }
    out.push_back(fits ? item->get<std::int64_t>() : 0);
  }
  return out;
}

Expr JsonObject::to_expr(const Json& value, const std::string& place) {
  // The least of all has no literal: -x is minus applied to x.
  if (fits_64_bits(value) && value.get<std::int64_t>() != INT64_MIN)
    return Expr(value.get<std::int64_t>());
  if (!value.is_string()) {
    faults_.fail(place,
                 fmt::format("{} is neither a whole number nor an expression", quoted(value)),
                 "write \"2*m\" or 4");
    return 0;
  }
  Expr out(value.get<std::string>());
  const auto checked = check_syntax(out);
  if (const auto* fault = std::get_if<ExprFault>(&checked)) {
    faults_.fail(
        place,
        fmt::format("expression {}, column {}: {}", quoted(value), fault->column, fault->message),
        "see docs/formats/expr.md");
  }
  return out;
}

Expr JsonObject::expr(const char* key, bool needed, Expr otherwise) {
  const Json* value = find(key, needed);
  return value == nullptr ? otherwise : to_expr(*value, where(key));
}

std::vector<const Json*> JsonObject::items(const char* key, bool needed) {
  std::vector<const Json*> out;
  const Json* value = find(key, needed);
  if (value == nullptr) return out;
  if (!value->is_array()) {
    faults_.fail(where(key), fmt::format("{} is not an array", quoted(*value)), "write [ … ]");
    return out;
  }
  for (const Json& item : *value) out.push_back(&item);
  return out;
}

std::vector<Expr> JsonObject::exprs(const char* key, bool needed, std::size_t least,
                                    std::size_t most) {
  std::vector<Expr> out;
  const std::vector<const Json*> all = items(key, needed);
  if (find(key) != nullptr && (all.size() < least || all.size() > most)) {
    fail(key, fmt::format("has {} members", all.size()), fmt::format("want {} to {}", least, most));
    return out;
  }
  for (const Json* item : all)
    out.push_back(to_expr(*item, fmt::format("{}[{}]", where(key), out.size())));
  return out;
}

std::vector<std::string> JsonObject::texts(const char* key, bool needed) {
  std::vector<std::string> out;
  for (const Json* item : items(key, needed)) {
    if (!item->is_string()) {
      faults_.fail(fmt::format("{}[{}]", where(key), out.size()),
                   fmt::format("{} is not a text", quoted(*item)), "put it in double quotes");
    }
    out.push_back(item->is_string() ? item->get<std::string>() : "");
  }
  return out;
}

std::size_t JsonObject::choice(const char* key, std::span<const std::string_view> words,
                               std::size_t otherwise) {
  if (find(key) == nullptr) return otherwise;
  const std::string word = text(key, true);
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  faults_.fail(
      where(key),
      fmt::format("'{}' is unknown; nearest: {}", word.substr(0, 60), nearest(word, words)),
      fmt::format("one of {}", listed(words)));
  return otherwise;
}

void JsonObject::done() {
  if (object_ == nullptr) return;
  const std::vector<std::string_view> known(asked_.begin(), asked_.end());
  for (const auto& [key, value] : object_->items()) {
    if (asked_.count(key) > 0) continue;
    faults_.fail(where(key.substr(0, 60)),
                 fmt::format("is an unknown field; nearest: {}", nearest(key, known)),
                 fmt::format("fields here: {}", listed(known)));
  }
  for (const std::string& key : missing_)
    fail(key, "is missing", fmt::format("add \"{}\": …; see {}", key, faults_.guide()));
}

Result<Json> read_json_object(std::string_view text, const std::string& origin) {
  // The parser keeps the last of two equal names; a file that holds both has a mistake in one.
  std::vector<std::set<std::string>> open;
  std::string twice;
  bool deep = false;
  const Json::parser_callback_t watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    deep |= depth > deepest;
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end && !open.empty()) open.pop_back();
    if (event == Json::parse_event_t::key && !open.empty() &&
        !open.back().insert(parsed.get<std::string>()).second && twice.empty()) {
      twice = parsed.get<std::string>();
    }
    return !deep;
  };
  const auto usage = [&](const std::string& reason, const std::string& fix) {
    return Error{ErrorCode::usage, fmt::format("{}: {}", origin, reason), fix};
  };
  try {
    Json value = Json::parse(text, watch);
    if (deep)
      return usage(fmt::format("nested deeper than {}", deepest), "no file of ours needs that");
    if (!twice.empty())
      return usage(fmt::format("'{}' stands twice in one object", twice.substr(0, 60)),
                   "keep one of them");
    if (!value.is_object()) return usage("not a JSON object", "write { … }");
    return value;
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    const bool cut =
        at >= text.size() || text.find_first_not_of(" \t\r\n", at) == std::string_view::npos;
    return usage(
        fmt::format("not JSON at {}{}", place_of(text, at), cut ? " (the file ends early)" : ""),
        cut ? "the file may be truncated; restore it" : "check commas, quotes and brackets there");
  } catch (const std::exception& error) {
    return usage(fmt::format("cannot be read as JSON: {}", error.what()), "check the file");
  }
}

}  // namespace cupilot
