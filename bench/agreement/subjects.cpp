#include "subjects.hpp"

#include <array>
#include <cmath>
#include <cupilot/rng.hpp>

using cupilot::Rng;

std::vector<BenchSubject> chosen_subjects() {
  return {
      {{"m=129", "n=65", "k=67", "dtype=fp32"}, true},
      {{"m=96", "n=200", "k=130", "dtype=fp32", "layout=tn"}, true},
      {{"m=70", "n=131", "k=64", "dtype=fp32", "layout=nt", "batch=2"}, true},
      {{"m=130", "n=97", "k=99", "dtype=fp32", "layout=tt", "alpha=0.5", "beta=2", "bias=1",
        "act=gelu"},
       false},
      {{"m=136", "n=72", "k=96", "dtype=bf16"}, false},
      {{"m=65", "n=129", "k=70", "dtype=fp16", "layout=nt"}, false},
      {{"m=130", "n=72", "k=68", "dtype=fp32", "precision=tf32"}, false},
  };
}

namespace {

// Small sizes are as likely as big ones; an even shape's are multiples of 16, which tensor maps
// want of every type.
std::int64_t drawn_size(Rng& rng, bool even) {
  const auto size = static_cast<std::int64_t>(std::exp(rng.unit() * std::log(700.0)));
  return even ? (size + 15) / 16 * 16 : size | 1;
}

const std::array<std::vector<std::string>, 8> types = {{{"dtype=bf16"},
                                                        {"dtype=fp16"},
                                                        {"dtype=fp32"},
                                                        {"dtype=fp32", "precision=tf32"},
                                                        {"dtype=fp32", "precision=fp32-emulated"},
                                                        {"dtype=fp32", "precision=bf16x3"},
                                                        {"dtype=e4m3"},
                                                        {"dtype=e5m2"}}};
const std::array<std::vector<std::string>, 4> extras = {
    {{}, {"batch=3"}, {"alpha=0.5", "beta=2", "bias=1", "act=gelu"}, {"bias=1", "act=relu"}}};

constexpr std::size_t strict_fp32 = 2, approximate = 2;  // of the tables above

}  // namespace

std::vector<BenchSubject> odd_subjects(int count, std::uint64_t seed) {
  std::vector<BenchSubject> subjects;
  std::size_t at = 0;
  for (int shape = 0; shape < count; ++shape) {
    Rng rng = Rng::of(seed, "odd shape", static_cast<std::uint64_t>(shape));
    std::vector<std::string> sizes;
    for (const char* name : {"m=", "n=", "k="})
      sizes.push_back(name + std::to_string(drawn_size(rng, shape % 2 == 0)));
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      // The stride makes every layout meet every type; extras follow at another pace.
      const std::size_t type = (at + static_cast<std::size_t>(shape) / 2) % types.size(),
                        extra = at / 3 % extras.size();
      BenchSubject subject{sizes, type == strict_fp32 && extra != approximate};
      subject.words.push_back(std::string("layout=") + layout);
      for (const std::string& word : types[type]) subject.words.push_back(word);
      for (const std::string& word : extras[extra]) subject.words.push_back(word);
      subjects.push_back(subject);
      ++at;
    }
  }
  return subjects;
}
