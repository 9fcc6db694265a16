// report.html: one self-contained page of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <cupilot/parts/run_report.hpp>

#include "base/guard.hpp"
#include "evolution/journal/run_files.hpp"
#include "evolution/report/chart.hpp"

namespace cupilot {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
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

constexpr std::string_view head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>cupilot run</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .8rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:90%}svg{max-width:100%;height:auto}
.quiet{color:#666}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
@media(prefers-color-scheme:dark){body{background:#16161a;color:#e6e6ea}td,th{border-color:#333}.quiet{color:#999}}
</style></head><body>
)";

constexpr std::size_t most_lines = 500;  // of generations

struct Point {
  std::int64_t slot = 0;
  int generation = 0;
  double us = 0;
  std::string id, label;
  std::vector<std::string> parents;
};

Point point_of(const ResultRecord& result, const Accepted& accepted) {
  const Candidate& c = result.candidate;
  return {result.slot,   result.generation,    accepted.measurement.time_us,
          c.strategy_id, describe(c.strategy), c.strategy.parents};
}

// What the page needs of a run's events.
class Gatherer {
 public:
  void take(const SearchEvent& event, const FramedRecord& record) {
    roofline.take(event);
    const auto* result = std::get_if<ResultRecord>(&event);
    const auto* accepted =
        result == nullptr ? nullptr : std::get_if<Accepted>(&result->candidate.outcome);
    if (accepted == nullptr) return;
    places.insert(result->candidate.strategy_id, record.at);
    const double us = accepted->measurement.time_us;
    const bool fastest = best_ == 0 || us < best_;
    if (fastest) best_ = us;
    points_.add(point_of(*result, *accepted), fastest);
  }
  std::size_t seen() const { return points_.seen(); }
  std::vector<Point> points() const {
    std::vector<Point> all = points_.taken();
    std::sort(all.begin(), all.end(),
              [](const Point& a, const Point& b) { return a.slot < b.slot; });
    return all;
  }
  RooflineGatherer roofline;
  DigestTable places;  // strategy id -> byte of the journal where its accepted result is

 private:
  Thinned<Point> points_{most_points};
  double best_ = 0;
};

// Each verified kernel as a dot over its slot, of many some, the best so far as a line, the plain
// baseline and the library dashed; log time.
std::string chart(const std::vector<Point>& points, const std::vector<Baseline>& baselines,
                  std::int64_t slots) {
  double low = HUGE_VAL, high = 0;
  const auto widen = [&](double us) {
    low = std::min(low, us);
    high = std::max(high, us);
  };
  for (const Point& point : points) widen(point.us);
  for (const Baseline& baseline : baselines) widen(baseline.time_us);
  if (points.empty() || !(low > 0)) return "<p class=quiet>No kernel was verified.</p>\n";
  const double span = std::max(1e-9, std::log(high / low));
  const auto x = [&](std::int64_t slot) {
    return 60 + 820.0 * static_cast<double>(slot) /
                    static_cast<double>(std::max<std::int64_t>(1, slots - 1));
  };
  const auto y = [&](double us) { return 20 + 280 * (1 - std::log(us / low) / span); };
  std::string svg =
      "<svg viewBox=\"0 0 900 340\" role=img aria-label=\"time of each verified kernel\" "
      "font-size=12 fill=currentColor>\n";
  for (const Baseline& baseline : baselines) {
    svg += fmt::format(
        "<line x1=60 x2=880 y1={0:.1f} y2={0:.1f} stroke=#c60 stroke-dasharray=\"6 4\"/><text x=64 "
        "y={1:.1f}>{2} {3:.4g} "
        "us</text>\n",
        y(baseline.time_us), y(baseline.time_us) - 4, escaped(baseline.name), baseline.time_us);
  }
  std::string line;
  double best = HUGE_VAL;
  for (const Point& point : points) {
    svg += fmt::format(
        "<circle cx={:.1f} cy={:.1f} r=2.5 fill=#47a opacity=.6><title>slot {}: {:.4g} us "
        "{}</title></circle>\n",
        x(point.slot), y(point.us), point.slot, point.us, escaped(point.label));
    if (point.us >= best) continue;
    if (!line.empty()) line += fmt::format("H{:.1f}", x(point.slot));
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x(point.slot), y(point.us));
    best = point.us;
  }
  svg += fmt::format("<path d=\"{}H880\" fill=none stroke=#283 stroke-width=2/>\n", line);
  svg += fmt::format(
      "<text x=60 y=330>slot 0</text><text x=880 y=330 text-anchor=end>slot {}</text>"
      "<text x=4 y={:.1f}>{:.3g} us</text></svg>\n",
      slots - 1, y(low), low);
  return svg;
}

// The champion and its ancestors by generation, at most 60 of them, each read where the journal has
// it.
std::map<int, std::vector<Point>> ancestors(Host& host, const std::string& run_dir,
                                            const DigestTable& places,
                                            const std::string& champion) {
  std::vector<std::string> queue = {champion};
  std::map<int, std::vector<Point>> rows;
  std::set<std::string> met;
  for (std::size_t i = 0; i < queue.size() && met.size() < 60; ++i) {
    const std::int64_t at = places.find(queue[i]);
    if (at < 0 || !met.insert(queue[i]).second) continue;
    const auto record = record_at(host, run_dir, at);
    const auto result =
        record ? result_without_cases(record->payload) : Result<ResultRecord>(record.error());
    const auto* accepted = result ? std::get_if<Accepted>(&result->candidate.outcome) : nullptr;
    if (accepted == nullptr) continue;
    const Point& point = rows[result->generation].emplace_back(point_of(*result, *accepted));
    queue.insert(queue.end(), point.parents.begin(), point.parents.end());
  }
  for (auto& [generation, row] : rows) {
    std::sort(row.begin(), row.end(),
              [](const Point& a, const Point& b) { return a.slot < b.slot; });
  }
  return rows;
}

// A row a generation, an edge from child to parent.
std::string lineage(const std::map<int, std::vector<Point>>& rows, const std::string& champion) {
  if (rows.empty()) return "";
  std::map<std::string, std::pair<double, double>> place;
  double y = 24;
  for (const auto& [generation, row] : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      place[row[i].id] = {900.0 * (static_cast<double>(i) + 0.5) / static_cast<double>(row.size()),
                          y};
    y += 56;
  }
  std::string edges, dots;
  for (const auto& [generation, row] : rows) {
    for (const Point& point : row) {
      const auto [px, py] = place[point.id];
      for (const std::string& parent : point.parents) {
        const auto to = place.find(parent);
        if (to == place.end()) continue;
        edges += fmt::format("<line x1={:.1f} y1={:.1f} x2={:.1f} y2={:.1f} stroke=#999/>\n", px,
                             py, to->second.first, to->second.second);
      }
      dots += fmt::format(
          "<circle cx={0:.1f} cy={1:.1f} r=5 fill={2}><title>{3}</title></circle><text x={0:.1f} "
          "y={4:.1f}>{5}: {6:.4g} "
          "us</text>\n",
          px, py, point.id == champion ? "#283" : "#47a", escaped(point.label), py + 18, point.slot,
          point.us);
    }
  }
  return fmt::format(
             "<svg viewBox=\"0 0 900 {:.0f}\" role=img aria-label=\"lineage of the best kernel\" "
             "font-size=11 "
             "fill=currentColor text-anchor=middle>\n",
             y) +
         edges + dots + "</svg>\n";
}

std::string row(const std::string& name, const std::string& value) {
  return "<tr><th>" + escaped(name) + "</th><td>" + escaped(value) + "</td></tr>\n";
}

// What was shown, what was not, and what held the processes.
std::string evidence_rows(const Best& best, const Accepted& accepted) {
  std::string html;
  for (const std::string& sentence : accepted.verification.proved_by)
    html += row("shown", sentence);
  for (const std::string& sentence : accepted.verification.unproved)
    html += row("not proved", sentence);
  const Conditions& held = accepted.conditions;
  html += row("compiled", held.compiler + " for " + held.arch + ", under " + held.compiled_under);
  html += row("run", held.ran_under +
                         (held.screened_on.empty() ? "" : "; screened on " + held.screened_on));
  for (const std::string& flag : held.flags) html += row("the gate remarked", flag);
  if (best.gain_noise > 0) {
    html += row("gain",
                best.gain > 0
                    ? fmt::format("{:.1f} % over the strongest baseline, noise {:.1f} %",
                                  100 * best.gain, 100 * best.gain_noise)
                    : fmt::format("none above twice its noise of {:.1f} %", 100 * best.gain_noise));
  }
  return html;
}

// The chart stands beside the words; a run of a device that spans its own space has none.
std::string roofline_part(const RunWalk& walk, const RooflineGatherer& gatherer) {
  const auto chart = gatherer.chart(walk);
  if (!chart || chart->population.empty() || !chart->floor) return "";
  return "<h2>Roofline</h2>\n" + roofline_svg(*chart) +
         "<p class=quiet>ceilings: " + escaped(chart->source) + "</p>\n";
}

std::string champion_part(const EvolveReport& report,
                          const std::map<int, std::vector<Point>>& kin) {
  if (!report.best) return "<h2>Best</h2><p>No kernel was confirmed.</p>\n";
  const Candidate& c = report.best->candidate;
  const auto& accepted = std::get<Accepted>(c.outcome);
  std::string html = "<h2>Best</h2><table>\n";
  html += row("time",
              fmt::format("{:.4g} us {} ({} L2)", accepted.measurement.time_us,
                          name_of(accepted.measurement.provenance), accepted.measurement.cache));
  for (const Baseline& baseline : report.best->baselines) {
    html += row(
        "against " + baseline.name,
        fmt::format("{:.4g} us {}: {:.3g} times as long", baseline.time_us,
                    name_of(baseline.provenance), baseline.time_us / accepted.measurement.time_us));
  }
  html += row("strategy", describe(c.strategy));
  if (!c.strategy.rationale.empty()) html += row("because", c.strategy.rationale);
  html += row("kernel", c.kernel_id);
  html += row(
      "verified",
      fmt::format("{} cases, {} elements, worst error {:.3g} of its bound, class {}, {} processes",
                  accepted.verification.cases.size(), accepted.verification.compared,
                  accepted.verification.worst_ratio, name_of(accepted.verification.proved),
                  accepted.verification.processes));
  html += evidence_rows(*report.best, accepted);
  html += "</table><h2>Verdict</h2><table>\n";
  const Verdict& v = accepted.verdict;
  html += row("zone", std::string(name_of(v.zone)));
  html +=
      row("floor", fmt::format("{:.4g} us, {:.1f} % of the time", v.floor_us, 100 * v.floor_share));
  html += row("binding", std::string(name_of(v.binding)));
  html += row("utilisation", fmt::format("{:.1f} % of the zone's pipe", 100 * v.utilisation));
  html += row("evidence", v.rung);
  html += "</table><ul>\n";
  for (const std::string& sentence : v.digest) html += "<li>" + escaped(sentence) + "</li>\n";
  html += "</ul>\n<h2>Lineage</h2>\n" + lineage(kin, c.strategy_id);
  return html;
}

std::string generations_table(const RunSummary& summary) {
  std::string html = "<h2>Generations</h2><table>\n";
  Thinned<std::string> lines(most_lines);
  for (const std::string& line : summary.lines) lines.add(line, &line == &summary.lines.back());
  for (const std::string& line : lines.taken()) html += "<tr><td>" + escaped(line) + "</td></tr>\n";
  return html + "</table>\n";
}

std::string phases_table(const EvolveReport& report) {
  std::vector<std::pair<std::string, double>> phases(report.phase_seconds.begin(),
                                                     report.phase_seconds.end());
  std::stable_sort(phases.begin(), phases.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string html =
      "<h2>Where the time went</h2><p class=quiet>search/… is added up over the threads that work "
      "on candidates side by side.</p>"
      "<table><tr><th>phase</th><th>seconds</th></tr>\n";
  for (const auto& [path, seconds] : phases)
    html += fmt::format("<tr><td>{}</td><td class=n>{:.2f}</td></tr>\n", escaped(path), seconds);
  return html + "</table>\n";
}

std::string rejections_table(const EvolveReport& report) {
  std::string html = "<h2>Rejected</h2><table><tr><th>code</th><th>count</th></tr>\n";
  for (const auto& [code, count] : report.rejected)
    html += fmt::format("<tr><td>{}</td><td class=n>{}</td></tr>\n", escaped(code), count);
  return html + "</table>\n";
}

// The first refusal of each code.
std::string refusals_table(const EvolveReport& report) {
  if (report.refusals.empty()) return "";
  std::string html =
      "<table><tr><th>code</th><th>first met by</th><th>message</th><th>line</th><th>next</th>"
      "</tr>\n";
  for (const Refusal& one : report.refusals) {
    const std::string who =
        one.candidate > 0 ? fmt::format("#{} {}", one.candidate, one.setting) : one.setting;
    const std::string line =
        one.line == 0 ? ""
                      : fmt::format("{}:{}: {}", one.file.empty() ? "kernel.cu" : one.file,
                                    one.line, one.source_line);
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{} {}</td><td><code>{}</code></td><td>{}</td>"
        "</tr>\n",
        escaped(one.why.code), escaped(who), escaped(one.why.message), escaped(one.why.where),
        escaped(line), escaped(one.next));
  }
  return html + "</table>\n";
}

}  // namespace

