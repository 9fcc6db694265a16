#include "backend/replayed/landscape.hpp"

#include <algorithm>
#include <cmath>

#include <cupilot/rng.hpp>

#include "base/json.hpp"

namespace cupilot {
namespace {

constexpr double largest_search = 1 << 22;

std::uint64_t power(int base, int exponent) {
  std::uint64_t value = 1;
  for (int i = 0; i < exponent; ++i) value *= static_cast<std::uint64_t>(base);
  return value;
}

Error bad(const std::string& origin, const std::string& reason) {
  return {ErrorCode::usage, origin + ": " + reason,
          "docs/formats/landscape.md lists the fields and their ranges"};
}

struct Range {
  const char* name;
  double value, low, high;
};

}  // namespace

Result<Landscape> Landscape::make(const LandscapeSpec& spec) {
  const bool trap = spec.kind == LandscapeKind::deceptive;
  const Range ranges[] = {{"variables", static_cast<double>(spec.variables), 1, 64},
                          {"values", static_cast<double>(spec.values), 2, trap ? 8.0 : 32.0},
                          {"k", static_cast<double>(spec.k), 0,
                           spec.kind == LandscapeKind::nk ? spec.variables - 1.0 : 0.0},
                          {"neutral", static_cast<double>(spec.neutral), 0, 16},
                          {"best_us", spec.best_us, 1e-3, 1e9},
                          {"octaves", spec.octaves, 1e-3, 30},
                          {"reject", spec.reject, 0, 1},
                          {"delay_us", static_cast<double>(spec.delay_us), 0, 1e6}};
  for (const Range& range : ranges) {
    if (!(range.value >= range.low && range.value <= range.high)) {
      return bad("landscape", std::string(range.name) + " lies outside its range");
    }
  }
  Landscape landscape;
  landscape.spec_ = spec;
  if (!trap) {
    const double entries = std::pow(spec.values, spec.k + 1) * spec.variables;
    if (entries > largest_search || (spec.k > 0 && landscape.points() > largest_search)) {
      return bad("landscape", "more points than can be searched for the optimum (2^22)");
    }
    landscape.table_.resize(static_cast<std::size_t>(entries));
    Rng rng = Rng::of(spec.seed, "landscape");
    for (double& entry : landscape.table_) entry = rng.unit();
  }
  landscape.best_ = landscape.best_quality();
  return landscape;
}

std::size_t Landscape::sites() const {
  const int count =
      spec_.kind == LandscapeKind::deceptive ? spec_.variables * spec_.values : spec_.variables;
  return static_cast<std::size_t>(count);
}
int Landscape::states() const { return spec_.kind == LandscapeKind::deceptive ? 2 : spec_.values; }
double Landscape::points() const { return std::pow(states(), static_cast<double>(sites())); }

double Landscape::contribution(int variable, std::uint64_t state) const {
  return table_[static_cast<std::size_t>(variable) * power(spec_.values, spec_.k + 1) + state];
}

// Trap of order b: b bits right give 1, u < b right ones give (b - 1 - u) / b. Which bits are right
// is drawn from the seed.
double Landscape::trap(int block, std::span<const int> bits) const {
  if (bits.front() < 0) return 0;
  Rng rng = Rng::of(spec_.seed, "trap", static_cast<std::uint64_t>(block));
  int right = 0;
  for (const int bit : bits) right += bit == static_cast<int>(rng.below(2)) ? 1 : 0;
  const int order = static_cast<int>(bits.size());
  return right == order ? 1 : static_cast<double>(order - 1 - right) / order;
}

double Landscape::quality(std::span<const int> point) const {
  double sum = 0;
  for (int variable = 0; variable < spec_.variables; ++variable) {
    if (spec_.kind == LandscapeKind::deceptive) {
      const auto bits = static_cast<std::size_t>(spec_.values);
      sum += trap(variable, point.subspan(static_cast<std::size_t>(variable) * bits, bits));
      continue;
    }
    std::uint64_t state = 0;
    for (int i = 0; i <= spec_.k; ++i) {
      state = state * static_cast<std::uint64_t>(spec_.values) +
              static_cast<std::uint64_t>(
                  point[static_cast<std::size_t>((variable + i) % spec_.variables)]);
    }
    sum += contribution(variable, state);
  }
  return sum / spec_.variables;
}

double Landscape::best_quality() const {
  if (spec_.kind == LandscapeKind::deceptive) return 1;
  if (spec_.k == 0) {
    double sum = 0;
    for (int variable = 0; variable < spec_.variables; ++variable) {
      double best = 0;
      for (int value = 0; value < spec_.values; ++value) {
        best = std::max(best, contribution(variable, static_cast<std::uint64_t>(value)));
      }
      sum += best;
    }
    return sum / spec_.variables;
  }
  std::vector<int> point(sites(), 0);
  double best = 0;
  while (true) {
    best = std::max(best, quality(point));
    std::size_t site = 0;
    while (site < point.size() && ++point[site] == spec_.values) point[site++] = 0;
    if (site == point.size()) return best;
  }
}

double Landscape::time_us(std::span<const int> point) const {
  return spec_.best_us * std::exp2(spec_.octaves * (best_ - quality(point)));
}

bool Landscape::rejected(std::span<const int> point) const {
  if (spec_.reject <= 0 || optimal(point)) return false;
  Rng rng = Rng::of(spec_.seed, "reject");
  for (const int state : point) rng = rng.fork(static_cast<std::uint64_t>(state + 1));
  return rng.chance(spec_.reject);
}

int Landscape::delay_us(std::span<const int> point) const {
  if (spec_.delay_us <= 0) return 0;
  Rng rng = Rng::of(spec_.seed, "delay");
  for (const int state : point) rng = rng.fork(static_cast<std::uint64_t>(state + 1));
  return static_cast<int>(rng.below(spec_.delay_us + 1));
}

std::vector<Technique> Landscape::techniques() const {
  static constexpr Resource resources[] = {Resource::dram, Resource::l2, Resource::shared,
                                           Resource::fp_pipe, Resource::issue};
  std::vector<Technique> all;
  const bool trap = spec_.kind == LandscapeKind::deceptive;
  for (int i = 0; i < spec_.variables + spec_.neutral; ++i) {
    Technique technique;
    const bool neutral = i >= spec_.variables;
    technique.name = neutral ? "n" + std::to_string(i - spec_.variables) : "v" + std::to_string(i);
    technique.summary =
        neutral ? "changes nothing" : "variable " + std::to_string(i) + " of a landscape";
    technique.sentence = technique.summary + ".";
    technique.targets = {resources[static_cast<std::size_t>(i) % std::size(resources)]};
    if (!neutral && trap) {
      for (int bit = 0; bit < spec_.values; ++bit)
        technique.parameters.push_back({"bit" + std::to_string(bit), {0, 1}, {}, 0});
    } else if (!neutral && spec_.values > 2) {
      TechniqueParameter parameter{"value", {}, {}, 1};
      for (int value = 1; value < spec_.values; ++value) parameter.domain.push_back(value);
      technique.parameters.push_back(std::move(parameter));
    }
    all.push_back(std::move(technique));
  }
  return all;
}

std::vector<int> Landscape::point_of(const Constants& constants) const {
  const auto value_of = [&](const std::string& name, std::int64_t otherwise) {
    const auto found = constants.find(name);
    return found == constants.end() ? otherwise : found->second;
  };
  std::vector<int> point;
  for (int i = 0; i < spec_.variables; ++i) {
    const std::string name = "v" + std::to_string(i);
    const bool present = value_of(name, 0) != 0;
    if (spec_.kind == LandscapeKind::deceptive) {
      for (int bit = 0; bit < spec_.values; ++bit) {
        const std::int64_t value =
            std::clamp<std::int64_t>(value_of(name + ".bit" + std::to_string(bit), 0), 0, 1);
        point.push_back(present ? static_cast<int>(value) : -1);
      }
    } else {
      const std::int64_t value = present ? value_of(name + ".value", 1) : 0;
      point.push_back(static_cast<int>(std::clamp<std::int64_t>(value, 0, spec_.values - 1)));
    }
  }
  return point;
}

Result<LandscapeSpec> landscape_from_json(std::string_view text, const std::string& origin) {
  using Json = SortedJson;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return bad(origin, "not a JSON object");
  static constexpr const char* known[] = {
      "cupilot_landscape", "kind",    "variables", "values",   "k",    "neutral", "seed",
      "best_us",           "octaves", "reject",    "delay_us", "about"};
  for (const auto& [key, value] : json.items()) {
    if (std::find(std::begin(known), std::end(known), key) == std::end(known))
      return bad(origin, "unknown field " + key);
    const bool words = key == "kind" || key == "about";
    if (words ? !value.is_string() : !value.is_number())
      return bad(origin, key + " has the wrong type");
  }
  if (json.value("cupilot_landscape", Json()) != 1)
    return bad(origin, "cupilot_landscape must be 1, the version of the format");
  LandscapeSpec spec;
  const std::string kind = json.value("kind", "");
  if (kind == "additive") {
    spec.kind = LandscapeKind::additive;
  } else if (kind == "nk") {
    spec.kind = LandscapeKind::nk;
  } else if (kind == "deceptive") {
    spec.kind = LandscapeKind::deceptive;
  } else {
    return bad(origin, "kind must be additive, nk or deceptive");
  }
  std::string wrong;
  const auto read = [&](const char* key, auto& number) {
    try {
      number = json.value(key, number);
    } catch (const Json::exception&) {
      wrong = key;
    }
  };
  read("variables", spec.variables);
  read("values", spec.values);
  read("k", spec.k);
  read("neutral", spec.neutral);
  read("seed", spec.seed);
  read("best_us", spec.best_us);
  read("octaves", spec.octaves);
  read("reject", spec.reject);
  read("delay_us", spec.delay_us);
  if (!wrong.empty()) return bad(origin, wrong + " is no whole number of its size");
  return spec;
}

}  // namespace cupilot
