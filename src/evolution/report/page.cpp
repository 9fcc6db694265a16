// report.html: one self-contained page of a run.
#include <fmt/format.h>

#include <algorithm>

#include <cupilot/parts/run_report.hpp>

#include "base/embedded.hpp"
#include "base/guard.hpp"
#include "base/markup.hpp"
#include "evolution/journal/run_files.hpp"
#include "evolution/report/page_events.hpp"
#include "evolution/report/thinned.hpp"

namespace cupilot {

std::span<const EmbeddedFile> page_files();

namespace {

constexpr std::size_t most_lines = 500;  // most generations

std::string page_text(std::string_view name) {
  return std::string(find_embedded(page_files(), name));
}

std::string page_head(const std::string& title) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escaped(title) + "</title>\n<style>\n" + page_text("style.css") +
         "</style>\n</head>\n<body>\n";
}

// A heading, a line of words and the place where charts.mjs draws the chart `id`.
std::string chart_place(std::string_view heading, std::string_view id, const std::string& words) {
  return fmt::format(
      "<h2>{0}</h2>\n<p class=\"quiet\">{2}</p>\n<div class=\"chart\" id=\"{1}\" role=\"img\" "
      "aria-label=\"chart: {0}\"></div>\n",
      heading, id, escaped(words));
}

// The charts' data and the program that draws them.
std::string charts_script(const PageData& data) {
  return "<script type=\"application/json\" id=\"cupilot-data\">" + page_json(data) +
         "</script>\n<!--\n" + page_text("NOTICE") + "-->\n<script>\n" + page_text("charts.js") +
         "</script>\n";
}

std::string row(const std::string& name, const std::string& value) {
  return "<tr><th>" + escaped(name) + "</th><td>" + escaped(value) + "</td></tr>\n";
}

// Lists what was shown, what was not, and what held the processes.
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

// To the place of questions.html where a candidate's questions begin; `cupilot report` writes it.
std::string question_link(std::uint64_t candidate) {
  return fmt::format("<a href=\"questions.html#candidate-{}\">questions and answers</a>",
                     candidate);
}

std::string champion_part(const EvolveReport& report, bool models) {
  if (!report.best) return "<h2>Best kernel</h2>\n<p>No kernel was confirmed.</p>\n";
  const Candidate& c = report.best->candidate;
  const auto& accepted = std::get<Accepted>(c.outcome);
  std::string html = "<h2>Best kernel</h2>\n<table>\n";
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
  if (models && c.source.template_name.empty())
    html += "<tr><th>written by a model</th><td>" + question_link(c.id) + "</td></tr>\n";
  html += row(
      "verified",
      fmt::format("{} cases, {} elements, worst error {:.3g} of its bound, class {}, {} processes",
                  accepted.verification.cases.size(), accepted.verification.compared,
                  accepted.verification.worst_ratio, name_of(accepted.verification.proved),
                  accepted.verification.processes));
  html += evidence_rows(*report.best, accepted);
  html += "</table>\n<h2>Verdict</h2>\n<table>\n";
  const Verdict& v = accepted.verdict;
  html += row("zone", std::string(name_of(v.zone)));
  html +=
      row("floor", fmt::format("{:.4g} us, {:.1f} % of the time", v.floor_us, 100 * v.floor_share));
  html += row("binding", std::string(name_of(v.binding)));
  html += row("utilisation", fmt::format("{:.1f} % of the zone's pipe", 100 * v.utilisation));
  html += row("evidence", std::string(name_of(v.source)));
  html += "</table><ul>\n";
  for (const std::string& sentence : v.digest) html += "<li>" + escaped(sentence) + "</li>\n";
  return html + "</ul>\n";
}

// Each candidate that a model was asked for, with the way to what it was asked.
std::string written_table(const std::vector<PageWritten>& written) {
  std::string html =
      "<h2>Candidates of models</h2>\n<details><summary>with their questions</summary>\n<table>\n"
      "<tr><th>candidate</th><th>outcome</th><th>strategy</th><th></th></tr>\n";
  for (const PageWritten& one : written)
    html += fmt::format("<tr><td>#{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", one.candidate,
                        escaped(one.outcome), escaped(one.strategy), question_link(one.candidate));
  return html + "</table>\n</details>\n";
}

std::string callers_table(const ReportTable& table) {
  std::string html = "<h2>" + escaped(table.title) + "</h2>\n<div class=\"wide\">\n<table>\n";
  for (const auto& cells : table.rows) {
    const char* tag = &cells == &table.rows.front() ? "th" : "td";
    html += "<tr>";
    for (const std::string& cell : cells) html += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
    html += "</tr>\n";
  }
  return html + "</table>\n</div>\n";
}

std::string generations_table(const RunSummary& summary) {
  std::string html = "<h2>Generations</h2>\n<table>\n";
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
  std::string html = "<table><tr><th>phase</th><th>seconds</th></tr>\n";
  for (const auto& [path, seconds] : phases)
    html +=
        fmt::format("<tr><td>{}</td><td class=\"n\">{:.2f}</td></tr>\n", escaped(path), seconds);
  return html + "</table>\n";
}

std::string rejections_table(const EvolveReport& report) {
  if (report.rejected.empty()) return "";
  std::string html = "<table><tr><th>code</th><th>count</th></tr>\n";
  for (const auto& [code, count] : report.rejected)
    html += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td></tr>\n", escaped(code), count);
  return html + "</table>\n";
}

// The first refusal of each code.
std::string refusals_table(const EvolveReport& report) {
  if (report.refusals.empty()) return "";
  std::string html = "<h2>First refusal of each code</h2>\n<table>\n";
  html += "<tr><th>code</th><th>first met by</th><th>message</th><th>line</th><th>next</th></tr>\n";
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

// A number with a line of words below it.
std::string figure(const std::string& value, const std::string& words, bool best = false) {
  return fmt::format("<div{}><b>{}</b><span>{}</span></div>\n", best ? " class=\"best\"" : "",
                     escaped(value), escaped(words));
}

std::string key_figures(const EvolveReport& report, std::size_t verified) {
  std::string html = "<div class=\"figures\">\n";
  if (report.best) {
    const auto& accepted = std::get<Accepted>(report.best->candidate.outcome);
    const Measurement& time = accepted.measurement;
    html += figure(fmt::format("{:.4g} us", time.time_us),
                   fmt::format("best time, {}, candidate #{}", name_of(time.provenance),
                               report.best->candidate.id),
                   true);
    for (const Baseline& baseline : report.best->baselines) {
      html += figure(fmt::format("{:.3g}x", baseline.time_us / time.time_us),
                     fmt::format("{} takes {:.4g} us, {}", baseline.name, baseline.time_us,
                                 name_of(baseline.provenance)));
    }
    if (accepted.verdict.floor_us > 0) {
      html +=
          figure(fmt::format("{:.3g} %", 100 * accepted.verdict.floor_share),
                 fmt::format("of the roofline; its floor is {:.4g} us", accepted.verdict.floor_us));
    }
  }
  html += figure(fmt::format("{} of {}", verified, report.evaluations),
                 "kernels verified of those evaluated");
  return html + "</div>\n";
}

std::string title_part(const RunWalk& walk) {
  const EvolveReport& report = walk.summary.report;
  const HeaderRecord& header = walk.state.header;
  const std::string seconds = report.wall_seconds > 0
                                  ? fmt::format("{:.1f} s{}, ", report.wall_seconds,
                                                report.resumed ? " since it was resumed" : "")
                                  : "";
  return fmt::format(
      "<h1>{} on {}</h1>\n<p class=\"quiet\">seed {}, {} evaluations of {} proposals, {}{}; "
      "cupilot "
      "{}, {}</p>\n",
      escaped(walk.summary.task.name), escaped(report.device), report.seed, report.evaluations,
      report.proposed, seconds, report.stopped.empty() ? "not finished" : escaped(report.stopped),
      escaped(header.program), escaped(header.started));
}

std::string search_charts(const PageData& data, std::size_t verified) {
  std::string shown = "Each verified kernel by its time, and the fastest so far.";
  if (data.kernels.size() < verified) {
    shown += fmt::format(
        " {} of {} verified kernels are shown, each that was the fastest so far among them.",
        data.kernels.size(), verified);
  }
  return chart_place("Progress", "progress", shown) +
         chart_place(
             "Roofline", "roofline",
             data.roofline ? data.roofline->title + "; ceilings: " + data.roofline->source : "") +
         chart_place("Lineage", "lineage",
                     "Parents to the left, their children to the right: the champion, its "
                     "ancestors, and their fastest other children.");
}

std::string page_of(const RunWalk& walk, const PageData& data, const PageGatherer& gatherer,
                    const std::vector<ReportTable>& tables) {
  const EvolveReport& report = walk.summary.report;
  const std::size_t verified = gatherer.verified();
  const bool models = walk.summary.models;
  std::string html = page_head("cupilot: " + walk.summary.task.name + " on " + report.device);
  html += title_part(walk) + key_figures(report, verified);
  html +=
      "<noscript><p>The charts need JavaScript. Their numbers stand in the JSON block at the end "
      "of this page's source, those of the best kernel also below.</p></noscript>\n";
  html += search_charts(data, verified) + champion_part(report, models);
  for (const ReportTable& table : tables) html += callers_table(table);
  if (models) html += written_table(gatherer.written());
  html += generations_table(walk.summary);
  html += "<div class=\"sides\">\n<section>\n" +
          chart_place("Rejected candidates", "rejections", "Candidates by rejection code.") +
          rejections_table(report) + "</section>\n<section>\n" +
          chart_place("Where the time went", "phases",
                      "search/… is added up over the threads that work on candidates side by "
                      "side, all else is wall time.") +
          "<details><summary>as a table</summary>\n" + phases_table(report) +
          "</details>\n</section>\n</div>\n" + refusals_table(report);
  for (const std::string& notice : report.notices)
    html += "<p class=\"quiet\">" + escaped(notice) + "</p>\n";
  return html + charts_script(data) + "</body>\n</html>\n";
}

Result<RunReport> report_from_one_walk(Host& host, const std::string& run_dir,
                                       const std::vector<ReportTable>& tables) {
  PageGatherer gatherer;
  auto walk = walk_run(host, run_dir, [&](const SearchEvent& event, const FramedRecord& record) {
    gatherer.take(event, record);
  });
  if (!walk) return walk.error();
  const PageData data = gatherer.data(host, run_dir, *walk);
  const std::string path = run_dir + "/report.html";
  const auto written =
      host.write_file_atomically(path, page_of(*walk, data, gatherer, tables), false);
  auto chart = gatherer.roofline(*walk);
  return RunReport{std::move(walk->summary), std::move(chart),
                   written ? Result<std::string>(path) : written.error()};
}

}  // namespace

Result<std::string> write_report(Host& host, const std::string& run_dir) {
  auto all = report_from_one_walk(host, run_dir, {});
  if (!all) return all.error();
  return std::move(all->page);
}

Result<std::string> write_report(const std::string& run_dir) {
  return guarded([&] { return write_report(real_host(), run_dir); });
}

Result<RunReport> report_run(const std::string& run_dir, const std::vector<ReportTable>& tables) {
  return guarded([&] { return report_from_one_walk(real_host(), run_dir, tables); });
}

}  // namespace cupilot
