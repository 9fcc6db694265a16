// `cupilot peaks`: what a device sustains, measured and kept for the searches that follow.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cupilot/parts/peaks.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

std::string in_unit(double value, const std::string& unit) {
  if (unit == "s") return fmt::format("{:.2f} us", value * 1e6);
  constexpr std::pair<double, const char*> scales[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1, ""}};
  for (const auto& [scale, letter] : scales) {
    if (value >= scale) return fmt::format("{:.4g} {}{}", value / scale, letter, unit);
  }
  return fmt::format("{:.4g} {}", value, unit);
}

// The datasheet's number for the same ceiling, as a share; "" where it has none or a launch is
// meant.
std::string share_of(const Ceiling& ceiling, const Peaks& datasheet) {
  const Ceiling* row = find_ceiling(datasheet, ceiling.name);
  if (row == nullptr || ceiling.unit == "s" || !(row->value > 0)) return "";
  return fmt::format("{:.0f} %", 100 * ceiling.value / row->value);
}

std::string screen(const Peaks& peaks, const Peaks& datasheet) {
  std::vector<std::vector<std::string>> rows = {
      {"ceiling", "sustained", "spread", "of the datasheet", "by"}};
  if (!peaks.measured) rows = {{"ceiling", "datasheet"}};
  for (const Ceiling& c : peaks.ceilings) {
    if (!peaks.measured) {
      rows.push_back({c.name, in_unit(c.value, c.unit)});
      continue;
    }
    rows.push_back({c.name, in_unit(c.value, c.unit), fmt::format("{:.2f} %", 100 * spread(c)),
                    share_of(c, datasheet), c.how});
  }
  std::string text =
      fmt::format("PEAKS of {} ({}), {}\n\n", peaks.device, peaks.identity,
                  peaks.measured ? "measured" : "not measured: a row of a datasheet");
  text += table(rows) + "\n";
  if (!peaks.source.empty()) text += "source: " + peaks.source + "\n";
  for (const std::string& condition : peaks.conditions) text += condition + "\n";
  return text;
}

nlohmann::ordered_json to_json(const Peaks& peaks, const std::string& path) {
  nlohmann::ordered_json ceilings = nlohmann::ordered_json::array();
  for (const Ceiling& c : peaks.ceilings) {
    ceilings.push_back({{"name", c.name},
                        {"unit", c.unit},
                        {"value", c.value},
                        {"spread", spread(c)},
                        {"repeats", c.repeats},
                        {"how", c.how}});
  }
  return {{"device", peaks.device},
          {"identity", peaks.identity},
          {"measured", peaks.measured},
          {"source", peaks.source},
          {"ceilings", ceilings},
          {"conditions", peaks.conditions},
          {"file", path}};
}

}  // namespace

int peaks_command(const PeaksFlags& flags) {
  const bool json = flags.common.json;
  auto backend = open_device(flags.common.device);
  if (!backend) return fail(backend.error(), json);
  const auto peaks = (*backend)->inspector().peaks();
  if (!peaks) return fail(peaks.error(), json);
  if (!peaks->measured && !flags.out.empty()) {
    return fail(
        {ErrorCode::usage,
         flags.out + ": nothing was measured on " + (*backend)->identity() + " that could be kept",
         "measure a GPU: --device cuda:0"},
        json);
  }
  // Peaks of a datasheet are not kept: a reader of the file would take them for measured ones.
  std::string path = flags.out.empty() ? peaks_path() : flags.out;
  if (!peaks->measured) path.clear();
  if (!path.empty()) {
    if (auto saved = save_peaks(*peaks, path); !saved) return fail(saved.error(), json);
  }
  if (json) {
    say(to_json(*peaks, path).dump(1));
    return 0;
  }
  std::string text = screen(*peaks, datasheet_peaks((*backend)->device(), peaks->identity));
  if (!path.empty())
    text += fmt::format(
        "kept in {}: verdicts and models of this device and driver use it from now on\n", path);
  text.pop_back();
  say(text);
  return 0;
}

}  // namespace cupilot::cli
