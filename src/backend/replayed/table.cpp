// A landscape: a line for the task and the device, then a line a strategy.
#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <fmt/core.h>
#include <cupilot/parts/rejection.hpp>

#include "backend/replayed/recording.hpp"
#include "base/measurement_json.hpp"

namespace cupilot {
namespace {

Measurement measured(std::vector<double> samples, Provenance provenance) {
  Measurement measurement;
  measurement.provenance = provenance;
  measurement.samples_us = samples;
  std::sort(samples.begin(), samples.end());
  measurement.time_us = samples.at(samples.size() / 2);  // throws where there is none
  measurement.interval_low_us = samples.front();
  measurement.interval_high_us = samples.back();
  return measurement;
}

void take_header(const parts::Json& json, Recording& recording) {
  recording.short_ids = true;
  recording.identity = json.at("identity").get<std::string>();
  recording.provenance = parts::enum_of<Provenance>(json.at("provenance").get<std::string>(), 3);
  recording.device = parts::device_of(json.at("device"));
  recording.task_json = json.value("task", parts::Json()).dump();
  recording.task_words = json.value("task_words", std::vector<std::string>());
  for (const auto& [name, us] : json.at("baselines").items())
    recording.baselines[name] = us.get<double>();
}

void take_row(const parts::Json& json, Recording& recording) {
  Answer answer;
  answer.kernel_hash = json.value("kernel", "");
  answer.accepted = json.contains("us");
  if (answer.accepted) {
    answer.measurement = measured(json.at("us").get<std::vector<double>>(), recording.provenance);
  } else {
    const std::string code = json.at("rejected").get<std::string>();
    const auto known = rejection_codes();
    if (std::none_of(known.begin(), known.end(),
                     [&](const RejectionCode& row) { return row.code == code; }))
      throw std::invalid_argument("unknown rejection " + code);
    answer.rejected = reject(code, json.value("why", ""));
  }
  recording.answers.emplace(json.at("id").get<std::string>(), std::move(answer));
}

// Tells each line of `text`. Returns how many bytes follow the last line's end: they were cut off
// while they were written.
template <class Each>
std::size_t each_whole_line(std::string_view text, Each each) {
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1)
    each(text.substr(begin, end - begin));
  return text.size() - begin;
}

}  // namespace

Result<Recording> recording_of_table(const std::string& text, const std::string& path) {
  Recording recording;
  try {
    const std::size_t cut = each_whole_line(text, [&](std::string_view line) {
      const parts::Json json = parts::Json::parse(line);
      if (recording.short_ids) return take_row(json, recording);
      if (json.at("cupilot_landscape_table") != 1)
        throw std::invalid_argument(fmt::format("its format is {}; this program reads 1",
                                                json.at("cupilot_landscape_table").dump()));
      take_header(json, recording);
    });
    if (!recording.short_ids) throw std::invalid_argument("its first line is not whole");
    if (cut > 0)
      recording.notice = fmt::format(
          "{} ended in a torn line of {} bytes, as a crash leaves it; the lines before it answer",
          path, cut);
  } catch (const std::exception& fault) {
    return Error{ErrorCode::usage, path + " cannot be read: " + fault.what(), "record it anew"};
  }
  return recording;
}

}  // namespace cupilot
