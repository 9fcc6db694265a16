// Means, counts and shares of a suite's rows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <cupilot/parts/contestants.hpp>
#include <cupilot/parts/suite.hpp>

namespace cupilot {
namespace {

constexpr double faster_above = 1.01, slower_below = 0.99;
constexpr std::size_t largest_left_out = 5;
constexpr std::string_view best_of_torch = "best of torch", autotune = "torch-max-autotune";

// The id without the class that follows an '@'.
std::string_view stem(std::string_view id) { return id.substr(0, id.find('@')); }

// The fastest of the contestants that count, without the one that compiles longest.
const SuiteTime* best_time(const SuiteRow& row) {
  const SuiteTime* best = nullptr;
  for (const Contestant& one : contestants()) {
    if (!one.counts || one.name == autotune) continue;
    for (const SuiteTime& time : row.times) {
      if (time.name == one.name && (best == nullptr || time.time_us < best->time_us)) best = &time;
    }
  }
  return best;
}

// The rows that a mean is about: those with such a time, and those that have none because they have
// no champion.
struct Ratios {
  std::vector<double> middle, low, high;
};

Ratios ratios_of(const std::vector<const SuiteRow*>& rows, std::string_view against) {
  Ratios all;
  const auto add = [&](double middle, double low, double high) {
    all.middle.push_back(middle);
    all.low.push_back(low);
    all.high.push_back(high);
  };
  for (const SuiteRow* row : rows) {
    if (!row->ended) continue;
    const SuiteTime* time = time_against(*row, against);
    if (!row->apart.empty() || !row->error.empty()) {
      add(1, 1, 1);
    } else if (time != nullptr && time->ratio > 0) {
      add(time->ratio, time->low, time->high);
    }
  }
  return all;
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

double arithmetic_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

SuiteMean mean_of(const std::vector<const SuiteRow*>& rows, std::string_view against,
                  std::string group) {
  const Ratios ratios = ratios_of(rows, against);
  SuiteMean mean{std::string(against), std::move(group)};
  mean.tasks = static_cast<int>(ratios.middle.size());
  mean.geometric = geometric_mean(ratios.middle);
  mean.low = geometric_mean(ratios.low);
  mean.high = geometric_mean(ratios.high);
  mean.arithmetic = arithmetic_mean(ratios.middle);
  std::vector<double> sorted = ratios.middle;
  std::sort(sorted.begin(), sorted.end());
  sorted.resize(sorted.size() - std::min(sorted.size(), largest_left_out));
  mean.arithmetic_without_largest = arithmetic_mean(sorted);
  for (std::size_t i = 0; i < ratios.middle.size(); ++i) {
    const bool faster = ratios.low[i] > faster_above, slower = ratios.high[i] < slower_below;
    ++(faster ? mean.faster : slower ? mean.slower : mean.undecided);
  }
  return mean;
}

std::vector<std::string> columns_of(const std::vector<SuiteRow>& rows) {
  std::vector<std::string> names;
  bool torch = false;
  for (const SuiteRow& row : rows) {
    for (const SuiteTime& time : row.times) {
      torch = torch || is_contestant(time.name);
      if (std::find(names.begin(), names.end(), time.name) == names.end())
        names.push_back(time.name);
    }
  }
  std::erase_if(names, [](const std::string& name) {
    const std::vector<Contestant> known = contestants();
    return std::any_of(known.begin(), known.end(),
                       [&](const Contestant& one) { return one.name == name && !one.counts; });
  });
  if (torch) names.emplace_back(best_of_torch);
  return names;
}

// A group without a ratio has no mean.
void add_mean(SuiteReport& report, const std::vector<const SuiteRow*>& rows,
              std::string_view against, std::string group) {
  SuiteMean mean = mean_of(rows, against, std::move(group));
  if (mean.tasks > 0) report.means.push_back(std::move(mean));
}

template <class Key>
void add_groups(SuiteReport& report, const std::vector<const SuiteRow*>& all,
                std::string_view against, const char* word, Key key) {
  std::map<std::string, std::vector<const SuiteRow*>> groups;
  for (const SuiteRow* row : all) {
    if (!key(*row).empty()) groups[key(*row)].push_back(row);
  }
  for (const auto& [name, rows] : groups)
    add_mean(report, rows, against, std::string(word) + " " + name);
}

// Each task by the faster of its rows.
std::vector<const SuiteRow*> faster_rows(const SuiteReport& report) {
  std::vector<const SuiteRow*> rows;
  for (const SuiteRow& row : report.rows) {
    const bool solved = row.ended && row.error.empty() && row.time_us > 0;
    if (stands_beside(row).empty()) {
      rows.push_back(&row);
    } else if (solved && !rows.empty() && rows.back()->ended &&
               stands_beside(row) == stem(rows.back()->id) &&
               (!rows.back()->error.empty() || row.time_us < rows.back()->time_us)) {
      rows.back() = &row;
    }
  }
  return rows;
}

void add_means(SuiteReport& report, const std::vector<const SuiteRow*>& own,
               const std::vector<const SuiteRow*>& beside, std::string_view against) {
  add_mean(report, own, against, "all");
  add_groups(report, own, against, "class", [](const SuiteRow& row) { return row.proved; });
  add_groups(report, own, against, "family", [](const SuiteRow& row) { return row.family; });
  if (std::none_of(beside.begin(), beside.end(), [](const SuiteRow* row) { return row->ended; }))
    return;
  add_groups(report, beside, against, "beside in",
             [](const SuiteRow& row) { return row.precision; });
  add_mean(report, faster_rows(report), against, "all, the faster class");
}

}  // namespace

std::string_view stands_beside(const SuiteRow& row) {
  const std::string_view id = stem(row.id);
  return id.size() == row.id.size() ? std::string_view() : id;
}

double floor_share(const SuiteRow& row) {
  return row.time_us > 0 ? std::min(1.0, row.floor_us / row.time_us) : 0;
}

double sol_score(const SuiteRow& row, std::string_view baseline) {
  const SuiteTime* time = time_against(row, baseline);
  const double floor = row.datasheet_floor_us;
  if (time == nullptr || row.time_us <= 0 || time->time_us <= floor) return 0;
  return 1 / (1 + (row.time_us - floor) / (time->time_us - floor));
}

const SuiteTime* time_against(const SuiteRow& row, std::string_view name) {
  if (name == best_of_torch) return best_time(row);
  const auto found = std::find_if(row.times.begin(), row.times.end(),
                                  [&](const SuiteTime& one) { return one.name == name; });
  return found == row.times.end() ? nullptr : &*found;
}

void summarise(SuiteReport& report) {
  report.means.clear();
  report.tasks = report.ended = report.solved = 0;
  std::vector<const SuiteRow*> own, beside;
  std::vector<double> shares;
  for (const SuiteRow& row : report.rows) {
    const bool repeats = !stands_beside(row).empty();
    (repeats ? beside : own).push_back(&row);
    if (repeats) continue;
    ++report.tasks;
    report.ended += row.ended ? 1 : 0;
    if (!row.ended || !row.error.empty()) continue;
    ++report.solved;
    shares.push_back(floor_share(row));
  }
  std::sort(shares.begin(), shares.end());
  report.median_floor_share =
      shares.empty() ? 0 : (shares[shares.size() / 2] + shares[(shares.size() - 1) / 2]) / 2;
  for (const std::string& against : columns_of(report.rows))
    add_means(report, own, beside, against);
}

}  // namespace cupilot
