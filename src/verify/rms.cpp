#include "verify/rms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace cupilot {
namespace {

constexpr double whole_factor = 2, line_factor = 4, largest_factor = 8;
// One in so many elements, those with the largest honest errors, enters no root mean square: a
// quotient by almost nothing would outweigh all others.
constexpr std::size_t left_out = 16;

// Root mean squares and largest values of some elements.
struct Size {
  double squares = 0, largest = 0;
  std::size_t count = 0;
  void add(double value, bool in_rms) {
    if (!std::isnan(largest) && !(std::fabs(value) <= largest)) largest = std::fabs(value);
    if (in_rms) squares += value * value;
    count += in_rms ? 1 : 0;
  }
  double rms() const { return count == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(count)); }
};

// Elements of a line, or of some short ones.
struct Group {
  std::int64_t first = 0, count = 0;
};

struct Sizes {
  Size error, honest, value;
};

class Judge {
 public:
  Judge(const HonestOutput& output, std::span<const double> got) : output_(output), got_(got) {}

  RmsVerdict run() {
    const auto count = static_cast<std::int64_t>(output_.want.size());
    judge_whole();
    const std::int64_t line = std::max<std::int64_t>(1, output_.line);
    const std::int64_t lines = (least_for_rms + line - 1) / line;
    const std::int64_t group = lines * line;
    std::vector<Group> groups;
    for (std::int64_t first = 0; first < count; first += group) {
      // The rest of a group goes with the one before it.
      const bool last = count - first < 2 * group;
      groups.push_back({first, last ? count - first : group});
      if (last) break;
    }
    const double usual = usual_error(groups);
    for (const Group& one : groups) judge_line(one, usual);
    for (std::size_t i = 0; i < output_.want.size(); ++i)
      verdict_.looked_at += is_looked_at(i) ? 1 : 0;
    return verdict_;
  }

 private:
  bool is_looked_at(std::size_t i) const {
    return std::isfinite(output_.want[i]) && std::isfinite(output_.err0[i]);
  }

  // The honest error above which elements enter no root mean square.
  double limit_of(std::int64_t first, std::int64_t count) const {
    std::vector<double> errors;
    for (std::int64_t i = first; i < first + count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (is_looked_at(at)) errors.push_back(output_.err0[at]);
    }
    const std::size_t out = errors.size() / left_out;
    if (out == 0) return std::numeric_limits<double>::infinity();
    const auto place = errors.end() - static_cast<std::ptrdiff_t>(out) - 1;
    std::nth_element(errors.begin(), place, errors.end());
    return *place;
  }

  Sizes sizes_of(const Group& group) const {
    const double limit = limit_of(group.first, group.count);
    Sizes out;
    for (std::int64_t i = group.first; i < group.first + group.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (!is_looked_at(at)) continue;
      const bool in_rms = output_.err0[at] <= limit;
      out.error.add(got_[at] - output_.want[at], in_rms);
      out.honest.add(output_.err0[at], in_rms);
      out.value.add(output_.want[at], in_rms);
    }
    return out;
  }

  // The honest error beside the line's values that one line in ten exceeds.
  double usual_error(const std::vector<Group>& groups) const {
    std::vector<double> errors;
    for (const Group& one : groups) {
      const Sizes sizes = sizes_of(one);
      if (sizes.honest.rms() > 0 && sizes.value.rms() > 0)
        errors.push_back(sizes.honest.rms() / sizes.value.rms());
    }
    if (errors.empty()) return 0;
    const auto place = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() * 9 / 10);
    std::nth_element(errors.begin(), place, errors.end());
    return *place;
  }

  double granted(double size) const { return output_.per_value * size + output_.tiny; }

  void judge_whole() {
    const Group all{0, static_cast<std::int64_t>(output_.want.size())};
    const Sizes sizes = sizes_of(all);
    note(sizes.error.rms(), whole_factor * sizes.honest.rms() + granted(sizes.value.rms()), -1,
         all.count, "rms");
  }

  // A line's errors depend on one another where it has one mean or one sum, so that all honest
  // executions may happen to err little there: then what other lines err counts.
  void judge_line(const Group& line, double usual) {
    const Sizes sizes = sizes_of(line);
    note(sizes.error.rms(),
         line_factor * std::max(sizes.honest.rms(), usual * sizes.value.rms()) +
             granted(sizes.value.rms()),
         line.first, line.count, "rms");
    note(sizes.error.largest,
         largest_factor * std::max(sizes.honest.largest, usual * sizes.value.largest) +
             granted(sizes.value.largest),
         line.first, line.count, "largest");
  }

  void note(double error, double allowed, std::int64_t first, std::int64_t count,
            std::string_view measure) {
    const double ratio = error <= allowed ? (allowed > 0 ? error / allowed : 0.0)
                         : allowed > 0    ? error / allowed
                                          : std::numeric_limits<double>::infinity();
    const bool ok = error <= allowed;  // so that NaN fails
    if (verdict_.ok && ok && ratio <= verdict_.ratio) return;
    if (!verdict_.ok && (ok || !(ratio > verdict_.ratio))) return;
    verdict_ = {ok, ratio, first, count, error, allowed, 0, measure};
  }

  const HonestOutput& output_;
  std::span<const double> got_;
  RmsVerdict verdict_;
};

}  // namespace

bool is_judged_by_rms(const Tensor& tensor) {
  return tensor.role != Role::in && tensor.role != Role::constant &&
         tensor.check.kind == CheckKind::within && tensor.strides.empty() &&
         tensor.type < DType::i64;  // floating types come first
}

RmsVerdict judge_by_rms(const HonestOutput& output, std::span<const double> got) {
  return Judge(output, got).run();
}

}  // namespace cupilot
