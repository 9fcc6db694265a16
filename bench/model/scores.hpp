// How good expectations were.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

struct Pair {
  double measured_us = 0, expected_us = 0;
  double sigma = 0;  // of log2(measured / expected), as claimed
};

struct Score {
  std::size_t strategies = 0;
  double spearman = 0, spearman_fastest_quarter = 0;  // rank correlation
  double top_ten_over_best = 0;      // fastest of the ten expected fastest over the fastest of all
  double median_absolute_error = 0;  // of expected / measured, less 1
  double within_sigma = 0;           // share of measured times within one sigma; 0.68 is honest
};

Score score(const std::vector<Pair>& pairs);
nlohmann::json score_json(const Score& score);
