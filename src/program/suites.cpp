// Suites of tasks that are compiled in: bench/suites/NAME/levelN.json (docs/formats/suite.md).
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>

#include <cupilot/parts/host.hpp>
#include <cupilot/parts/suite.hpp>

#include "base/embedded.hpp"
#include "task/nearest.hpp"
#include "task/task_json.hpp"

namespace cupilot {

std::span<const EmbeddedFile> suite_files();

namespace {

struct TaskRow {
  std::string id, title, structure, note, apart;
  const Json* task = nullptr;
  std::optional<Precision> also{};  // class in which the task is searched too
};
struct SuiteFile {
  Json json;
  std::string origin, name, source;
  std::vector<TaskRow> rows;
  std::vector<SuiteGap> skipped;
};

std::optional<Precision> read_also(JsonObject& object) {
  const std::string word = object.text("also", false);
  if (word.empty()) return {};
  const auto precision = precision_from(word);
  if (!precision)
    object.fail("also", fmt::format("'{}' is no known class", word.substr(0, 60)),
                "write a class of docs/formats/task.md, such as fp32-emulated");
  return precision;
}

TaskRow read_suite_row(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  TaskRow row;
  row.id = object.text("id", true);
  row.title = object.text("title", true);
  row.structure = object.text("structure", false);
  row.note = object.text("note", false);
  row.apart = object.text("apart", false);
  row.also = read_also(object);
  row.task = object.find_object("task", true);
  object.done();
  return row;
}

SuiteGap read_suite_gap(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  SuiteGap gap;
  gap.word = object.text("id", true);
  gap.title = object.text("title", true);
  gap.reason = object.text("reason", true);
  object.done();
  return gap;
}

std::string read_suite_source(JsonObject& suite) {
  const Json* json = suite.find_object("source", true);
  if (json == nullptr) return "";
  JsonObject object(suite.faults(), *json, "source");
  const std::string repository = object.text("repository", true);
  const std::string commit = object.text("commit", true), folder = object.text("folder", true);
  object.done();
  return fmt::format("{} at {}, {}", repository, commit, folder);
}

Result<SuiteFile> read_suite_text(std::string_view text, std::string origin) {
  SuiteFile suite;
  suite.origin = std::move(origin);
  auto json = read_json_object(text, suite.origin);
  if (!json) return json.error();
  suite.json = std::move(*json);
  JsonFaults faults(suite.origin, "docs/formats/suite.md");
  JsonObject object(faults, suite.json, "");
  if (object.integer("cupilot_suite", true) != 1)
    object.fail("cupilot_suite", "is of another version", "write 1: this program reads no other");
  suite.name = fmt::format("{}:{}", object.text("suite", true), object.integer("level", true));
  suite.source = read_suite_source(object);
  object.text("says", false);
  for (const Json* item : object.items("tasks", true))
    suite.rows.push_back(
        read_suite_row(faults, *item, fmt::format("tasks[{}]", suite.rows.size())));
  for (const Json* item : object.items("skipped", false)) {
    suite.skipped.push_back(
        read_suite_gap(faults, *item, fmt::format("skipped[{}]", suite.skipped.size())));
    suite.skipped.back().word = suite.name + "/" + suite.skipped.back().word;
  }
  object.done();
  if (faults.first()) return *faults.first();
  return suite;
}

Result<SuiteFile> read_suite_file(const EmbeddedFile& file) {
  return read_suite_text(file.text, std::string(file.name));
}

Error unknown_suite(std::string_view name) {
  const std::vector<std::string> names = suite_names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = close_to(name, known);
  return {ErrorCode::usage, fmt::format("unknown suite '{}'", name.substr(0, 60)),
          near.empty() ? "suites: " + listed(known) : fmt::format("did you mean {}?", near)};
}

Result<SuiteFile> find_suite(std::string_view name) {
  if (name.find('/') != std::string_view::npos || name.ends_with(".json")) {
    auto text = real_host().read_file(std::string(name));
    if (!text) return text.error();
    return read_suite_text(*text, std::string(name));
  }
  for (const EmbeddedFile& file : suite_files()) {
    auto suite = read_suite_file(file);
    if (!suite || suite->name == name) return suite;
  }
  return unknown_suite(name);
}

Error unknown_row(const SuiteFile& suite, const std::string& id) {
  const std::string list = fmt::format("`cupilot tasks --suite {}` lists them", suite.name);
  for (const SuiteGap& gap : suite.skipped) {
    if (gap.word == suite.name + "/" + id)
      return {ErrorCode::usage, fmt::format("{} has no row: {}", gap.word, gap.reason), list};
  }
  if (!id.empty())
    return {ErrorCode::usage, fmt::format("{} has no task '{}'", suite.name, id.substr(0, 60)),
            list};
  return {ErrorCode::usage, fmt::format("{} is a suite of {} tasks", suite.name, suite.rows.size()),
          fmt::format("name one, such as {}/{}; {}", suite.name, suite.rows.front().id, list)};
}

// The row's task with its sizes, in `precision` where one is given; neither completed nor
// validated.
Result<Task> read_suite_task(const SuiteFile& suite, const TaskRow& row,
                             std::optional<Precision> precision = {}) {
  Json json = {{"cupilot_task", 2}};
  json.update(*row.task);
  if (precision) json["precision"] = name_of(*precision);
  const std::string origin = fmt::format("{}: {}", suite.origin, row.id);
  std::string reference;
  auto task = read_task(json, origin, reference);
  if (task && !reference.empty()) {
    return Error{ErrorCode::usage, origin + ": `reference` names a file",
                 "hold its text in `reference_text`"};
  }
  return task;
}

Result<void> finish_task(Task& task) {
  if (auto completed = complete(task); !completed) return completed;
  return validate(task);
}

std::vector<std::string_view> axis_names(const Task& task) {
  std::vector<std::string_view> names;
  for (const Axis& axis : task.axes) names.push_back(axis.name);
  return names;
}

// Sets one "AXIS=SIZE" in all time shapes.
Result<void> resize(Task& task, const std::string& word, const std::string& typed,
                    std::set<std::string>& given) {
  const auto names = axis_names(task);
  const std::size_t sign = typed.find('=');
  const std::string axis = typed.substr(0, sign);
  const std::string shown = axis.substr(0, 60);
  if (sign == std::string::npos)
    return Error{ErrorCode::usage,
                 fmt::format("{}: '{}' is not of the form axis=size", word, shown),
                 fmt::format("its axes are {}", listed(names))};
  if (std::find(names.begin(), names.end(), axis) == names.end())
    return Error{ErrorCode::usage,
                 fmt::format("{} has no axis '{}'; nearest: {}", word, shown, nearest(axis, names)),
                 fmt::format("its axes are {}", listed(names))};
  if (!given.insert(axis).second)
    return Error{ErrorCode::usage, fmt::format("{}: {} is given twice", word, shown),
                 "give each axis once"};
  std::int64_t size = 0;
  const char *begin = typed.data() + sign + 1, *end = typed.data() + typed.size();
  const auto [stop, code] = std::from_chars(begin, end, size);
  if (code != std::errc() || stop != end || size < 1)
    return Error{ErrorCode::usage,
                 fmt::format("{}: {}={} is no size", word, shown, typed.substr(sign + 1, 60)),
                 "sizes are whole numbers from 1"};
  for (Workload& workload : task.time_shapes) workload.sizes[axis] = size;
  return {};
}

}  // namespace

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : suite_files()) {
    if (auto suite = read_suite_file(file)) names.push_back(suite->name);
  }
  return names;
}

