#include "screens/capture.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cupilot/parts/rejection.hpp>

namespace cupilot::cli {
namespace {

using Json = nlohmann::json;

std::string three(const std::array<std::int64_t, 3>& of) {
  return fmt::format("({},{},{})", of[0], of[1], of[2]);
}

constexpr std::size_t most_name = 60;  // characters of a kernel's name on a screen

struct Words {
  ReplayOutcome outcome;
  const char *json, *text;
};
constexpr std::array<Words, 6> words = {{
    {ReplayOutcome::same, "same", "SAFE, and the device's bytes"},
    {ReplayOutcome::rounded, "rounded", "SAFE, and the device's values but for roundings"},
    {ReplayOutcome::safe, "safe", "SAFE; not compared"},
    {ReplayOutcome::differs, "differs", "WRONG: no fault, and other values than the device's"},
    {ReplayOutcome::refused, "refused", "REFUSED"},
    {ReplayOutcome::not_done, "not_done", "NOT REPLAYED"},
}};
const Words& words_of(ReplayOutcome outcome) { return words[static_cast<std::size_t>(outcome)]; }

std::size_t count_of(const std::vector<JudgedLaunch>& all,
                     std::initializer_list<ReplayOutcome> of) {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& one) {
    return std::find(of.begin(), of.end(), one.replay.outcome) != of.end();
  }));
}

std::uint64_t kept_bytes(const CapturedLaunch& launch) {
  std::uint64_t sum = 0;
  for (const CapturedBuffer& one : launch.buffers) sum += one.before.empty() ? 0 : one.kept;
  return sum;
}

// "1 time", "2 times".
std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "4096 of 4096 elements of d, the worst at 0.12 of its bound".
std::string compared_text(const CapturedValues& values) {
  std::string text;
  for (const OutputReport& one : values.outputs)
    text += fmt::format("{}{} of {} elements of {}, the worst at {:.2g} of its bound",
                        text.empty() ? "" : "; ", one.compared, one.elements, one.tensor,
                        one.worst_ratio);
  return text;
}

std::string values_text(const JudgedValues& judged, bool replayed) {
  const CapturedValues& values = judged.values;
  std::string text = "\n  VALUES ";
  if (values.outcome == ValuesOutcome::right)
    text += fmt::format("RIGHT by task {}: {}", judged.task, compared_text(values));
  if (values.outcome == ValuesOutcome::wrong)
    text += fmt::format("WRONG by task {}: {}: {}", judged.task, values.fault.code,
                        values.fault.message);
  if (values.outcome == ValuesOutcome::not_done)
    text += fmt::format("NOT JUDGED by task {}: {}", judged.task, values.reason);
  if (!values.says.empty()) text += "\n  " + values.says;
  if (!values.next.empty()) text += "\n  next: " + values.next;
  text += "\n  NOT PROVED: other contents and sizes than this launch's";
  if (!replayed) text += "; bounds, races and memory that nobody wrote: not replayed";
  if (values.unchanged > 0)
    text += fmt::format("; that {} elements were written: they held these values before",
                        values.unchanged);
  return text;
}

Json values_json(const JudgedValues& judged) {
  const CapturedValues& values = judged.values;
  constexpr std::array<const char*, 3> outcomes = {"right", "wrong", "not_done"};
  Json outputs = Json::array();
  for (const OutputReport& one : values.outputs)
    outputs.push_back({{"tensor", one.tensor},
                       {"elements", one.elements},
                       {"compared", one.compared},
                       {"failed", one.failed},
                       {"worst_ratio", one.worst_ratio}});
  Json row = {{"outcome", outcomes[static_cast<std::size_t>(values.outcome)]},
              {"task", judged.task},
              {"outputs", outputs},
              {"unchanged", values.unchanged},
              {"says", values.says}};
  if (values.outcome == ValuesOutcome::wrong)
    row.update({{"code", values.fault.code}, {"message", values.fault.message}});
  if (!values.reason.empty()) row["reason"] = values.reason;
  return row;
}

// Names what was met and is not in the folder.
std::vector<std::string> unkept_lines(const CaptureUnkept& unkept, std::int64_t limit) {
  std::vector<std::string> lines;
  const auto add = [&](std::int64_t count, const std::string& text) {
    if (count > 0) lines.push_back(fmt::format("  not kept: {} {}", count, text));
  };
  add(unkept.beyond, fmt::format("after {} distinct ones were kept (--launches)", limit));
  add(unkept.other, "of other kernels than --entry names");
  add(unkept.recorded, "that were recorded into graphs");
  add(unkept.graphs, "graph launches, whose kernels ran together");
  add(unkept.unknown, "whose arguments the driver does not describe (before CUDA 12.4)");
  return lines;
}

}  // namespace

std::string launch_text(const CapturedLaunch& launch) {
  std::string name = launch.entry;
  if (name.size() > most_name) name = name.substr(0, most_name - 3) + "...";
  return fmt::format("launch {} {}<<<{}, {}>>>", launch.number, name, three(launch.grid),
                     three(launch.block));
}

