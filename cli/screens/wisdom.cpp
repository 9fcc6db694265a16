#include "screens/wisdom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

std::string sizes_text(const Task& task, const Workload& workload) {
  std::string text;
  for (const Axis& axis : task.axes) {
    const std::int64_t size = workload.sizes.at(axis.name);
    if (axis.name == "batch" && size == 1) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis.name, size);
  }
  return text;
}

// Returns the names of all shapes' baselines, each once.
std::vector<std::string> baseline_names(const WisdomEntry& entry) {
  std::vector<std::string> names;
  for (const WisdomShape& shape : entry.shapes) {
    for (const Baseline& baseline : shape.baselines) {
      if (std::find(names.begin(), names.end(), baseline.name) == names.end())
        names.push_back(baseline.name);
    }
  }
  return names;
}

std::vector<std::string> row_of(const WisdomEntry& entry, const WisdomShape& shape,
                                const std::vector<std::string>& baselines) {
  std::vector<std::string> row = {sizes_text(entry.task, shape.workload),
                                  fmt::format("{:g}", shape.workload.weight)};
  double best = 0;
  for (const double time : shape.times_us)
    best = time > 0 && (best == 0 || time < best) ? time : best;
  for (const double time : shape.times_us)
    row.push_back(time > 0 ? time_text(time) + (time == best ? " *" : "") : "-");
  for (const std::string& name : baselines) {
    const auto at = std::find_if(shape.baselines.begin(), shape.baselines.end(),
                                 [&](const Baseline& one) { return one.name == name; });
    row.push_back(at == shape.baselines.end() ? "-" : time_text(at->time_us));
  }
  return row;
}

}  // namespace

std::string wisdom_screen(const WisdomEntry& entry) {
  std::vector<std::vector<std::string>> rows = {{"shape", "weight"}};
  for (std::size_t i = 0; i < entry.kernels.size(); ++i) {
    rows[0].push_back(
        fmt::format("#{}{}", i + 1, static_cast<int>(i) == entry.fallback ? " fallback" : ""));
  }
  const std::vector<std::string> baselines = baseline_names(entry);
  rows[0].insert(rows[0].end(), baselines.begin(), baselines.end());
  for (const WisdomShape& shape : entry.shapes) rows.push_back(row_of(entry, shape, baselines));
  std::string text = fmt::format(
      "{} ({}) on {}: {} kernels for {} shapes, mean regret {:.1f} %, {} times, cold L2\n{}",
      entry.task.name, name_of(entry.task.precision), entry.device_label, entry.kernels.size(),
      entry.shapes.size(), 100 * entry.regret, name_of(entry.provenance), table(rows));
  for (std::size_t i = 0; i < entry.kernels.size(); ++i) {
    text += fmt::format("\n#{} {}: {}", i + 1, entry.kernels[i].name, entry.kernels[i].strategy);
  }
  return text;
}

std::string wisdom_summary_json(const Wisdom& wisdom) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const WisdomEntry& entry : wisdom.entries) {
    nlohmann::ordered_json kernels = nlohmann::ordered_json::array(),
                           shapes = nlohmann::ordered_json::array();
    for (const WisdomKernel& kernel : entry.kernels) {
      kernels.push_back(
          {{"name", kernel.name}, {"kernel", kernel.kernel_id}, {"strategy", kernel.strategy}});
    }
    for (const WisdomShape& shape : entry.shapes) {
      nlohmann::ordered_json one = {{"sizes", shape.workload.sizes},
                                    {"weight", shape.workload.weight},
                                    {"times_us", shape.times_us}};
      for (const Baseline& baseline : shape.baselines)
        one["baselines_us"][baseline.name] = baseline.time_us;
      shapes.push_back(one);
    }
    entries.push_back({{"task", entry.task.name},
                       {"precision", std::string(name_of(entry.task.precision))},
                       {"device", entry.device},
                       {"provenance", std::string(name_of(entry.provenance))},
                       {"regret", entry.regret},
                       {"fallback", entry.fallback},
                       {"kernels", kernels},
                       {"shapes", shapes}});
  }
  return nlohmann::ordered_json{{"entries", entries}}.dump();
}

}  // namespace cupilot::cli
