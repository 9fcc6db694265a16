#include "agents/models/prompt.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "agents/models/asking.hpp"
#include "agents/models/prompt_parts.hpp"
#include "agents/models/reference_text.hpp"
#include "agents/write/device_headers.hpp"
#include "base/embedded.hpp"
#include "catch.hpp"
#include "strategy/edit.hpp"
#include "support/gemm.hpp"
#include "support/scripted_chat.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// A prompt that differs is written beside the build, to be looked at and copied.
void check_golden(const std::string& name, const std::string& text) {
  INFO("tests/data/prompts/" << name << ".txt");
  const bool same = read_file("tests/data/prompts/" + name + ".txt") == text;
  if (!same) {
    const std::string folder = CUPILOT_BINARY_DIR "/prompts/";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + name + ".txt") << text;
  }
  CHECK(same);
}

struct Room {
  Task task = *load_task("examples/model_tape/task.json");
  DeviceSpec device = *chip("h200");
  Tunable tunable = *load_tunable("examples/model_tape/rms_norm.cu");
  std::unique_ptr<Space> space = std::move(*make_space(task, device, {tunable}));
  ScriptedChat model{[](const ChatRequest&) -> Result<ChatReply> { return silence(); }};

  std::string last() const { return model.asked.back().messages.back().text; }
};

Individual individual(std::int64_t threads, double us) {
  Individual one;
  one.strategy.uses = {{"row_per_block", {{"block_threads", threads}}, "", {}},
                       {"free", {}, "rows in registers", {}}};
  one.strategy.rationale = "reads once";
  one.time_us = us;
  one.verdict.bottlenecks = {
      {Resource::launch, 0.7}, {Resource::issue, 0.4}, {Resource::dram, 0.17}};
  one.verdict.digest = {
      "launch binds; shares of the time each would need alone: launch 70%, issue 40%, dram 17%."};
  return one;
}

KernelSource small_kernel() {
  KernelSource source;
  source.text = "extern \"C\" __global__ void f(const float* x, float* y) { y[0] = x[0]; }\n";
  source.plan.launches.resize(1);
  source.plan.launches[0].entry = "f";
  return source;
}

}  // namespace

TEST_CASE("the reference of a graph names its operators and what its folds run over",
          "[agents][model]") {
  const Result<Task> task = task_from_json(R"({"cupilot_task": 2, "name": "chain",
    "axes": [{"name": "rows", "kind": "free"}, {"name": "k", "kind": "reduced"}],
    "tensors": [{"name": "x", "role": "in", "shape": ["rows", "k"]},
                {"name": "w", "role": "in", "shape": [5, "k"]},
                {"name": "y", "role": "out", "shape": ["rows", 1]}],
    "operations": [
      {"name": "product", "op": "linear", "in": ["x", "w"], "out": ["h"]},
      {"name": "halve", "op": "div", "in": ["h"], "out": ["d"], "attrs": {"other": 2}},
      {"name": "least", "op": "amin", "in": ["d"], "out": ["y"],
       "attrs": {"dim": [1], "keepdim": 1}}],
    "precision": "fp32-strict",
    "time_shapes": [{"sizes": {"rows": 4, "k": 8}}]})",
                                           "");
  INFO((task ? "" : task.error().message));
  REQUIRE(task);
  const std::string said = reference_text(*task);
  INFO(said);
  CHECK(says(said,
             "- product: h [rows, 5] = linear(x, w)\n"
             "- halve: d [rows, 5] = div(h, other=2)\n"
             "- least: y [rows, 1] = amin(d, dim=[1], keepdim=1)\n"));
  CHECK(says(said, "- h(r < rows, n < 5) = sum over k < k of x(r, k) * weight(n, k)"));
  CHECK(says(said, "weight is w"));
  CHECK(says(said, "minimum over c1 < 5 of real(x); x is d(c0, c1)"));
  CHECK(says(task_text(*task), "= linear(x, w)"));
}

TEST_CASE("the limit of a graph whose operations bind is told as what the task writes",
          "[agents][model]") {
  const DeviceSpec device = *chip("h200");
  const std::string said = limits_text(*load_task("examples/graph/program.json"), device);
  INFO(said);
  CHECK(says(said, "as the task writes them, the bytes alone"));
  CHECK_FALSE(says(said, "no kernel of one launch is faster"));
  CHECK(says(limits_text(Room().task, device), "no kernel of one launch is faster"));
}

