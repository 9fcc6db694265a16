#include "fuzz/parsers.hpp"

#include <algorithm>

#include <cupilot/evolution.hpp>
#include <cupilot/parts/expr.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/parts/models.hpp>
#include <cupilot/parts/program_strategy.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/wisdom.hpp>

#include "backend/replayed/landscape.hpp"
#include "base/record_file.hpp"
#include "endurance/short_run.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/run/evolution_text.hpp"
#include "fuzz/corpus.hpp"
#include "kernel/standalone.hpp"
#include "llm/url.hpp"
#include "support/gemm.hpp"

namespace cupilot::fuzz {
namespace {

std::string file(const std::string& path) {
  auto text = real_host().read_file(sources() + "/" + path);
  return text ? *text : "";
}

std::string some_journal() {
  testing::ShortRun run(8);
  static_cast<void>(run.go_on());
  return run.journal();
}

Texts journals() { return {some_journal()}; }

bool takes_journal(const std::string& text) {
  const ReadRecords read = read_records(text);
  return !read.records.empty() && fold(read);
}
// What is read of a journal is the bytes it was read from.
std::string wrong_journal(const std::string& text) {
  const ReadRecords read = read_records(text);
  std::string written;
  for (const FramedRecord& record : read.records)
    written += frame(record.type, record.sequence, record.payload);
  return written == text.substr(0, read.valid_bytes) ? "" : "other bytes than were read";
}

Texts payloads() {
  Texts all;
  for (const FramedRecord& record : read_records(some_journal()).records)
    all.push_back(record.payload);
  return all;
}

// A record whose checksum is right though its text is not: as any type.
bool takes_payload(const std::string& text) {
  const bool header = static_cast<bool>(header_from(text)),
             result = static_cast<bool>(result_from(text));
  const bool bare = static_cast<bool>(result_without_cases(text));
  const bool others[] = {static_cast<bool>(baselines_from(text)),
                         static_cast<bool>(proposal_from(text)),
                         static_cast<bool>(decision_from(text)),
                         static_cast<bool>(final_from(text)), static_cast<bool>(end_from(text))};
  comparable_record(4, text);
  return header || result || bare || others[0] || others[1] || others[2] || others[3] || others[4];
}
std::string wrong_payload(const std::string& text) {
  const auto write = [](const auto& record) { return to_json(record); };
  const std::string wrong[] = {wrong_when_written(text, header_from, write),
                               wrong_when_written(text, baselines_from, write),
                               wrong_when_written(text, proposal_from, write),
                               wrong_when_written(text, result_from, write),
                               wrong_when_written(text, decision_from, write),
                               wrong_when_written(text, final_from, write),
                               wrong_when_written(text, end_from, write)};
  for (const std::string& one : wrong) {
    if (!one.empty()) return one;
  }
  return "";
}

Texts tasks() {
  return {*task_to_json(*gemm_task({})), *task_to_json(landscape_task()),
          file("tests/data/softmax/task.json")};
}
bool takes_task(const std::string& text) {
  const auto task = task_from_json(text, "fuzz");
  return task && validate(*task);
}
std::string wrong_task(const std::string& text) {
  if (!takes_task(text)) return "";
  return wrong_when_written(
      text, [](const std::string& json) { return task_from_json(json, "fuzz"); },
      [](const Task& task) { return *task_to_json(task); });
}

Texts tunables() {
  return {file("tests/data/softmax/softmax_tunable.cu"),
          file("kernels/families/gemm/templates/gemm_simt.cu")};
}
bool takes_tunable(const std::string& text) {
  return static_cast<bool>(parse_tunable(text, "fuzz.cu"));
}

Texts expressions() {
  return {"cdiv(m, TILE_M) * min(n, 4)", "m % 2 == 0 && (n > 3 || !x)",
          "x == 1 || x == 2 ? TILE_M : max(1, -n)", "1 << 20 >> 3"};
}
bool takes_expression(const std::string& text) {
  const ExprScope scope = scope_of({{"m", 7}, {"n", -3}, {"TILE_M", 64}, {"x", 0}});
  return std::holds_alternative<std::int64_t>(evaluate(Expr(text), scope));
}

KernelSource some_source() {
  KernelSource source;
  source.text = "// a \"kernel\"\n";
  source.constants = {{"TILE", 8}};
  source.plan.launches = {{"main", "gemm", When::run, {"cdiv(m,8)"}, {256}}};
  return source;
}
// A file that stands alone, and the plan of launches that is its header, a wisdom's and a coder's
// too.
Texts standalones() {
  return {standalone_text(some_source(), {"gemm", "m=8"}), launch_plan_to_json(some_source().plan)};
}
bool takes_standalone(const std::string& text) {
  const bool plan = static_cast<bool>(launch_plan_from_json(text));
  const bool file = static_cast<bool>(standalone_from(text, "fuzz.cu"));
  return text.starts_with("{") ? plan : file;
}
std::string wrong_standalone(const std::string& text) {
  const std::string wrong = wrong_when_written(text, launch_plan_from_json, launch_plan_to_json);
  if (!wrong.empty()) return wrong;
  return wrong_when_written(
      text, [](const std::string& file) { return standalone_from(file, "fuzz.cu"); },
      [](const StandaloneKernel& kernel) {
        return standalone_text(kernel.source, kernel.task_words);
      });
}

Texts strategies() {
  return {file("tests/data/strategy/example.json"), file("tests/data/strategy/program.json")};
}
bool takes_strategy(const std::string& text) {
  return static_cast<bool>(program_strategy_from_json(text));
}
std::string wrong_strategy(const std::string& text) {
  return wrong_when_written(text, program_strategy_from_json, program_strategy_to_json);
}
Texts landscapes() {
  return {file("tests/data/landscapes/small.json"), file("bench/landscapes/nk.json")};
}
bool takes_landscape(const std::string& text) {
  return static_cast<bool>(landscape_from_json(text, "fuzz"));
}

Texts wisdoms() {
  WisdomEntry entry;
  entry.task = *gemm_task({.m = 8, .n = 8, .k = 8});
  entry.device = "virtual:h200";
  WisdomKernel kernel{"gemm_1", "", "plain"};
  kernel.source = some_source();
  kernel.kernel_id = kernel_id(kernel.source);
  kernel.image = {0x7f, 'E', 'L', 'F', 0};
  entry.kernels = {kernel};
  entry.shapes = {{entry.task.time_shapes[0], {4.25}, {{"plain", 9.5, Provenance::modelled}}}};
  return {wisdom_to_json({{entry}})};
}
bool takes_wisdom(const std::string& text) {
  return static_cast<bool>(wisdom_from_json(text, "fuzz"));
}
std::string wrong_wisdom(const std::string& text) {
  return wrong_when_written(
      text, [](const std::string& json) { return wisdom_from_json(json, "fuzz"); }, wisdom_to_json);
}

Texts evolutions() {
  testing::ShortRun run(8);
  EvolutionRecord record;
  record.task = TaskRef(landscape_task());
  record.device = run.device.device();
  record.slots.resize(2);
  return {*to_json(record)};
}
bool takes_evolution(const std::string& text) { return static_cast<bool>(evolution_from(text)); }
std::string wrong_evolution(const std::string& text) {
  return wrong_when_written(text, evolution_from,
                            [](const EvolutionRecord& record) { return *to_json(record); });
}

// What a user configures: models, their URLs, and a list of shapes.
Texts settings() {
  return {
      R"({"currency": "USD", "endpoints": [{"name": "e", "url": "https://x.example/v1", "format": "messages", "key": {"env": "K"}}],
 "models": [{"name": "m", "endpoint": "e", "model": "large", "price": {"input": 3, "cached": 0.3, "output": 15}}],
 "roles": {"*": "m"}, "budget": {"tokens": 2000000, "cost": 5, "calls": 500, "seconds": 7200}})",
      "https://models.example.com:8443/v1/chat", "http://[::1]:8080", "http://127.0.0.1",
      "# a comment\nm=4096 n=4096 k=4096 weight=2\n\nm=1 n=8 k=16\n"};
}
bool takes_setting(const std::string& text) {
  const bool url = static_cast<bool>(parse_url(text));
  const bool shapes = static_cast<bool>(shapes_from_text(text, "fuzz", {"m", "n", "k"}));
  return static_cast<bool>(read_models(text, "fuzz")) || url || shapes;
}

constexpr Target own[] = {{"journal", journals, takes_journal, wrong_journal},
                          {"journal record", payloads, takes_payload, wrong_payload},
                          {"task", tasks, takes_task, wrong_task},
                          {"tunable", tunables, takes_tunable},
                          {"expression", expressions, takes_expression},
                          {"standalone kernel", standalones, takes_standalone, wrong_standalone},
                          {"strategy", strategies, takes_strategy, wrong_strategy},
                          {"landscape", landscapes, takes_landscape},
                          {"wisdom", wisdoms, takes_wisdom, wrong_wisdom},
                          {"evolution", evolutions, takes_evolution, wrong_evolution},
                          {"settings", settings, takes_setting}};

}  // namespace

std::span<const Target> targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> both(std::begin(own), std::end(own));
    both.insert(both.end(), wire_targets().begin(), wire_targets().end());
    return both;
  }();
  return all;
}

}  // namespace cupilot::fuzz
