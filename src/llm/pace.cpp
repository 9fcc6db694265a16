#include "llm/pace.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>

namespace cupilot {
namespace {

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<double> number_of(const HeaderMap& headers, const char* name) {
  const auto found = headers.find(name);
  return found == headers.end() ? std::nullopt : number(found->second);
}

// A duration or a moment, as the two families of endpoints write it; seconds from now.
std::optional<double> time_until(const std::string& text, std::int64_t now_utc) {
  if (const auto moment = utc_seconds(text))
    return static_cast<double>(std::max<std::int64_t>(0, *moment - now_utc));
  return duration_seconds(text);
}

}  // namespace

std::optional<std::int64_t> utc_seconds(std::string_view text) {
  for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%a, %d %b %Y %H:%M:%S GMT"}) {
    std::tm parts{};
    const std::string copy(text);
    if (::strptime(copy.c_str(), format, &parts) != nullptr) return ::timegm(&parts);
  }
  return std::nullopt;
}

std::optional<double> duration_seconds(std::string_view text) {
  if (const auto plain = number(text)) return *plain >= 0 ? plain : std::nullopt;
  double sum = 0;
  while (!text.empty()) {
    const std::size_t digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == text.npos) return std::nullopt;
    const auto value = number(text.substr(0, digits));
    text.remove_prefix(digits);
    const std::string_view unit =
        text.substr(0, std::min(text.find_first_of("0123456789."), text.size()));
    const double scale = unit == "ms"  ? 1e-3
                         : unit == "s" ? 1
                         : unit == "m" ? 60
                         : unit == "h" ? 3600
                                       : 0;
    if (!value || scale == 0) return std::nullopt;
    sum += *value * scale;
    text.remove_prefix(unit.size());
  }
  return sum;
}

std::optional<double> retry_after(const HeaderMap& headers, std::int64_t now_utc) {
  if (const auto milliseconds = number_of(headers, "retry-after-ms");
      milliseconds && *milliseconds >= 0)
    return *milliseconds / 1000;
  const auto found = headers.find("retry-after");
  if (found == headers.end()) return std::nullopt;
  if (const auto seconds = number(found->second)) return *seconds >= 0 ? seconds : std::nullopt;
  if (const auto moment = utc_seconds(found->second))
    return static_cast<double>(std::max<std::int64_t>(0, *moment - now_utc));
  return std::nullopt;
}

double backoff_seconds(int failures, Rng& rng) {
  const double whole = std::min(60.0, 0.5 * std::pow(2.0, std::min(failures, 20) - 1));
  return whole * (1 - 0.25 * rng.unit());
}

Pace::Pace(double requests_per_minute, double tokens_per_minute) {
  const auto bucket = [](double per_minute, double least) {
    const double full = std::max(per_minute / 6, least);  // ten seconds' worth may go at once
    return Bucket{per_minute / 60, full, full, 0};
  };
  requests_ = bucket(requests_per_minute, 1);
  tokens_ = bucket(tokens_per_minute, 1);
}

double Pace::Bucket::wait(double now, double amount) {
  if (per_second <= 0) return 0;
  if (at > 0) level = std::min(full, level + (now - at) * per_second);
  at = now;
  return level >= amount ? 0 : (amount - level) / per_second;
}

double Pace::wait_for(double now, double tokens, double longest) {
  const std::lock_guard hold(mutex_);
  const double held = std::min(tokens, tokens_.full);
  const double wait =
      std::max({requests_.wait(now, 1), tokens_.wait(now, held), not_before_ - now, 0.0});
  if (wait >= longest) return wait;
  requests_.level -= 1;
  tokens_.level -= held;
  return wait;
}

void Pace::learn(const HeaderMap& headers, double now, std::int64_t now_utc) {
  struct Row {
    const char *remaining, *reset;
  };
  constexpr Row rows[] = {
      {"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
      {"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
      {"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"},
      {"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"},
      {"anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"},
      {"anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"},
  };
  const std::lock_guard hold(mutex_);
  for (const Row& row : rows) {
    const auto remaining = number_of(headers, row.remaining);
    const auto reset = headers.find(row.reset);
    if (!remaining || *remaining > 0 || reset == headers.end()) continue;
    const auto wait = time_until(reset->second, now_utc);
    if (wait) not_before_ = std::max(not_before_, now + std::min(*wait, longest_wait));
  }
}

}  // namespace cupilot