TEST_CASE("the reference of a repeat says what its steps hand on", "[agents][model]") {
  const std::string said = reference_text(*load_task("examples/graph/lstm.json"));
  INFO(said);
  CHECK(says(said,
             "- layer: 6 steps t, one after the other, of what follows; h is h0 at the first "
             "step, then y[t] of the step before, hn at the end; c is c0"));
  CHECK(says(said, "\n  - cell: c1 [batch, 12] = add(fc, ig)\n"));
}

TEST_CASE("strategists' prompts are what they are", "[agents][prompt]") {
  Room room;
  StrategyBrief brief;
  brief.space = room.space.get();
  brief.effects = {{"unroll", 0.2, 3}, {"free: rows in registers", 0.1, 2}, {"free", -0.5, 7}};
  const std::string head = strategist_head(room.task, room.device, *room.space);
  check_golden("strategist_head", head);
  const auto ask = [&](const char* name) {
    static_cast<void>(ask_strategist(room.model, head, {brief}, room.device, 2, "slot 3/strategy"));
    check_golden(name, room.last());
  };
  ask("initial");
  brief.kind = BreedKind::explore;
  Strategy child = individual(128, 0).strategy, mended = child;
  child.parents = {strategy_id(individual(32, 0).strategy),
                   strategy_id(individual(64, 0).strategy)};
  mended.uses.pop_back();
  brief.history = {{1, individual(32, 0).strategy, 5.5, ""},
                   {2, individual(64, 0).strategy, 4.4, ""},
                   {3, mended, 0, "verify.bound"},
                   {4, mended, 6, ""},
                   {5, individual(256, 0).strategy, 0, "run.race"},
                   {6, child, 4.5, ""},
                   {7, individual(512, 0).strategy, 0, "", true}};
  brief.population = {individual(32, 0).strategy};
  ask("explore");
  brief.parents = {individual(32, 5.5)};
  ask("improve");
  brief.parents.push_back(individual(64, 4.4));
  ask("cross");
  brief.remembered = {individual(128, 0).strategy};
  brief.history.clear();
  ask("cross_remembered");
}

TEST_CASE("writers' prompts are what they are", "[agents][prompt]") {
  Room room;
  const Strategy strategy = individual(32, 0).strategy;
  WriterBrief brief;
  brief.task = TaskRef(room.task);
  brief.device = &room.device;
  brief.strategy = &strategy;
  brief.key = "slot 4";
  const WriterBrief::Base base{small_kernel(), individual(64, 0).strategy, {"issue binds."}};
  const std::string head = writer_head(room.task, room.device);
  check_golden("writer_head", head);
  static_cast<void>(ask_generator(room.model, head, brief,
                                  "y = x / x.pow(2).mean(-1, keepdim=True).add(1e-5).sqrt()"));
  check_golden("generator", room.last());
  static_cast<void>(ask_generator(
      room.model, head, brief, "",
      {"// cupilot: {\"plan\":{}}\n#include \"cupilot/barrier.cuh\"\n__global__ void g() {}\n",
       "return in.x[index];", "rows scale bf16 on H200"}));
  check_golden("generator_proved", room.last());
  static_cast<void>(ask_translator(room.model, head, brief, base));
  check_golden("translator", room.last());
  static_cast<void>(ask_crosser(room.model, head, brief, base, base));
  check_golden("crossing", room.last());
  brief.failed = {
      small_kernel(), {Stage::run, "run.race", "reads what another wrote", "kernel.cu:1"}, 1};
  static_cast<void>(ask_reviser(room.model, head, brief));
  check_golden("reviser", room.last());
  static_cast<void>(ask_aligner(room.model, strategy,
                                {"async_copy dropped: the PTX holds no cp.async"}, small_kernel(),
                                "slot 4"));
  check_golden("aligner", room.last());
}

TEST_CASE("a request names its agent and key, and says what stays the same", "[agents][prompt]") {
  Room room;
  const Strategy strategy = individual(32, 0).strategy;
  WriterBrief brief;
  brief.task = TaskRef(room.task);
  brief.strategy = &strategy;
  brief.key = "slot 4";
  static_cast<void>(ask_translator(room.model, "the head", brief, {small_kernel(), strategy, {}}));
  const ChatRequest& request = room.model.asked.back();
  CHECK(request.constant_messages == 1);
  CHECK(request.messages.front().text == "the head");
  CHECK(request.messages.front().role == ChatMessage::Role::system);
  CHECK(request.output_tokens == 0);  // the model has its own limit
}

