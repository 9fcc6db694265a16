// Command-line words of the gemm family.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cupilot/parts/gemm.hpp>
#include <set>

#include "task/gemm_tables.hpp"
#include "task/nearest.hpp"

namespace cupilot {
namespace {

constexpr std::array<std::string_view, 13> keys = {"m",    "n",         "k",      "batch", "dtype",
                                                   "out",  "precision", "layout", "alpha", "beta",
                                                   "bias", "act",       "scale"};

Error bad_words(std::string message, std::string hint) {
  return Error{ErrorCode::usage, std::move(message), std::move(hint)};
}

// Quotes a user's word, shortened and without control characters.
std::string shown(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, 60)) out += c >= ' ' && c <= '~' ? c : '?';
  return word.size() > 60 ? out + "…" : out;
}

Result<std::int64_t> whole(std::string_view key, std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc::result_out_of_range) {
    return bad_words(fmt::format("gemm: {}={} does not fit 64 bits", key, shown(text)),
                     "sizes are whole numbers from 1");
  }
  if (code != std::errc() || stop != end) {
    return bad_words(fmt::format("gemm: {}={} is not a whole number", key, shown(text)),
                     "write sizes as decimal digits, such as 4096");
  }
  if (value < 1)
    return bad_words(fmt::format("gemm: {}={} is below 1", key, value),
                     "sizes are whole numbers from 1");
  return value;
}

Result<double> number(std::string_view key, std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end || !std::isfinite(value)) {
    return bad_words(fmt::format("gemm: {}={} is not a finite number", key, shown(text)),
                     "write it as 0.5 or 1e-3");
  }
  return value;
}

Result<bool> truth(std::string_view key, std::string_view text) {
  for (const std::string_view word : {"1", "true", "yes", "on"}) {
    if (text == word) return true;
  }
  for (const std::string_view word : {"0", "false", "no", "off"}) {
    if (text == word) return false;
  }
  return bad_words(fmt::format("gemm: {}={} is neither true nor false", key, shown(text)),
                   "write bias=1 or bias=0");
}

Result<DType> element(std::string_view key, std::string_view text, std::span<const DType> types) {
  const auto type = dtype_from(text);
  if (type && std::find(types.begin(), types.end(), *type) != types.end()) return *type;
  return bad_words(fmt::format("gemm: {}={} is {}", key, shown(text),
                               type ? "not a type gemm takes" : "no known type"),
                   fmt::format("gemm takes {}", gemm_type_names(types)));
}

// One of a list of names, by position.
Result<std::size_t> choice(std::string_view key, std::string_view text,
                           std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  return bad_words(
      fmt::format("gemm: {}={} is unknown; nearest: {}", key, shown(text), nearest(text, names)),
      fmt::format("{} is one of {}", key, listed(names)));
}

template <class From, class To>
Result<void> store(Result<From> value, To& into) {
  if (!value) return value.error();
  into = *value;
  return {};
}

Result<void> set_name(GemmSpec& spec, std::string_view key, std::string_view text) {
  if (key == "dtype") return store(element(key, text, gemm_types), spec.dtype);
  if (key == "out") return store(element(key, text, gemm_out_types), spec.out);
  if (key == "precision") {
    auto names = gemm_precision_names();
    names.insert(names.end(), gemm_emulations.begin(), gemm_emulations.end());
    const auto at = choice(key, text, names);
    if (!at) return at.error();
    const auto own = precision_from(names[*at]);
    spec.precision = own ? *own : Precision::fp32_emulated;
    return {};
  }
  if (key == "layout") {
    const auto at = choice(key, text, gemm_layouts);
    if (!at) return at.error();
    spec.layout = gemm_layouts[*at];
    return {};
  }
  if (key == "scale") {
    const auto at = choice(key, text, scaling_names);
    if (!at) return at.error();
    spec.scale = static_cast<Scaling>(*at);
    return {};
  }
  const auto at = choice(key, text, activation_names);
  if (!at) return at.error();
  spec.act = static_cast<Activation>(*at);
  return {};
}

Result<void> set(GemmSpec& spec, std::string_view key, std::string_view text) {
  if (key == "m") return store(whole(key, text), spec.m);
  if (key == "n") return store(whole(key, text), spec.n);
  if (key == "k") return store(whole(key, text), spec.k);
  if (key == "batch") return store(whole(key, text), spec.batch);
  if (key == "alpha") return store(number(key, text), spec.alpha);
  if (key == "beta") return store(number(key, text), spec.beta);
  if (key == "bias") return store(truth(key, text), spec.bias);
  return set_name(spec, key, text);
}

}  // namespace

Result<GemmSpec> gemm_spec_from(const std::vector<std::string>& words) {
  GemmSpec spec;
  std::set<std::string_view> seen;
  for (const std::string& word : words) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos) {
      return bad_words(fmt::format("gemm: '{}' is not of the form key=value", shown(word)),
                       fmt::format("keys: {}", listed(keys)));
    }
    const std::string_view key = std::string_view(word).substr(0, sign);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      return bad_words(
          fmt::format("gemm: unknown key '{}'; nearest: {}", shown(key), nearest(key, keys)),
          fmt::format("keys: {}", listed(keys)));
    }
    if (!seen.insert(key).second)
      return bad_words(fmt::format("gemm: {} is given twice", key), "give each key once");
    if (auto done = set(spec, key, std::string_view(word).substr(sign + 1)); !done)
      return done.error();
  }
  // What only shows in the whole: a class the type cannot have, tensors beyond memory.
  if (auto task = gemm_task(spec); !task) return task.error();
  return spec;
}

}  // namespace cupilot
