// The GEMMs on which devices are compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct BenchSubject {
  std::vector<std::string> words;
  bool bitwise = false;  // whether devices must agree in every bit
};

// A few odd shapes, layouts, batches, tensor cores and epilogues.
std::vector<BenchSubject> chosen_subjects();

// `count` shapes drawn by `seed`, sizes from 1 to 700, each in all four layouts; types, batches and
// epilogues go round. Of two shapes one has sizes that rule tensor maps out.
std::vector<BenchSubject> odd_subjects(int count, std::uint64_t seed);
