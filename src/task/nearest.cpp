#include "task/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cupilot {
namespace {

// Levenshtein's distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t least = static_cast<std::size_t>(-1);
  // Words come from a command line or a file: a very long one is nobody's typing error.
  const std::string_view typed = word.substr(0, 64);
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(typed, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string_view close_to(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view best = nearest(word, known);
  return edit_distance(word.substr(0, 64), best) <= word.size() / 2 ? best : std::string_view();
}

std::string listed(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

}  // namespace cupilot
