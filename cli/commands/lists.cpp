#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cupilot/backend.hpp>
#include <cupilot/family.hpp>
#include <cupilot/parts/operators.hpp>
#include <cupilot/parts/suite.hpp>
#include <cupilot/parts/technique.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "screens/json_out.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {

namespace {

// One word's line: its name, then its default, options and meaning.
std::string line_of(const FamilyWord& word) {
  std::string text = word.about;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (!word.options.empty()) {
    std::string options;
    for (const std::string& option : word.options) options += (options.empty() ? "" : " ") + option;
    add(options);
  } else if (word.kind == FamilyWord::Kind::size) {
    add("a whole number");
  } else {
    add(word.kind == FamilyWord::Kind::flag ? "0 or 1" : "a number");
  }
  if (!word.default_value.empty()) add("default: " + word.default_value);
  return fmt::format("       {:<11} {}", word.name, text);
}

// "rows=4096 cols=393216".
std::string sizes_text(const Task& task) {
  std::string text;
  for (const Axis& axis : task.axes) {
    const auto size = task.time_shapes[0].sizes.find(axis.name);
    if (size == task.time_shapes[0].sizes.end()) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis.name, size->second);
  }
  return text;
}

int list_suite(const std::string& name, bool json) {
  const Result<Suite> suite = load_suite(name);
  if (!suite) return fail(suite.error(), json);
  if (json) {
    say(suite_json(*suite));
    return 0;
  }
  say(fmt::format("{}: {} tasks of {}", suite->name, suite->tasks.size(), suite->source));
  std::vector<std::vector<std::string>> rows = {{"task", "class", "sizes", "title"}};
  for (const SuiteTask& one : suite->tasks) {
    rows.push_back(
        {one.word, std::string(name_of(one.task.precision)), sizes_text(one.task), one.title});
  }
  say(table(rows));
  if (!suite->beside.empty())
    say(fmt::format("{} of them in another class too, such as {}", suite->beside.size(),
                    suite->beside[0].word));
  for (const SuiteGap& gap : suite->skipped)
    say(fmt::format("no row: {} ({}): {}", gap.word, gap.title, gap.reason));
  say(fmt::format("such as: cupilot evolve {} {}", suite->tasks[0].word,
                  sizes_text(suite->tasks[0].task)));
  return 0;
}

}  // namespace

int tasks_command(const TasksFlags& all) {
  const CommonFlags& flags = all.common;
  if (!all.suite.empty()) return list_suite(all.suite, flags.json);
  const Result<Families> families = load_families(flags.families);
  if (!families) return fail(families.error(), flags.json);
  if (flags.json) {
    say(tasks_json(*families));
    return 0;
  }
  for (const Family& family : *families) {
    if (family.words.empty() && family.computes.empty()) continue;
    say(fmt::format("{:<6} {}", family.name, family.computes));
    for (const FamilyWord& word : family.words) say(line_of(word));
    if (!family.example.empty()) say("       such as: cupilot evolve " + family.example);
  }
  for (const std::string& name : suite_names())
    say(fmt::format("{0}/ID axis=size …   a task of a suite: `cupilot tasks --suite {0}`", name));
  say("FILE   a task file of your own with its reference (docs/formats/task.md)");
  return 0;
}

int techniques_command(const CommonFlags& flags) {
  const Result<Families> families = load_families(flags.families);
  if (!families) return fail(families.error(), flags.json);
  const std::vector<Technique> techniques = techniques_of(*families);
  if (flags.json) {
    say(techniques_json(techniques));
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"technique", "parameters", "relieves", "what it does"}};
  for (const Technique& technique : techniques) {
    std::string parameters;
    for (const TechniqueParameter& p : technique.parameters)
      parameters += (parameters.empty() ? "" : " ") + p.name;
    std::string targets;
    for (const Resource resource : technique.targets)
      targets += (targets.empty() ? "" : " ") + std::string(name_of(resource));
    rows.push_back({technique.name, parameters, targets, technique.summary});
  }
  say(table(rows));
  return 0;
}

int operators_command(const CommonFlags& flags) {
  const std::vector<OperatorInfo> all = operators();
  if (flags.json) {
    say(operators_json(all));
    return 0;
  }
  const auto joined = [](const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, " "));
  };
  std::vector<std::vector<std::string>> rows = {
      {"operator", "inputs", "attributes (default)", "in PyTorch"}};
  for (const OperatorInfo& one : all) {
    std::string attributes;
    for (const auto& [name, fallback] : one.attributes)
      attributes += (attributes.empty() ? "" : " ") + name +
                    (fallback.empty() ? "" : fmt::format("={}", fallback));
    rows.push_back({one.name, joined(one.inputs), attributes, joined(one.aten)});
  }
  say(table(rows));
  return 0;
}

int doctor_command(const CommonFlags& flags) {
  const std::vector<Finding> findings = examine_machine(backend_options());
  if (flags.json) {
    say(findings_json(findings));
    return 0;
  }
  for (const Finding& finding : findings) {
    say(fmt::format("{:<8} {:<12} {}", finding.present ? "ok" : "missing", finding.name,
                    finding.detail));
    if (!finding.present && !finding.cost.empty())
      say("                      costs: " + finding.cost);
  }
  return 0;
}

}  // namespace cupilot::cli
