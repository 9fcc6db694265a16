#include "kernel/strict_json.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

namespace cupilot {
namespace {

// What a mistake is called in a message.
std::string shape_of(const Json& value) {
  if (value.is_string()) return "a string";
  if (value.is_number_integer()) return "an integer";
  if (value.is_number()) return "a number that is not a 64-bit integer";
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  return "null";
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

Result<Json> parse_object(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  bool deep = false;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end && !open.empty()) open.pop_back();
    if (open.size() > static_cast<std::size_t>(json_depth_limit)) deep = true;
    if (event == Json::parse_event_t::key && !open.empty() && !open.back().insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  try {
    Json parsed = Json::parse(text.begin(), text.end(), watch);
    if (!twice.empty()) return json_fault(where, fmt::format("key \"{}\" stands twice in one object", twice), "keep one of them");
    if (deep) return json_fault(where, fmt::format("nested deeper than {}", json_depth_limit));
    if (!parsed.is_object()) return json_fault(where, "want a JSON object, got " + shape_of(parsed));
    return parsed;
  } catch (const std::exception& e) {
    std::string reason = e.what();
    if (const auto at = reason.find("] "); at != std::string::npos) reason = reason.substr(at + 2);
    return json_fault(where, "not JSON: " + reason);
  }
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = word.size() / 2 + 2;
  for (const std::string& candidate : known) {
    const std::size_t d = edit_distance(word, candidate);
    if (d < least) least = d, best = candidate;
  }
  return best;
}

bool is_identifier(std::string_view word) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (word.empty() || word.size() > 64 || !letter(word[0])) return false;
  return std::all_of(word.begin(), word.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

ObjectReader::ObjectReader(const Json& object, std::string where, std::initializer_list<const char*> known)
    : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) {
    fault_ = json_fault(where_, "want an object, got " + shape_of(object));
    return;
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& item : object.items()) {
    if (std::find(names.begin(), names.end(), item.key()) != names.end()) continue;
    const std::string near = nearest(item.key(), names);
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    fault_ = json_fault(place(item.key()), "unknown key",
                        near.empty() ? "known here: " + all : fmt::format("did you mean \"{}\"?", near));
    return;
  }
}

void ObjectReader::fail(const std::string& key, const std::string& reason, const std::string& fix) {
  if (!fault_) fault_ = json_fault(place(key), reason, fix);
}

const Json* ObjectReader::find(const char* key, bool needed) {
  if (fault_) return nullptr;
  const auto at = object_->find(key);
  if (at != object_->end()) return &*at;
  if (needed) fail(key, "missing", "add it");
  return nullptr;
}

const Json* ObjectReader::find_object(const char* key, bool needed) {
  const Json* value = find(key, needed);
  if (value && !value->is_object()) return fail(key, "want an object, got " + shape_of(*value)), nullptr;
  return value;
}

const Json* ObjectReader::find_array(const char* key, bool needed) {
  const Json* value = find(key, needed);
  if (value && !value->is_array()) return fail(key, "want an array, got " + shape_of(*value)), nullptr;
  return value;
}

std::string ObjectReader::text(const char* key, bool needed, const std::string& fallback) {
  const Json* value = find(key, needed);
  if (!value) return fallback;
  if (!value->is_string()) return fail(key, "want a string, got " + shape_of(*value)), fallback;
  return value->get<std::string>();
}

std::int64_t ObjectReader::integer(const char* key, bool needed, std::int64_t fallback) {
  const Json* value = find(key, needed);
  if (!value) return fallback;
  if (!value->is_number_integer() || (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX)) {
    return fail(key, "want a 64-bit integer, got " + shape_of(*value)), fallback;
  }
  return value->get<std::int64_t>();
}

bool ObjectReader::boolean(const char* key, bool fallback) {
  const Json* value = find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) return fail(key, "want true or false, got " + shape_of(*value)), fallback;
  return value->get<bool>();
}

Expr ObjectReader::to_expr(const Json& value, const std::string& key) {
  if (value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
    return value.get<std::int64_t>();
  }
  if (!value.is_string()) return fail(key, "want an expression (a string or an integer), got " + shape_of(value)), Expr{};
  Expr expr = value.get<std::string>();
  const auto checked = check_syntax(expr);
  if (const auto* wrong = std::get_if<ExprFault>(&checked)) {
    fail(key, fmt::format("expression \"{}\", column {}: {}", expr.text, wrong->column, wrong->message));
  }
  return expr;
}

Expr ObjectReader::expr(const char* key, bool needed, const Expr& fallback) {
  const Json* value = find(key, needed);
  return value ? to_expr(*value, key) : fallback;
}

std::vector<Expr> ObjectReader::exprs(const char* key, bool needed, std::size_t least, std::size_t most,
                                      std::vector<Expr> fallback) {
  const Json* value = find_array(key, needed);
  if (!value) return fallback;
  if (value->size() < least || value->size() > most) {
    const std::string want = most == SIZE_MAX ? fmt::format("at least {}", least) : fmt::format("{} to {}", least, most);
    return fail(key, fmt::format("want {} members, got {}", want, value->size())), fallback;
  }
  std::vector<Expr> all;
  for (const Json& member : *value) all.push_back(to_expr(member, fmt::format("{}[{}]", key, all.size())));
  return all;
}

std::vector<std::string> ObjectReader::texts(const char* key, bool needed) {
  std::vector<std::string> all;
  const Json* value = find_array(key, needed);
  if (!value) return all;
  for (const Json& member : *value) {
    if (!member.is_string()) return fail(fmt::format("{}[{}]", key, all.size()), "want a string, got " + shape_of(member)), all;
    all.push_back(member.get<std::string>());
  }
  return all;
}

std::vector<std::int64_t> ObjectReader::integers(const char* key, bool needed) {
  std::vector<std::int64_t> all;
  const Json* value = find_array(key, needed);
  if (!value) return all;
  for (const Json& member : *value) {
    const bool fits = member.is_number_integer() && !(member.is_number_unsigned() && member.get<std::uint64_t>() > INT64_MAX);
    if (!fits) return fail(fmt::format("{}[{}]", key, all.size()), "want a 64-bit integer, got " + shape_of(member)), all;
    all.push_back(member.get<std::int64_t>());
  }
  return all;
}

}  // namespace cupilot
