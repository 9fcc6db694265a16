#include "capi/handles.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace cupilot::c {
namespace {

// At most `room` bytes with the closing zero, cut between characters of UTF-8.
void copy_text(char* place, std::size_t room, const std::string& text) noexcept {
  std::size_t length = std::min(text.size(), room - 1);
  while (length > 0 && length < text.size() &&
         (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
    --length;
  std::memcpy(place, text.data(), length);
  place[length] = 0;
}

}  // namespace

void tell_error(cupilot_error* error, const Error& what) noexcept {
  if (error == nullptr) return;
  error->code = static_cast<std::int32_t>(what.code);
  copy_text(error->message, sizeof error->message, what.message);
  copy_text(error->hint, sizeof error->hint, what.hint);
}

Error null_argument(const char* name) {
  return {ErrorCode::usage, std::string(name) + " is null",
          "give what the function before it returned"};
}

Result<cupilot_options> options_of(const cupilot_options* given) {
  cupilot_options options{};
  if (given == nullptr) return options;
  if (given->size < sizeof given->size || given->size > 4096) {
    return Error{ErrorCode::usage, "cupilot_options::size is " + std::to_string(given->size),
                 "set it to sizeof(cupilot_options)"};
  }
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  for (const double number : {options.target_us, options.max_seconds, options.plain_us}) {
    if (!std::isfinite(number) || number < 0) {
      return Error{ErrorCode::usage, "a time or limit in cupilot_options is negative or no number",
                   "0 means none"};
    }
  }
  if (options.max_evaluations < 0 || options.max_generations < 0 ||
      options.max_generations > std::numeric_limits<int>::max()) {
    return Error{ErrorCode::usage, "a count in cupilot_options is negative or too large",
                 "0 means the default"};
  }
  if (options.tunable_count > 0 && options.tunables == nullptr)
    return null_argument("cupilot_options::tunables");
  for (std::size_t i = 0; i < options.tunable_count; ++i) {
    if (options.tunables[i] == nullptr) return null_argument("a path of cupilot_options::tunables");
  }
  return options;
}

std::vector<std::string> tunables_of(const cupilot_options& options) {
  return {options.tunables, options.tunables + options.tunable_count};
}

SearchOptions search_options(const cupilot_options& options) {
  SearchOptions search;
  if (options.seed != 0) search.seed = options.seed;
  if (options.max_evaluations != 0) search.max_evaluations = options.max_evaluations;
  search.max_generations = static_cast<int>(options.max_generations);
  search.target_us = options.target_us;
  return search;
}

}  // namespace cupilot::c
