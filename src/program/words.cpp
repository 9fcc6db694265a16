// Words of a task as they are typed: key=value.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "program/recipe.hpp"
#include "task/nearest.hpp"

namespace cupilot {
namespace {

using Kind = FamilyWord::Kind;

Error bad_word(const Recipe& recipe, const std::string& message, std::string hint) {
  return Error{ErrorCode::usage, recipe.name + ": " + message, std::move(hint)};
}

// Quotes a user's word, shortened and without control characters.
std::string shown(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, 60)) out += c >= ' ' && c <= '~' ? c : '?';
  return word.size() > 60 ? out + "…" : out;
}

std::vector<std::string_view> views(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

std::vector<std::string_view> keys_of(const Recipe& recipe) {
  std::vector<std::string_view> keys;
  for (const RecipeWord& word : recipe.words) keys.push_back(word.shown.name);
  return keys;
}

Result<Json> size_value(const Recipe& recipe, const RecipeWord& word, std::string_view text) {
  const std::string hint = fmt::format("sizes are whole numbers from {}", word.least);
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  const std::string given = word.shown.name + "=" + shown(text);
  if (code == std::errc::result_out_of_range)
    return bad_word(recipe, given + " does not fit 64 bits", hint);
  if (code != std::errc() || stop != end)
    return bad_word(recipe, given + " is not a whole number",
                    "write sizes as decimal digits, such as 4096");
  if (value < word.least)
    return bad_word(recipe, fmt::format("{}={} is below {}", word.shown.name, value, word.least),
                    hint);
  return Json(value);
}

Result<Json> number_value(const Recipe& recipe, const RecipeWord& word, std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end || !std::isfinite(value)) {
    return bad_word(recipe,
                    fmt::format("{}={} is not a finite number", word.shown.name, shown(text)),
                    "write it as 0.5 or 1e-3");
  }
  if (word.number_type == DType::f32) {
    if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) {
      return bad_word(recipe, fmt::format("{}={} does not fit fp32", word.shown.name, value),
                      word.shown.name + " is passed as fp32");
    }
    return Json(static_cast<double>(static_cast<float>(value)));
  }
  return Json(value);
}

Result<Json> flag_value(const Recipe& recipe, const RecipeWord& word, std::string_view text) {
  for (const std::string_view yes : {"1", "true", "yes", "on"}) {
    if (text == yes) return Json(true);
  }
  for (const std::string_view no : {"0", "false", "no", "off"}) {
    if (text == no) return Json(false);
  }
  return bad_word(recipe,
                  fmt::format("{}={} is neither true nor false", word.shown.name, shown(text)),
                  fmt::format("write {0}=1 or {0}=0", word.shown.name));
}

// dtype, precision or choice: one of the options.
Result<Json> option_value(const Recipe& recipe, const RecipeWord& word, std::string_view text) {
  const auto& options = word.shown.options;
  if (std::find(options.begin(), options.end(), text) != options.end()) {
    const auto other = word.also.find(std::string(text));
    return Json(other != word.also.end() ? other->second : std::string(text));
  }
  const auto names = views(options);
  const std::string given = word.shown.name + "=" + shown(text);
  if (word.shown.kind == Kind::dtype) {
    return bad_word(recipe,
                    fmt::format("{} is {}", given,
                                dtype_from(text) ? "not a type " + recipe.name + " takes"
                                                 : std::string("no known type")),
                    fmt::format("{} takes {}", recipe.name, listed(names)));
  }
  return bad_word(recipe, fmt::format("{} is unknown; nearest: {}", given, nearest(text, names)),
                  fmt::format("{} is one of {}", word.shown.name, listed(names)));
}

Result<Json> read_value(const Recipe& recipe, const RecipeWord& word, std::string_view text) {
  switch (word.shown.kind) {
    case Kind::size:
      return size_value(recipe, word, text);
    case Kind::number:
      return number_value(recipe, word, text);
    case Kind::flag:
      return flag_value(recipe, word, text);
    default:
      return option_value(recipe, word, text);
  }
}