TEST_CASE("device headers are shown without bodies and taken back whole", "[agents][prompt]") {
  const std::string outline = outline_of(
      "// Adds.\ntemplate <int N>\n__device__ int add(int a) {\n  if (a) { return '}'; }\n  return "
      "N;  // }\n}\nstruct P { int "
      "x; };\n");
  CHECK(outline ==
        "// Adds.\ntemplate <int N>\n__device__ int add(int a);\nstruct P { int x; };\n");
  for (const EmbeddedFile& file : kernel_files()) {
    if (!file.name.ends_with(".cuh")) continue;
    const std::string name(file.name.substr(file.name.rfind('/') + 1));
    const std::string include = "#include \"cupilot/" + name + "\"\n";
    std::string whole;
    std::set<std::string> seen;
    REQUIRE(inline_device_headers(include + "int x;\n", "test", seen, whole));
    INFO(include);
    CHECK((with_includes(whole) == include + "int x;\n"));
    CHECK(outline_of(file.text).find("asm") == std::string::npos);
  }
}

TEST_CASE("headers are shown shortly, and with a base those that it names", "[agents][prompt]") {
  const std::string shown = outlines_of({"wgmma.cuh"});
  CHECK_FALSE(says(shown, "__forceinline__"));
  CHECK_FALSE(says(shown, "clang-format"));
  CHECK(says(shown, "void multiply_commit();"));
  const std::size_t first = shown.find("CUPILOT_WGMMA(8");
  REQUIRE(first != std::string::npos);
  CHECK(shown.find("CUPILOT_WGMMA(", first + 1) == std::string::npos);
  const std::string base = "#include \"cupilot/barrier.cuh\"\n#include \"cupilot/tma.cuh\"\n";
  CHECK(headers_in(base + "void f() { arrive(0); }  // prefetch_map(m)\n") ==
        std::vector<std::string>{"barrier.cuh"});
}

TEST_CASE("no head is larger than a third of what a prompt may be", "[agents][prompt]") {
  const DeviceSpec device = *chip("h200");
  for (const char* dtype : {"fp32", "bf16", "e4m3"}) {
    auto task = gemm_of({"m=256", "n=256", "k=256", std::string("dtype=") + dtype});
    REQUIRE(task);
    INFO(dtype);
    CHECK(estimated_tokens(writer_head(*task, device)) < 9000);
    auto space = make_space(*task, device, builtin_tunables());
    REQUIRE(space);
    CHECK(estimated_tokens(strategist_head(*task, device, **space)) < 9000);
  }
}

namespace {

// What of `text` an endpoint still holds from the requests before it.
std::size_t same_prefix(const std::string& text, const std::vector<std::string>& before) {
  std::size_t most = 0;
  for (const std::string& other : before) {
    const auto differs = std::mismatch(text.begin(), text.end(), other.begin(), other.end()).first;
    most = std::max(most, static_cast<std::size_t>(differs - text.begin()));
  }
  return most;
}

std::string whole_of(const ChatRequest& request) {
  std::string text;
  for (const ChatMessage& message : request.messages) text += message.text;
  return text;
}

// Endpoints counted them so.
double counted_tokens(std::size_t bytes) { return static_cast<double>(bytes) / 3.5; }

// A strategy of the space beside a technique that no template knows.
Strategy drawn(const Space& space, std::uint64_t key) {
  Strategy strategy = sample(space, Rng::of(3, "prompt test", key));
  strategy.uses.push_back(
      {"free", {}, "another order of loads, number " + std::to_string(key), {}});
  strategy.rationale = "loads of a step should not queue up behind one another";
  return strategy;
}

// A writer of GEMMs whose model stays silent, with all that it points to.
struct GemmSeat {
  explicit GemmSeat(const std::vector<std::string>& words) : task(*gemm_of(words)) {
    ModelSeat seat;
    seat.client = &model;
    seat.task = TaskRef(task);
    seat.device = &device;
    writer = model_writer(seat, *templates);
  }
  DeviceSpec device = *chip("h200");
  Task task;
  std::unique_ptr<Space> space = std::move(*make_space(task, device, builtin_tunables()));
  ScriptedChat model{[](const ChatRequest&) -> Result<ChatReply> { return silence(); }};
  std::unique_ptr<KernelWriter> templates = template_writer(builtin_tunables()), writer;
};

}  // namespace

