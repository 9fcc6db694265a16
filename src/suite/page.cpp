// A suite's report as one HTML file.
#include <algorithm>

#include <fmt/format.h>

#include <cupilot/parts/contestants.hpp>
#include <cupilot/parts/suite.hpp>

#include "base/embedded.hpp"

namespace cupilot {

std::span<const EmbeddedFile> page_files();

namespace {

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string number_cell(const std::string& text) {
  return "<td class=\"n\">" + html_text(text) + "</td>";
}

std::string means_table(const SuiteReport& report) {
  std::string html =
      "<h2>Means</h2>\n<p class=\"quiet\">A contestant's time over the champion's. Faster: the 95 "
      "% "
      "interval lies above 1.01; slower: below 0.99. A task without a champion counts as 1.</p>\n"
      "<table><tr><th>against</th><th>tasks of</th><th>tasks</th><th>geometric</th><th>of interval "
      "ends</th><th>arithmetic</th><th>without five largest</th><th>faster</th><th>slower</th>"
      "<th>undecided</th></tr>\n";
  for (const SuiteMean& m : report.means) {
    html += fmt::format("<tr><td>{}</td><td>{}</td>", html_text(m.against), html_text(m.group));
    for (const std::string& value :
         {fmt::format("{}", m.tasks), fmt::format("{:.3g}", m.geometric),
          fmt::format("{:.3g} to {:.3g}", m.low, m.high), fmt::format("{:.3g}", m.arithmetic),
          m.arithmetic_without_largest > 0 ? fmt::format("{:.3g}", m.arithmetic_without_largest)
                                           : "",
          fmt::format("{}", m.faster), fmt::format("{}", m.slower), fmt::format("{}", m.undecided)})
      html += number_cell(value);
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string row_cells(const SuiteRow& row, const std::vector<std::string>& names) {
  std::string html = fmt::format(
      "<tr><td>{}</td><td><a href=\"tasks/{}/report.html\">{}</a></td><td>{}</td><td>{}</td>",
      html_text(row.id), html_text(row.id), html_text(row.title), html_text(row.precision),
      html_text(row.proved));
  if (!row.ended || !row.error.empty()) {
    const std::string why = row.ended ? row.error : "not yet searched";
    return html +
           fmt::format("<td colspan=\"{}\">{}</td></tr>\n", 3 + names.size(), html_text(why));
  }
  html += number_cell(fmt::format("{:.4g}", row.time_us));
  html += number_cell(fmt::format("{:.0f}", 100 * floor_share(row)));
  html += number_cell(fmt::format("{:.1f}", row.seconds));
  for (const std::string& name : names) {
    const SuiteTime* time = time_against(row, name);
    html += number_cell(
        time == nullptr || time->ratio <= 0
            ? ""
            : fmt::format("{:.3g} [{:.3g}, {:.3g}]", time->ratio, time->low, time->high));
  }
  return html + "</tr>\n";
}

std::string rows_table(const SuiteReport& report, bool apart) {
  std::vector<std::string> names;
  std::string rows;
  for (const SuiteRow& row : report.rows) {
    for (const SuiteTime& time : row.times) {
      if (std::find(names.begin(), names.end(), time.name) == names.end())
        names.push_back(time.name);
    }
  }
  for (const SuiteRow& row : report.rows) {
    if (row.apart.empty() != apart) rows += row_cells(row, names);
  }
  if (rows.empty()) return "";
  std::string html = apart ? "<h2>Tasks apart</h2>\n" : "<h2>Tasks</h2>\n";
  html +=
      "<table><tr><th>id</th><th>task</th><th>class</th><th>proved</th><th>us</th><th>% of "
      "floor</th><th>s</th>";
  for (const std::string& name : names) html += "<th>" + html_text(name) + " over it</th>";
  return html + "</tr>\n" + rows + "</table>\n";
}

// Each machine, contestant and set of rates that took part, once.
std::string conditions_list(const SuiteReport& report) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(line);
  };
  for (const SuiteRow& row : report.rows) {
    if (!row.ended) continue;
    add(row.device + ", " + row.identity);
    if (!row.rates.empty()) add("sustained rates: " + row.rates);
    for (const SuiteTime& time : row.times)
      add(time.says.empty() ? "" : time.name + ": " + time.says);
  }
  for (const Contestant& one : contestants()) add(one.name + ": " + one.says);
  std::string html = "<h2>Conditions</h2>\n<ul>\n";
  for (const std::string& line : lines) html += "<li>" + html_text(line) + "</li>\n";
  return html + "</ul>\n";
}

}  // namespace

std::string suite_page(const SuiteReport& report) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>cupilot: "
      "{}</title>\n<style>\n{}</style></head>\n<body>\n",
      html_text(report.suite), find_embedded(page_files(), "style.css"));
  html += fmt::format(
      "<h1>{}</h1>\n<p class=\"quiet\">{}</p>\n<p>{} of {} tasks solved, {} ended; median share of "
      "the floor {:.1f} %.</p>\n",
      html_text(report.suite), html_text(report.source), report.solved, report.tasks, report.ended,
      100 * report.median_floor_share);
  for (const std::string& notice : report.notices) html += "<p>" + html_text(notice) + "</p>\n";
  return html + means_table(report) + rows_table(report, false) + rows_table(report, true) +
         conditions_list(report) + "</body>\n</html>\n";
}

}  // namespace cupilot