Result<std::map<std::string, Json>> read_typed(const Recipe& recipe,
                                               const std::vector<std::string>& typed) {
  const auto keys = keys_of(recipe);
  std::map<std::string, Json> values;
  for (const std::string& one : typed) {
    const std::size_t sign = one.find('=');
    if (sign == std::string::npos) {
      return bad_word(recipe, fmt::format("'{}' is not of the form key=value", shown(one)),
                      fmt::format("keys: {}", listed(keys)));
    }
    const std::string key = one.substr(0, sign);
    const auto word = std::find_if(recipe.words.begin(), recipe.words.end(),
                                   [&](const RecipeWord& row) { return row.shown.name == key; });
    if (word == recipe.words.end()) {
      return bad_word(recipe,
                      fmt::format("unknown key '{}'; nearest: {}", shown(key), nearest(key, keys)),
                      fmt::format("keys: {}", listed(keys)));
    }
    if (values.contains(key))
      return bad_word(recipe, key + " is given twice", "give each key once");
    auto value = read_value(recipe, *word, std::string_view(one).substr(sign + 1));
    if (!value) return value.error();
    values[key] = std::move(*value);
  }
  return values;
}

// A class that another word's value does not offer.
Result<void> check_offers(const Recipe& recipe, const WordValues& values) {
  for (const RecipeWord& word : recipe.words) {
    if (word.offered_by.empty()) continue;
    const auto by = values.value(word.offered_by).get<std::string>();
    const auto row = word.offers.find(by);
    const auto chosen = values.value(word.shown.name).get<std::string>();
    const std::vector<std::string> none;
    const auto& offered = row == word.offers.end() ? none : row->second;
    if (std::find(offered.begin(), offered.end(), chosen) != offered.end()) continue;
    return bad_word(
        recipe,
        fmt::format("{}={} cannot be had with {}={}", word.shown.name, chosen, word.offered_by, by),
        fmt::format("{}={} offers {}", word.offered_by, by, listed(views(offered))));
  }
  return {};
}

// A name as expressions spell it.
std::string spelled(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

void WordValues::put(const RecipeWord& word, Json value) {
  const std::string& name = word.shown.name;
  names_["set." + name] = word.by_rule || value != word.fallback;
  switch (word.shown.kind) {
    case Kind::size:
      names_[name] = value.get<std::int64_t>();
      break;
    case Kind::number:
      break;
    case Kind::flag:
      names_[name] = value.get<bool>();
      break;
    default: {
      const auto chosen = value.get<std::string>();
      const auto& options = word.shown.options;
      for (std::size_t i = 0; i < options.size(); ++i) {
        names_[name + "." + spelled(options[i])] = options[i] == chosen;
        if (options[i] == chosen) names_[name] = static_cast<std::int64_t>(i);
      }
      if (word.shown.kind == Kind::dtype)
        names_["bytes." + name] = size_of(dtype_from(chosen).value_or(DType::f32));
    }
  }
  values_[name] = std::move(value);
}

Result<WordValues> WordValues::from(const Recipe& recipe, const std::vector<std::string>& typed) {
  auto given = read_typed(recipe, typed);
  if (!given) return given.error();
  WordValues values;
  for (const RecipeWord& word : recipe.words) {
    const auto found = given->find(word.shown.name);
    if (found != given->end()) {
      values.put(word, std::move(found->second));
    } else if (!word.by_rule) {
      values.put(word, word.fallback);
    }
  }
  for (const RecipeWord& word : recipe.words) {
    if (values.has(word.shown.name)) continue;
    auto value = expand(word.fallback, values, recipe.name + ": default of " + word.shown.name);
    if (!value) return value.error();
    const auto& options = word.shown.options;
    const bool fits = options.empty() ||
                      (value->is_string() && std::find(options.begin(), options.end(),
                                                       value->get<std::string>()) != options.end());
    if (!fits)
      return bad_word(recipe, fmt::format("{} has no default here", word.shown.name),
                      fmt::format("give {}=, one of {}", word.shown.name, listed(views(options))));
    values.put(word, std::move(*value));
  }
  for (const RecipeRefusal& refusal : recipe.refuse) {
    const auto refused = evaluate_or_error(refusal.when, scope_of(values.names()));
    if (!refused) return refused.error();
    if (*refused != 0)
      return bad_word(recipe, filled(refusal.reason, values), filled(refusal.hint, values));
  }
  if (auto offered = check_offers(recipe, values); !offered) return offered.error();
  return values;
}

}  // namespace cupilot