TEST_CASE("in 50 calls for a GEMM prompts stay short and mostly the same", "[agents][prompt]") {
  GemmSeat room({"m=64", "n=64", "k=64"});
  const DeviceSpec& device = room.device;
  const Task* const task = &room.task;
  const auto& space = room.space;
  ScriptedChat& model = room.model;
  const auto& writer = room.writer;
  const std::string head = strategist_head(*task, device, *space);
  for (std::uint64_t call = 0; call < 25; ++call) {
    StrategyBrief brief;
    brief.space = space.get();
    brief.kind = BreedKind::cross;
    brief.parents = {individual(32, 5.5), individual(64, 4.4)};
    for (Individual& parent : brief.parents)
      parent.strategy = drawn(*space, 2 * call + (parent.time_us > 5 ? 1 : 0));
    // A run that grows by two kernels a question.
    for (std::uint64_t id = 0; id < 2 * call; ++id)
      brief.history.push_back({id + 1, drawn(*space, 500 + id),
                               id % 4 == 0 ? 0 : 5.0 + static_cast<double>(id),
                               id % 4 == 0 ? "verify.bound" : ""});
    static_cast<void>(ask_strategist(model, head, {brief}, device, 2, "slot"));
    const Strategy strategy = drawn(*space, 100 + call);
    WriterBrief writing;
    writing.task = TaskRef(*task);
    writing.device = &device;
    writing.strategy = &strategy;
    REQUIRE(writer->write(writing).is_error());
  }
  REQUIRE(model.asked.size() == 50);
  std::map<std::string, std::size_t> bytes_of;
  for (const ChatRequest& request : model.asked)
    bytes_of[request.agent] += whole_of(request).size();
  const double strategist = counted_tokens(bytes_of["strategist"] / 25),
               translator = counted_tokens(bytes_of["translator"] / 25);
  INFO("strategist " << strategist << ", translator " << translator << " tokens");
  CHECK(strategist <= 5000);
  CHECK(translator <= 14000);
  std::size_t bytes = 0, kept = 0;
  std::vector<std::string> before;
  for (const ChatRequest& request : model.asked) {
    const std::string text = whole_of(request);
    bytes += text.size();
    kept += same_prefix(text, before);
    before.push_back(text);
  }
  INFO("mean " << estimated_tokens(std::string(bytes / 50, ' ')) << " tokens, "
               << 100 * kept / bytes << " % the same");
  CHECK(kept * 10 >= bytes * 7);
}

TEST_CASE("without a base too, writers' prompts are mostly the same", "[agents][prompt]") {
  const DeviceSpec device = *chip("h200");
  for (const char* file : {"examples/model_tape/task.json", "examples/graph/lstm.json"}) {
    const Task task = *load_task(file);
    const auto space = *free_space(TaskRef(task));
    ScriptedChat model{[](const ChatRequest&) -> Result<ChatReply> { return silence(); }};
    std::size_t bytes = 0, kept = 0;
    std::vector<std::string> before;
    for (std::uint64_t call = 0; call < 25; ++call) {
      Strategy strategy = drawn(*space, 300 + call);
      if (call % 5 != 0) strategy.uses.push_back({"free", {}, "copies in bulk by hardware", {}});
      WriterBrief brief;
      brief.task = TaskRef(task);
      brief.device = &device;
      brief.strategy = &strategy;
      static_cast<void>(ask_generator(model, writer_head(task, device), brief, ""));
      before.push_back(whole_of(model.asked.back()));
      bytes += before.back().size();
      kept += same_prefix(before.back(), {before.begin(), before.end() - 1});
    }
    INFO(file << ": " << 100 * kept / bytes << " % the same");
    CHECK(kept * 10 >= bytes * 7);
  }
}

TEST_CASE("a writer with a base on tensor cores is asked in 14000 tokens on average",
          "[agents][prompt]") {
  GemmSeat room({"m=4096", "n=4096", "k=4096", "dtype=bf16"});
  const DeviceSpec& device = room.device;
  const Task* const task = &room.task;
  const auto& space = room.space;
  ScriptedChat& model = room.model;
  const auto& writer = room.writer;
  double tokens = 0;
  for (std::uint64_t call = 0; call < 12; ++call) {
    const Strategy strategy = drawn(*space, 900 + call);
    WriterBrief writing;
    writing.task = TaskRef(*task);
    writing.device = &device;
    writing.strategy = &strategy;
    REQUIRE(writer->write(writing).is_error());
    tokens += counted_tokens(whole_of(model.asked.back()).size()) / 12;
  }
  INFO("mean of 12: " << tokens << " tokens");
  CHECK(tokens <= 13900);
}

