#include "screens/say.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include <cupilot/parts/host.hpp>

#include "screens/json_out.hpp"
#include "screens/median.hpp"
#include "signals.hpp"

namespace cupilot::cli {
namespace {

int lost = 0;  // errno of the first line that standard output did not take

std::string rejected_text(const std::map<std::string, std::int64_t>& rejected) {
  std::string text;
  for (const auto& [code, count] : rejected)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", code, count);
  return text;
}

std::vector<std::string> baseline_row(const Baseline& baseline, double best_us) {
  const bool paired = !baseline.ratio.empty();
  const double ratio = paired ? median(baseline.ratio) : baseline.time_us / best_us;
  const bool once = baseline.provenance == Provenance::measured && baseline.ratio.size() == 1;
  return {baseline.name, time_text(baseline.time_us), std::string(name_of(baseline.provenance)),
          best_us > 0 ? fmt::format("{:.2f}x{}", ratio,
                                    once     ? " (one round)"
                                    : paired ? ""
                                             : " (not interleaved)")
                      : ""};
}

// Describes the uncertainty of a time: the spread of its samples, or the interval that the model
// gives.
std::string spread_text(const Measurement& time) {
  const bool of_a_model =
      time.provenance != Provenance::measured && time.interval_low_us < time.interval_high_us;
  if (!of_a_model) return "spread " + time_text(time.spread_us);
  return fmt::format("by the model {} to {}", time_text(time.interval_low_us),
                     time_text(time.interval_high_us));
}

// A run that was interrupted has no end, and nobody knows how long it took.
std::string end_text(const EvolveReport& report) {
  const char* since = report.resumed ? " since it was resumed" : "";
  const std::string seconds =
      report.wall_seconds > 0 ? fmt::format(" in {:.1f} s{}", report.wall_seconds, since) : "";
  return seconds + (report.stopped.empty() ? "; not finished" : "; stopped: " + report.stopped);
}

std::string gain_text(const Best& best) {
  const double noise = 100 * best.gain_noise;
  if (best.gain > 0)
    return fmt::format("gain over the strongest baseline: {:.1f} %, noise {:.1f} %",
                       100 * best.gain, noise);
  return fmt::format(
      "no gain over the strongest baseline: the difference is not above twice its noise of {:.1f} "
      "%",
      noise);
}

}  // namespace

int fail(const Error& error, bool json) {
  if (json) say(error_json(error));
  std::fprintf(stderr, "cupilot: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  next: %s\n", error.hint.c_str());
  return static_cast<int>(error.code);
}

bool show(std::FILE* stream, const std::string& line, int milliseconds) {
  return send(stream, line + "\n", milliseconds);
}

bool send(std::FILE* stream, const std::string& text, int milliseconds) {
  for (std::size_t begin = 0; begin < text.size();) {
    // A pipe that is ready takes so many bytes at once.
    const std::size_t count = std::min<std::size_t>(PIPE_BUF, text.size() - begin);
    pollfd entry{fileno(stream), POLLOUT, 0};
    if (poll(&entry, 1, milliseconds) != 1 || entry.revents != POLLOUT) return false;
    const ssize_t written = write(entry.fd, text.data() + begin, count);
    if (written <= 0) return false;
    begin += static_cast<std::size_t>(written);
  }
  return true;
}

void say(const std::string& line) {
  if (signal_exit_code() != 0) {
    // A stopped program ends, even where its reader has stopped as well.
    constexpr int patience = 1000;
    static bool read = true;
    read = read && show(stdout, line, patience);
    return;
  }
  const bool whole = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
                     std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  // A reader that closed the pipe has read enough.
  if (!whole && errno != EPIPE && lost == 0) lost = errno;
}

int end_of_output(int code) {
  if (lost == 0) return code;
  std::fprintf(stderr,
               "cupilot: standard output: %s\n  next: make room there; what was asked for is not "
               "all written\n",
               std::strerror(lost));
  return code == 0 ? static_cast<int>(ErrorCode::failure) : code;
}

std::string time_text(double us) {
  if (us <= 0) return "-";
  if (us < 1000) return fmt::format("{:.2f} us", us);
  return us < 1e6 ? fmt::format("{:.3f} ms", us / 1e3) : fmt::format("{:.3f} s", us / 1e6);
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string generation_line(const Progress& p, Provenance provenance, bool runs_kernels) {
  std::string best = "no kernel yet";
  if (p.best_us > 0) {
    best = fmt::format("best {:>10} {}", time_text(p.best_us), name_of(provenance));
    if (p.plain_us > 0) best += fmt::format("  {:>6.2f}x plain", p.plain_us / p.best_us);
    const double share = p.floor_us > 0 ? 100 * p.floor_us / p.best_us : 0;
    if (runs_kernels) best += fmt::format("  {:>4.0f}% of roofline", share);
  }
  return fmt::format("epoch {} gen {:>2}  {:>4} evaluated {:>4} verified  {}  {:>5.1f} s{}",
                     p.epoch, p.generation, p.evaluations, p.accepted, best, p.wall_seconds,
                     p.rejected.empty() ? "" : "  rejected: " + rejected_text(p.rejected));
}

std::string refusal_text(const Refusal& refusal) {
  const Rejected& why = refusal.why;
  const std::string who = refusal.candidate == 0
                              ? refusal.setting
                              : fmt::format("#{} ({})", refusal.candidate, refusal.setting);
  std::string message = why.message;
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::string text = fmt::format("{} first met by {}: {}{}", why.code, who, message,
                                 why.where.empty() ? "" : " [" + why.where + "]");
  if (refusal.line > 0) {
    text += fmt::format("\n  {}:{}: {}", refusal.file.empty() ? "kernel.cu" : refusal.file,
                        refusal.line, refusal.source_line);
  }
  return text + "\n  next: " + refusal.next;
}

std::vector<std::string> activity_lines(const Activity& activity) {
  std::string text = fmt::format("... {:.0f} s: {}", activity.wall_seconds, activity.doing);
  if (activity.to_come_seconds >= 1)
    text += fmt::format("; some {:.0f} s follow the search", activity.to_come_seconds);
  std::vector<std::string> lines = {std::move(text)};
  for (const OpenQuestions& open : activity.open)
    lines.push_back(fmt::format("{}: {} question{} open, {:.0f} s", open.agent, open.count,
                                open.count == 1 ? "" : "s", open.seconds));
  return lines;
}

Ticker tell_waits(std::string doing) {
  const std::chrono::milliseconds every(static_cast<int>(1000 * activity_seconds));
  return {every, [doing = std::move(doing)](double seconds) {
            show(stderr, activity_lines({doing, seconds, seconds, 0, {}}).front() + "\n");
          }};
}

std::string stopped_text(const std::string& run_dir) {
  return fmt::format(
      "cupilot: stopped; what was in flight is dropped\n  next: `cupilot resume {}` goes on as if "
      "nothing had been\n",
      run_dir);
}

namespace {

// "baselines 1.2 s, search 8.9 s, confirm 3.0 s", in the order in which they happened.
std::string parts_text(const EvolveReport& report) {
  std::string text;
  for (const char* part :
       {"beginning", "plain setting", "baselines", "search", "again", "confirm"}) {
    const auto found = report.part_seconds.find(part);
    if (found == report.part_seconds.end() || found->second < 0.05) continue;
    text += fmt::format("{}{} {:.1f} s", text.empty() ? "" : ", ", part, found->second);
  }
  double contestants = 0;
  for (const auto& [path, seconds] : report.phase_seconds)
    contestants += path.ends_with("/contestants") ? seconds : 0;
  if (const auto begun = report.phase_seconds.find("contestants");
      begun != report.phase_seconds.end()) {
    text += fmt::format("; of it contestants {:.1f} s, and {:.1f} s before it until they had begun",
                        contestants, begun->second);
  }
  return text;
}

// Names the structure that a task declares and its kernels may rely on.
std::string structure_text(const Task& task) {
  std::string named;
  for (const Tensor& tensor : task.tensors) {
    if (tensor.fill.structure == Structure::dense) continue;
    named += fmt::format("{}{} {}", named.empty() ? "" : ", ", tensor.name,
                         name_of(tensor.fill.structure));
  }
  return named.empty() ? "" : "relies on what the task declares: " + named;
}

}  // namespace

void print_phases(const EvolveReport& report) {
  constexpr double worth_a_line = 0.05;  // seconds
  std::vector<std::pair<double, std::string>> phases;
  for (const auto& [path, seconds] : report.phase_seconds) {
    if (seconds >= worth_a_line) phases.emplace_back(seconds, path);
  }
  std::sort(phases.rbegin(), phases.rend());
  if (!phases.empty()) say("where the time went (search: added up over threads):");
  for (const auto& [seconds, path] : phases) say(fmt::format("  {:>8.2f} s  {}", seconds, path));
  if (report.counting_seconds > 0 && report.wall_seconds > 0) {
    const double share = 100 * report.counting_seconds / report.wall_seconds;
    say(fmt::format("hardware counters took {:.2f} s{}", report.counting_seconds,
                    report.resumed ? "" : fmt::format(", {:.1f} % of the time", share)));
  }
  if (report.controller_cpu_seconds > 0)
    say(
        fmt::format("the controller's own work took {:.2f} ms of CPU a candidate; interpreting as "
                    "a device took {:.2f} ms",
                    controller_cpu_ms(report), interpreting_cpu_ms(report)));
}

// Returns what a report without a best kernel says.
std::string unconfirmed_text(const EvolveReport& report) {
  const bool ended = !report.stopped.empty() && report.stopped != "interrupted";
  if (ended) return "no valid candidate";
  const std::string next = "go on with `cupilot resume " + report.run_dir + "`";
  // A finished run that was resumed keeps its champion until another one is confirmed.
  if (real_host().exists(report.run_dir + "/best/evidence.json"))
    return report.run_dir +
           "/best/ holds the kernel that was confirmed before; what was searched " +
           "since is not confirmed yet: " + next;
  return "no kernel is confirmed yet; " + next;
}

void print_report(const EvolveReport& report, const Task& task) {
  say(fmt::format("\n{} on {}: {} evaluations of {} proposed{}", task.name, report.device,
                  report.evaluations, report.proposed, end_text(report)));
  if (const std::string parts = parts_text(report); !parts.empty()) say("time: " + parts);
  if (!report.rejected.empty()) say("rejected: " + rejected_text(report.rejected));
  if (!report.best) return say(unconfirmed_text(report));
  const Candidate& best = report.best->candidate;
  const auto* accepted = std::get_if<Accepted>(&best.outcome);
  if (accepted == nullptr) return;
  const Measurement& measured = accepted->measurement;
  std::vector<std::vector<std::string>> rows = {{"kernel", "time", "how", "champion is"}};
  const bool runs_kernels =
      !report.device.starts_with("fake:");  // without them there is no roofline either
  rows.push_back({fmt::format("best (#{})", best.id), time_text(measured.time_us),
                  std::string(name_of(measured.provenance)),
                  runs_kernels ? fmt::format("at {:.0f}% of the roofline ({})",
                                             100 * accepted->verdict.floor_share,
                                             time_text(accepted->verdict.floor_us))
                               : ""});
  const auto& baselines =
      report.best->baselines.empty() ? report.baselines : report.best->baselines;
  for (const Baseline& baseline : baselines)
    rows.push_back(baseline_row(baseline, measured.time_us));
  say(table(rows));
  say(fmt::format(
      "class {}, {} L2, {}, worst error {:.3g} of its bound over {} elements, {} process(es)",
      name_of(accepted->verification.proved), measured.cache, spread_text(measured),
      accepted->verification.worst_ratio, accepted->verification.compared,
      accepted->verification.processes));
  if (report.best->gain_noise > 0) say(gain_text(*report.best));
  say("strategy: " + describe(best.strategy));
  if (const std::string declared = structure_text(task); !declared.empty()) say(declared);
  for (const std::string& sentence : accepted->verdict.digest) {
    if (runs_kernels) say("  " + sentence);
  }
  if (!report.run_dir.empty()) say("kernel: " + report.run_dir + "/best/");
}

}  // namespace cupilot::cli
