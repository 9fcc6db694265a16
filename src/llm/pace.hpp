// Computes waits: after a failure, and before a request so that an endpoint's limits hold.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <cupilot/rng.hpp>

namespace cupilot {

using HeaderMap = std::map<std::string, std::string>;  // names in lower case

// Seconds since 1970 of "2026-01-31T12:00:00Z" (a fraction is dropped) or of an HTTP date; nullopt:
// neither.
std::optional<std::int64_t> utc_seconds(std::string_view text);
// "6m0s", "1.5s", "20ms", "12" (seconds).
std::optional<double> duration_seconds(std::string_view text);

// Reads the wait that the endpoint asks for: retry-after-ms, or Retry-After in seconds or as a
// date. Never negative.
std::optional<double> retry_after(const HeaderMap& headers, std::int64_t now_utc);
// 0.5 s doubled each time up to 60 s, less up to a quarter.
double backoff_seconds(int failures, Rng& rng);
// Longer waits are not sat out.
inline constexpr double longest_wait = 120;

// Requests and tokens a minute, ours and what the endpoint tells in x-ratelimit headers. Any
// thread. Times on one monotonic clock.
class Pace {
 public:
  Pace(double requests_per_minute, double tokens_per_minute);
  // Returns the wait before one request. A wait below `longest` takes its room; a longer one takes
  // nothing, since a room that nobody uses would only delay the next request.
  double wait_for(double now, double tokens, double longest);
  void learn(const HeaderMap& headers, double now, std::int64_t now_utc);

 private:
  struct Bucket {
    double per_second = 0, level = 0, full = 0,
           at = 0;  // a level below zero is room taken before its time
    double wait(double now, double amount);
  };
  std::mutex mutex_;
  Bucket requests_, tokens_;
  double not_before_ = 0;
};

}  // namespace cupilot