TEST_CASE("a line of the history names techniques as their list does", "[agents][prompt]") {
  const GemmSeat room({"m=4096", "n=4096", "k=4096", "dtype=bf16"});
  StrategyBrief brief;
  brief.space = room.space.get();
  Strategy strategy;
  for (std::uint64_t key = 0; strategy.uses.size() < 10; ++key) strategy = drawn(*room.space, key);
  brief.history = {{1, strategy, 5.5, ""}};
  const std::string said = history_text(brief);
  INFO(said);
  for (const Use& use : strategy.uses) {
    CHECK(says(said, use.technique));
    for (const auto& [name, value] : use.values) CHECK(says(said, std::to_string(value)));
  }
}

TEST_CASE("a writer is told how much an output may differ by", "[agents][prompt]") {
  const std::string half = precision_text(*gemm_of({"m=64", "n=64", "k=64", "dtype=bf16"})),
                    whole = precision_text(*gemm_of({"m=64", "n=64", "k=64"}));
  INFO(half << "\n" << whole);
  CHECK(says(half, "An output may differ by 0.39 % of its value"));
  CHECK(says(half, "additions may come in any order"));
  CHECK(says(whole, "An output may differ by 6.0e-08 times its value"));
}

TEST_CASE("a writer without a base is asked in at most 9000 tokens", "[agents][prompt]") {
  const DeviceSpec device = *chip("h200");
  for (const char* words : {"rows", "gemm"}) {
    const Task task = words == std::string("gemm")
                          ? *gemm_of({"m=64", "n=64", "k=64", "dtype=bf16"})
                          : *load_task("examples/model_tape/task.json");
    ScriptedChat model{[](const ChatRequest&) -> Result<ChatReply> { return silence(); }};
    const Strategy strategy = individual(32, 0).strategy;
    WriterBrief brief;
    brief.task = TaskRef(task);
    brief.device = &device;
    brief.strategy = &strategy;
    // The second with the longest example and reference that a pool keeps.
    for (const ProvedKernel& example :
         {ProvedKernel{}, ProvedKernel{std::string(10000, 'x'), std::string(2400, 'y'), "words"}}) {
      static_cast<void>(ask_generator(model, writer_head(task, device), brief, "", example));
      const double tokens = counted_tokens(whole_of(model.asked.back()).size());
      INFO(words << ": " << tokens << " tokens");
      CHECK(tokens <= 9000);
    }
  }
}

TEST_CASE("a strategy's difference says what to add, change and drop", "[agents][prompt]") {
  const Strategy from = individual(32, 0).strategy;
  Strategy to = individual(64, 0).strategy;
  to.uses.back().text = "rows in shared memory";
  const std::vector<std::string> expected = {
      "- change block_threads of row_per_block from 32 to 64",
      "- add free: \"rows in shared memory\"", "- drop free: \"rows in registers\""};
  CHECK(difference(from, to) == expected);
  CHECK(difference(from, from).empty());
}

TEST_CASE("a refusal is told in the lines of the shown text, with the line quoted",
          "[agents][prompt]") {
  Room room;
  const Strategy strategy = individual(32, 0).strategy;
  WriterBrief brief;
  brief.task = TaskRef(room.task);
  brief.device = &room.device;
  brief.strategy = &strategy;
  std::string whole;
  std::set<std::string> seen;
  REQUIRE(
      inline_device_headers("#include \"cupilot/vector.cuh\"\n__global__ void f() {\n  wrong;\n}\n",
                            "test", seen, whole));
  KernelSource source = small_kernel();
  source.text = whole;
  const auto line =
      1 + std::count(whole.begin(),
                     whole.begin() + static_cast<std::ptrdiff_t>(whole.find("  wrong;")), '\n');
  REQUIRE(line > 4);
  brief.failed = {source,
                  {Stage::compile, "compile.error",
                   "kernel.cu(" + std::to_string(line) + "): error: \"wrong\" is undefined", ""},
                  1};
  static_cast<void>(ask_reviser(room.model, "", brief));
  // The plan is line 1, the include line 2.
  INFO(room.last());
  CHECK(room.last().find("line 4 (`  wrong;`): error") != std::string::npos);
}

