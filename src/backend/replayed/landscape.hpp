// A function with a known optimum that stands for a device: what fake:FILE answers from
// (docs/formats/landscape.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/technique.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// additive: each variable contributes by itself. nk: each contribution depends on K following
// variables (Kauffman's NK on a ring). deceptive: blocks of bits, each a trap (Deb and Goldberg
// 1993): every single step leads away from the block's best.
enum class LandscapeKind { additive, nk, deceptive };

struct LandscapeSpec {
  LandscapeKind kind = LandscapeKind::additive;
  int variables = 10;  // deceptive: blocks
  int values =
      4;      // states of a variable; the first is "technique absent". deceptive: bits of a block
  int k = 0;  // nk
  int neutral = 0;  // further techniques that change nothing: they make duplicates
  std::uint64_t seed = 1;
  double best_us = 10;  // time at the optimum
  double octaves = 6;   // log2 of worst possible over best
  double reject = 0;    // share of points that fail verification; never an optimum
  int delay_us = 0;     // an evaluation takes up to this long, by a hash of the point
};

class Landscape {
 public:
  // Error{usage}: sizes outside their ranges, or an nk too large to search for its optimum (over
  // 2^22 points).
  static Result<Landscape> make(const LandscapeSpec& spec);

  const LandscapeSpec& spec() const { return spec_; }
  std::vector<Technique> techniques() const;

  // A point: one state a site. additive, nk: `variables` sites of `values` states; deceptive:
  // variables * values bits.
  std::size_t sites() const;
  int states() const;     // of one site
  double points() const;  // states^sites
  double time_us(std::span<const int> point) const;
  bool rejected(std::span<const int> point) const;
  int delay_us(std::span<const int> point) const;
  // The point a kernel's constants name: "v3" 1 when technique v3 is in use, "v3.value" its
  // parameter. A deceptive block that is absent has bits -1 and contributes nothing.
  std::vector<int> point_of(const Constants& constants) const;

 private:
  double quality(std::span<const int> point) const;
  double contribution(int variable, std::uint64_t state) const;
  double trap(int block, std::span<const int> bits) const;
  double best_quality() const;
  bool optimal(std::span<const int> point) const { return quality(point) >= best_ - 1e-12; }

  LandscapeSpec spec_;
  std::vector<double> table_;
  double best_ = 1;
};

// JSON text of a landscape file; `origin` is for messages.
Result<LandscapeSpec> landscape_from_json(std::string_view text, const std::string& origin);

}  // namespace cupilot