namespace {

std::string page_of(Host& host, const std::string& run_dir, const RunWalk& walk,
                    const Gatherer& gatherer) {
  const RunSummary& summary = walk.summary;
  const EvolveReport& report = summary.report;
  const HeaderRecord& header = walk.state.header;
  const std::vector<Point> points = gatherer.points();
  const auto kin =
      report.best ? ancestors(host, run_dir, gatherer.places, report.best->candidate.strategy_id)
                  : std::map<int, std::vector<Point>>();
  std::string html(head);
  const std::string seconds = report.wall_seconds > 0
                                  ? fmt::format("{:.1f} s{}, ", report.wall_seconds,
                                                report.resumed ? " since it was resumed" : "")
                                  : "";
  html += fmt::format(
      "<h1>{} on {}</h1>\n<p class=quiet>seed {}, {} evaluations of {} proposals, {}{}; cupilot "
      "{}, {}</p>\n",
      escaped(summary.task.name), escaped(report.device), report.seed, report.evaluations,
      report.proposed, seconds, report.stopped.empty() ? "not finished" : escaped(report.stopped),
      escaped(header.program), escaped(header.started));
  html += chart(points, report.baselines, report.proposed);
  if (points.size() < gatherer.seen()) {
    html += fmt::format(
        "<p class=quiet>{} of {} verified kernels are shown, each that was the fastest so far "
        "among them.</p>\n",
        points.size(), gatherer.seen());
  }
  html += roofline_part(walk, gatherer.roofline);
  html += champion_part(report, kin);
  html += generations_table(summary);
  html += rejections_table(report) + refusals_table(report);
  html += phases_table(report);
  for (const std::string& notice : report.notices)
    html += "<p class=quiet>" + escaped(notice) + "</p>\n";
  return html + "</body></html>\n";
}

Result<RunReport> report_from_one_walk(Host& host, const std::string& run_dir) {
  Gatherer gatherer;
  auto walk = walk_run(host, run_dir, [&](const SearchEvent& event, const FramedRecord& record) {
    gatherer.take(event, record);
  });
  if (!walk) return walk.error();
  const std::string path = run_dir + "/report.html";
  const auto written =
      host.write_file_atomically(path, page_of(host, run_dir, *walk, gatherer), false);
  auto chart = gatherer.roofline.chart(*walk);
  return RunReport{std::move(walk->summary), std::move(chart),
                   written ? Result<std::string>(path) : written.error()};
}

}  // namespace

Result<std::string> write_report(Host& host, const std::string& run_dir) {
  auto all = report_from_one_walk(host, run_dir);
  if (!all) return all.error();
  return std::move(all->page);
}

Result<std::string> write_report(const std::string& run_dir) {
  return guarded([&] { return write_report(real_host(), run_dir); });
}

Result<RunReport> report_run(const std::string& run_dir) {
  return guarded([&] { return report_from_one_walk(real_host(), run_dir); });
}

}  // namespace cupilot