TEST_CASE("what a task has to do is told in numbers without powers of ten", "[agents][prompt]") {
  const DeviceSpec device = *chip("h200");
  const std::string large = limits_text(*gemm_of({"m=4096", "n=4096", "k=4096"}), device),
                    small = limits_text(*gemm_of({"m=256", "n=256", "k=256"}), device);
  INFO(large << small);
  CHECK(says(large, "and 137.4 billion operations take"));
  CHECK(says(small, "and 33.55 million operations take"));
}

TEST_CASE("a generator without a kernel of the pool is shown one of its kind of work",
          "[agents][prompt]") {
  const DeviceSpec device = *chip("h200");
  const Strategy strategy = individual(32, 0).strategy;
  Task map = *load_task("examples/model_tape/task.json");
  map.axes.back().kind = AxisKind::free;
  map.reference.text =
      "__device__ real reference_y(const Inputs& in, long long index) {\n"
      "  return in.x(index) * real(2.0);\n}\n";
  Task graph = map;
  graph.reference.text.clear();
  graph.operations = {{"a", "silu", {"x"}, {"y"}}};
  struct Row {
    Task task;
    const char* says;
  };
  const Row rows[] = {{map, "silu(g[i])"},
                      {*load_task("examples/model_tape/task.json"), "sum of row r"},
                      {*gemm_of({"m=64", "n=64", "k=64"}), "sum over k of a[m, k] * b[k, n]"},
                      {*load_task("examples/graph/layer.json"), "sum of row r"},
                      {graph, "silu(g[i])"}};
  for (const Row& row : rows) {
    ScriptedChat model{[](const ChatRequest&) -> Result<ChatReply> { return silence(); }};
    WriterBrief brief;
    brief.task = TaskRef(row.task);
    brief.device = &device;
    brief.strategy = &strategy;
    static_cast<void>(ask_generator(model, writer_head(row.task, device), brief, ""));
    const std::string asked = model.asked.back().messages.back().text;
    INFO(asked);
    CHECK(says(asked, row.says));
  }
}

TEST_CASE("a parent is told what relieves it, without what cannot or did harm",
          "[agents][prompt]") {
  const Room room;
  StrategyBrief brief;
  brief.space = room.space.get();
  const auto told = [&](const Individual& one) { return individual_text(brief, one, "A", 0, 1); };
  Individual one = individual(32, 5.5);
  CHECK(says(told(one), "- unroll: relieves issue, saves at most 40 % of the time"));
  CHECK_FALSE(says(told(one), "relieves launch"));
  brief.effects = {{"unroll", -0.02, 3}};
  CHECK(says(told(one), "- unroll: relieves"));
  brief.effects = {{"unroll", -0.2, 3}};
  CHECK_FALSE(says(told(one), "- unroll: relieves"));
  brief.effects.clear();
  one.strategy.uses.push_back({"unroll", {{"unroll_k", 4}}, "", {}});
  CHECK_FALSE(says(told(one), "- unroll: relieves"));
  // What cannot stand beside a technique of the parent is no advice.
  const GemmSeat gemm({"m=64", "n=64", "k=64"});
  brief.space = gemm.space.get();
  for (std::uint64_t key = 0; key < 6; ++key) {
    Individual drawn_one = individual(32, 5.5);
    drawn_one.strategy = sample(*gemm.space, Rng::of(3, "relief test", key));
    drawn_one.verdict.bottlenecks = {{Resource::launch, 0.9},
                                     {Resource::issue, 0.5},
                                     {Resource::shared, 0.4},
                                     {Resource::latency, 0.4},
                                     {Resource::dram, 0.3}};
    const std::string text = told(drawn_one);
    CHECK_FALSE(says(text, "relieves launch"));
    for (std::size_t at = text.find(": relieves "); at != std::string::npos;
         at = text.find(": relieves ", at + 1)) {
      const std::size_t begin = text.rfind("- ", at) + 2;
      Strategy wish = drawn_one.strategy;
      wish.uses.push_back({text.substr(begin, at - begin), {}, "", {}});
      INFO(text);
      const auto whole = gemm.space->complete(wish, {wish.uses.back().technique});
      REQUIRE(whole);
      for (const Use& use : wish.uses) CHECK(find_use(whole->strategy, use.technique) != nullptr);
    }
  }
}
