// A suite's report as JSON, CSV and Markdown.
#include <algorithm>

#include <fmt/format.h>

#include "suite/outcome.hpp"

namespace cupilot {
namespace {

constexpr const char* eager = "torch";

SortedJson mean_json(const SuiteMean& mean) {
  return {{"against", mean.against},
          {"group", mean.group},
          {"tasks", mean.tasks},
          {"geometric", mean.geometric},
          {"geometric_of_interval_ends", {mean.low, mean.high}},
          {"arithmetic", mean.arithmetic},
          {"arithmetic_without_five_largest", mean.arithmetic_without_largest},
          {"faster", mean.faster},
          {"slower", mean.slower},
          {"undecided", mean.undecided}};
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::vector<std::string> names_of_times(const SuiteReport& report) {
  std::vector<std::string> names;
  for (const SuiteRow& row : report.rows) {
    for (const SuiteTime& time : row.times) {
      if (std::find(names.begin(), names.end(), time.name) == names.end())
        names.push_back(time.name);
    }
  }
  return names;
}

std::string number(double value, int digits = 4) {
  return value > 0 ? fmt::format("{:.{}g}", value, digits) : "";
}

// "2.31 [2.28, 2.35]"
std::string ratio_text(const SuiteTime* time) {
  if (time == nullptr || time->ratio <= 0) return "";
  return fmt::format("{:.3g} [{:.3g}, {:.3g}]", time->ratio, time->low, time->high);
}

std::string cell(std::string text) {
  for (char& c : text) {
    if (c == '|' || c == '\n') c = ' ';
  }
  return text;
}

std::string mean_rows(const SuiteReport& report) {
  std::string text =
      "| against | tasks of | tasks | geometric | of interval ends | arithmetic | without five "
      "largest | faster | slower | undecided |\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const SuiteMean& m : report.means) {
    text +=
        fmt::format("| {} | {} | {} | {:.3g} | {:.3g} to {:.3g} | {:.3g} | {} | {} | {} | {} |\n",
                    m.against, m.group, m.tasks, m.geometric, m.low, m.high, m.arithmetic,
                    number(m.arithmetic_without_largest, 3), m.faster, m.slower, m.undecided);
  }
  return text;
}

}  // namespace

std::string suite_json(const SuiteReport& report) {
  SortedJson json = {{"cupilot_suite_report", 1},
                     {"suite", report.suite},
                     {"source", report.source},
                     {"settings", SortedJson::parse(report.settings, nullptr, false)},
                     {"ended", report.ended},
                     {"solved", report.solved},
                     {"median_floor_share", report.median_floor_share},
                     {"notices", report.notices},
                     {"means", SortedJson::array()},
                     {"rows", SortedJson::array()}};
  for (const SuiteMean& mean : report.means) json["means"].push_back(mean_json(mean));
  for (const SuiteRow& row : report.rows) {
    SortedJson one = row_json(row);
    one["floor_share"] = floor_share(row);
    one["sol_score"] = sol_score(row, eager);
    json["rows"].push_back(std::move(one));
  }
  return json.dump(1, ' ', false, SortedJson::error_handler_t::replace) + "\n";
}

std::string suite_csv(const SuiteReport& report) {
  const std::vector<std::string> names = names_of_times(report);
  std::string text =
      "id,title,family,precision,proved,time_us,provenance,floor_us,floor_share,"
      "datasheet_floor_us,sol_score,evaluations,seconds,contestant_seconds,device,apart,error,"
      "strategy";
  for (const std::string& name : names)
    text += fmt::format(",{0}_us,{0}_ratio,{0}_low,{0}_high", name);
  text += "\n";
  for (const SuiteRow& row : report.rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f},{},{},{},{}",
                        csv_cell(row.id), csv_cell(row.title), csv_cell(row.family), row.precision,
                        row.proved, number(row.time_us, 6), row.provenance, number(row.floor_us, 6),
                        number(floor_share(row)), number(row.datasheet_floor_us, 6),
                        number(sol_score(row, eager)), row.evaluations, row.seconds,
                        row.contestant_seconds, csv_cell(row.device), csv_cell(row.apart),
                        csv_cell(row.error), csv_cell(row.strategy));
    for (const std::string& name : names) {
      const SuiteTime* time = time_against(row, name);
      text += time == nullptr
                  ? ",,,,"
                  : fmt::format(",{},{},{},{}", number(time->time_us, 6), number(time->ratio),
                                number(time->low), number(time->high));
    }
    text += "\n";
  }
  return text;
}

std::string suite_markdown(const SuiteReport& report) {
  const std::vector<std::string> names = names_of_times(report);
  std::string text = fmt::format(
      "{}: {} of {} tasks solved, {} ended; median share of the floor {:.1f} %.\n\n", report.suite,
      report.solved, report.tasks, report.ended, 100 * report.median_floor_share);
  text += mean_rows(report) + "\n| task | class | proved | us | of floor |";
  std::string rule = "|---|---|---|---|---|";
  for (const std::string& name : names) {
    text += fmt::format(" {} over it |", name);
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const SuiteRow& row : report.rows) {
    if (!row.ended) continue;
    const std::string time = row.error.empty() ? number(row.time_us) : cell(row.error);
    text += fmt::format("| {} {} | {} | {} | {} | {:.0f} % |", row.id, cell(row.title),
                        row.precision, row.proved, time, 100 * floor_share(row));
    for (const std::string& name : names) text += " " + ratio_text(time_against(row, name)) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace cupilot