bool is_suite_word(std::string_view word) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t colon = word.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  const bool named = std::all_of(word.begin(), word.begin() + static_cast<long>(colon), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
  const std::string_view rest = word.substr(colon + 1);
  const std::string_view level = rest.substr(0, rest.find('/'));
  return named && !level.empty() && std::all_of(level.begin(), level.end(), is_digit);
}

Result<Suite> load_suite(std::string_view name) {
  auto file = find_suite(name);
  if (!file) return file.error();
  Suite suite{.name = file->name, .source = file->source, .skipped = file->skipped};
  const auto add = [&](std::vector<SuiteTask>& tasks, const TaskRow& row, const std::string& word,
                       std::optional<Precision> precision) -> Result<void> {
    auto task = read_suite_task(*file, row, precision);
    if (!task) return task.error();
    if (auto done = finish_task(*task); !done) return std::move(done.error()).while_doing(word);
    tasks.push_back({word, row.title, row.structure, row.note, row.apart, std::move(*task)});
    return {};
  };
  for (const TaskRow& row : file->rows) {
    const std::string word = file->name + "/" + row.id;
    if (auto added = add(suite.tasks, row, word, {}); !added) return added.error();
    if (!row.also) continue;
    const std::string too = fmt::format("{}@{}", word, name_of(*row.also));
    if (auto added = add(suite.beside, row, too, row.also); !added) return added.error();
  }
  return suite;
}

Result<Task> task_from_suite(const std::vector<std::string>& words) {
  const std::string word = words.empty() ? "" : words[0];
  const std::size_t slash = word.find('/');
  const auto file = find_suite(std::string_view(word).substr(0, slash));
  if (!file) return file.error();
  const std::string typed = slash == std::string::npos ? "" : word.substr(slash + 1);
  const std::size_t at = typed.find('@');
  const std::string id = typed.substr(0, at);
  const auto row = std::find_if(file->rows.begin(), file->rows.end(),
                                [&](const TaskRow& one) { return one.id == id; });
  if (row == file->rows.end()) return unknown_row(*file, id);
  std::optional<Precision> precision;
  if (at != std::string::npos) {
    precision = precision_from(typed.substr(at + 1));
    if (!precision)
      return Error{ErrorCode::usage,
                   fmt::format("{}: '{}' is no known class", word.substr(0, slash + 1 + at),
                               typed.substr(at + 1, 60)),
                   "write a class of docs/formats/task.md, such as fp32-emulated"};
  }
  auto task = read_suite_task(*file, *row, precision);
  if (!task) return task;
  std::set<std::string> given;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (auto set = resize(*task, word, words[i], given); !set) return set.error();
  }
  if (auto done = finish_task(*task); !done) return std::move(done.error()).while_doing(word);
  return task;
}

}  // namespace cupilot