std::string capture_text(const Capture& capture, const std::string& ended, std::int64_t limit) {
  std::set<std::string> kernels;
  for (const CapturedLaunch& one : capture.launches) kernels.insert(one.entry);
  std::string text =
      fmt::format("CAPTURED {} distinct launches of {} kernels in {}; the program ended with {}",
                  capture.launches.size(), kernels.size(), capture.folder, ended);
  for (const CapturedLaunch& one : capture.launches) {
    const std::size_t cut = static_cast<std::size_t>(
        std::count_if(one.buffers.begin(), one.buffers.end(),
                      [](const auto& buffer) { return buffer.kept < buffer.bytes; }));
    text += fmt::format(
        "\n  {}: {}, {}, {} bytes{}{}", launch_text(one), counted(one.times, "time"),
        counted(static_cast<std::int64_t>(one.buffers.size()), "buffer"), kept_bytes(one),
        cut > 0 ? fmt::format(", {} of them in part (--megabytes)", cut) : "",
        !one.ended        ? "; the program ended before it"
        : one.result != 0 ? "; the device reported " + one.result_name
                          : "");
  }
  for (const std::string& line : unkept_lines(capture.unkept, limit)) text += "\n" + line;
  return text + "\n  next: cupilot verify " + capture.folder;
}

std::string capture_json(const Capture& capture, const std::string& ended) {
  Json launches = Json::array();
  for (const CapturedLaunch& one : capture.launches)
    launches.push_back({{"number", one.number},
                        {"entry", one.entry},
                        {"grid", one.grid},
                        {"block", one.block},
                        {"times", one.times},
                        {"result", one.result}});
  const CaptureUnkept& unkept = capture.unkept;
  return Json{{"outcome", "captured"},
              {"folder", capture.folder},
              {"program", ended},
              {"launches", launches},
              {"unkept",
               {{"beyond", unkept.beyond},
                {"other", unkept.other},
                {"recorded", unkept.recorded},
                {"graphs", unkept.graphs},
                {"unknown", unkept.unknown}}}}
      .dump();
}

std::string replay_text(const JudgedLaunch& judged) {
  const LaunchReplay& ran = judged.replay;
  std::string text = launch_text(*judged.launch) + ": " + words_of(ran.outcome).text;
  if (ran.outcome == ReplayOutcome::refused)
    text += fmt::format(" {}: {}\n  at {}\n  next: {}", ran.fault.code, ran.fault.message,
                        ran.fault.where, next_step(ran.fault));
  if (ran.outcome == ReplayOutcome::rounded)
    text += fmt::format(" (at most {:.3g} {} in the last place of {})", ran.ulps,
                        ran.ulps == 1 ? "unit" : "units", ran.type);
  if (!ran.reason.empty())
    text += (ran.outcome == ReplayOutcome::safe ? ": " : "\n  ") + ran.reason;
  if (ran.blocks_run > 0 && ran.blocks_run < ran.blocks)
    text += fmt::format("\n  {} of {} blocks ran: the first, the last and drawn ones",
                        ran.blocks_run, ran.blocks);
  if (!ran.notice.empty()) text += "\n  " + ran.notice;
  if (!ran.next.empty()) text += "\n  next: " + ran.next;
  if (judged.judged) text += values_text(*judged.judged, ran.outcome != ReplayOutcome::not_done);
  return text;
}

std::string replays_text(const std::vector<JudgedLaunch>& all) {
  using O = ReplayOutcome;
  return fmt::format(
      "{} launches: {} safe, {} of them as on the device; {} wrong; {} refused; "
      "{} not replayed",
      all.size(), count_of(all, {O::same, O::rounded, O::safe}),
      count_of(all, {O::same, O::rounded}), count_of(all, {O::differs}),
      count_of(all, {O::refused}), count_of(all, {O::not_done}));
}

std::string replays_json(const std::vector<JudgedLaunch>& all) {
  Json launches = Json::array();
  for (const JudgedLaunch& one : all) {
    const LaunchReplay& ran = one.replay;
    Json row = {{"number", one.launch->number},          {"entry", one.launch->entry},
                {"outcome", words_of(ran.outcome).json}, {"blocks", ran.blocks},
                {"blocks_run", ran.blocks_run},          {"written", ran.written}};
    if (ran.outcome == ReplayOutcome::refused)
      row.update(
          {{"code", ran.fault.code}, {"message", ran.fault.message}, {"where", ran.fault.where}});
    if (ran.outcome == ReplayOutcome::rounded) row["ulps"] = ran.ulps;
    if (!ran.type.empty()) row["type"] = ran.type;
    if (!ran.reason.empty()) row["reason"] = ran.reason;
    if (!ran.notice.empty()) row["notice"] = ran.notice;
    if (one.judged) row["values"] = values_json(*one.judged);
    launches.push_back(std::move(row));
  }
  const int code = replays_code(all);
  const char* outcome = code == 0                                      ? "safe"
                        : code == static_cast<int>(ErrorCode::refused) ? "refused"
                                                                       : "not_done";
  return Json{{"outcome", outcome}, {"launches", launches}}.dump();
}

int replays_code(const std::vector<JudgedLaunch>& all) {
  const auto any_values = [&](ValuesOutcome of) {
    return std::any_of(all.begin(), all.end(), [&](const JudgedLaunch& one) {
      return one.judged && one.judged->values.outcome == of;
    });
  };
  if (count_of(all, {ReplayOutcome::refused, ReplayOutcome::differs}) > 0 ||
      any_values(ValuesOutcome::wrong))
    return static_cast<int>(ErrorCode::refused);
  const bool lacks =
      count_of(all, {ReplayOutcome::not_done}) > 0 || any_values(ValuesOutcome::not_done);
  return lacks ? static_cast<int>(ErrorCode::not_done) : 0;
}

}  // namespace cupilot::cli
