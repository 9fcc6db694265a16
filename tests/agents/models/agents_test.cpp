// Models in the seats of strategist and writer, as a script: who is asked what, and what comes of
// each answer.
#include <cupilot/parts/model_agents.hpp>

#include <set>

#include "agents/models/align.hpp"
#include "agents/models/asking.hpp"
#include "agents/models/prompt.hpp"
#include "agents/propose/untried.hpp"
#include "catch.hpp"
#include "support/scripted_chat.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

Task norm_task() {
  auto task = load_task("examples/model_tape/task.json");
  REQUIRE(task);
  return std::move(*task);
}

struct Room {
  Task task = norm_task();
  DeviceSpec device = *chip("h200");
  Tunable tunable = *load_tunable("examples/model_tape/rms_norm.cu");
  std::unique_ptr<Space> space = std::move(*make_space(task, device, {tunable}));
  std::unique_ptr<KernelWriter> templates = template_writer({tunable});
  std::unique_ptr<Strategist> rules = rule_strategist();
  std::set<std::string> tried;
  std::vector<std::string> notices;

  ModelSeat seat(ChatClient& client, double share = 1) {
    ModelSeat seat;
    seat.client = &client;
    seat.task = TaskRef(task);
    seat.device = &device;
    seat.options.share = share;
    seat.notice = [this](const std::string& notice) { notices.push_back(notice); };
    return seat;
  }
  StrategyBrief brief(BreedKind kind, std::int64_t slot, int generation = 0) {
    StrategyBrief brief;
    brief.space = space.get();
    brief.kind = kind;
    brief.tried = [this](const std::string& id) { return tried.contains(id); };
    brief.slot = slot;
    brief.generation = generation;
    return brief;
  }
  WriterBrief writing(const Strategy& strategy) {
    WriterBrief brief;
    brief.task = TaskRef(task);
    brief.strategy = &strategy;
    brief.device = &device;
    brief.key = "slot 5";
    return brief;
  }
};

const std::string free_reply =
    R"({"strategies":[{"techniques":[{"name":"row_per_block","settings":[{"name":"block_threads","value":100}],"text":""},)"
    R"({"name":"free","settings":[],"text":"a warp a row"}],"rationale":"no barrier"}]})";

const std::string good_file =
    "```cuda\n// cupilot: "
    "{\"plan\":{\"launches\":[{\"entry\":\"f\",\"grid\":[\"rows\"],\"block\":[32],\"args\":[\"x\","
    "\"y\"]}]}}\n"
    "#include \"cupilot/vector.cuh\"\nextern \"C\" __global__ void f(const float* x, float* y) { "
    "y[0] = x[0]; }\n```\n";

Strategy free_strategy() {
  Strategy strategy;
  strategy.uses = {{"row_per_block", {{"block_threads", 64}}, "", {}},
                   {"free", {}, "a warp a row", {}}};
  return strategy;
}

}  // namespace

TEST_CASE("the model's wishes are made feasible, its own techniques beside them",
          "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) { return said(free_reply); });
  const auto strategist = model_strategist(room.seat(model), *room.rules);
  const auto proposed =
      strategist->propose(room.brief(BreedKind::explore, 3, 1), Rng::of(1, "t", 0));
  REQUIRE(proposed);
  REQUIRE(proposed->has_value());
  const Strategy& strategy = **proposed;
  CHECK(strategy.origin == "explore");
  CHECK(strategy.uses.back().text == "a warp a row");
  Strategy known = strategy;
  known.uses.pop_back();
  CHECK(room.space->feasible(known));
  CHECK(model.asked.front().key == "slot 3/strategy/0");
  CHECK(!model.asked.front().schema.empty());
}

TEST_CASE(
    "an answer that cannot be read is asked for once more, then the built-in strategist proposes",
    "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) { return said("no"); });
  const auto strategist = model_strategist(room.seat(model), *room.rules);
  const auto proposed =
      strategist->propose(room.brief(BreedKind::explore, 3, 1), Rng::of(1, "t", 0));
  REQUIRE(proposed);
  CHECK(proposed->has_value());
  REQUIRE(model.asked.size() == 2);
  CHECK(model.asked[1].key == "slot 3/strategy/1");
  CHECK(model.asked[1].messages.size() == model.asked[0].messages.size() + 2);
  CHECK(room.notices.size() == 1);
}

TEST_CASE("an answer that is shown again keeps its fences", "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) { return said("So:\n````cuda\nint x;\n````\n"); });
  const auto writer = model_writer(room.seat(model), *room.templates);
  const Strategy strategy = free_strategy();
  static_cast<void>(writer->write(room.writing(strategy)));
  REQUIRE(model.asked.size() == 2);
  const auto& messages = model.asked[1].messages;
  REQUIRE(messages.size() >= 2);
  CHECK(messages[messages.size() - 2].text == "So:\n```cuda\nint x;\n```\n");
}

TEST_CASE("a silent endpoint is asked once a generation, and heard again", "[agents][model]") {
  Room room;
  bool alive = false;
  ScriptedChat model([&](const ChatRequest&) -> Result<ChatReply> {
    if (!alive) return silence();
    return said(free_reply);
  });
  const auto strategist = model_strategist(room.seat(model), *room.rules);
  const auto propose = [&](std::int64_t slot, int generation) {
    const auto proposed =
        strategist->propose(room.brief(BreedKind::explore, slot, generation), Rng::of(1, "t", 0));
    REQUIRE(proposed);
    return proposed->has_value() && !(*proposed)->uses.back().text.empty();
  };
  CHECK(strategist->is_expensive(40, 1));
  CHECK_FALSE(propose(40, 1));
  CHECK_FALSE(strategist->is_expensive(41, 1));
  CHECK_FALSE(propose(41, 1));
  CHECK(model.asked.size() == 1);
  CHECK(strategist->is_expensive(50, 2));
  const auto resumed = model_strategist(room.seat(model), *room.rules);
  resumed->set_unavailable_since(strategist->unavailable_since());
  CHECK_FALSE(resumed->is_expensive(41, 1));
  CHECK(resumed->is_expensive(50, 2));
  alive = true;
  CHECK(propose(50, 2));
  REQUIRE(room.notices.size() == 2);
  CHECK(room.notices[0].find("(nobody answers; next: start the endpoint)") != std::string::npos);
  CHECK(room.notices[1].find("answers again") != std::string::npos);
}

TEST_CASE("the question a search begins with is the same whenever it is asked", "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) { return said(free_reply); });
  StrategyBrief first = room.brief(BreedKind::seed, 0), resumed = room.brief(BreedKind::seed, 5);
  resumed.effects = {{"row_per_block", 0.5, 3}};
  resumed.failures = {{free_strategy(), "verify.bound"}};
  for (const StrategyBrief& brief : {first, resumed}) {
    REQUIRE(model_strategist(room.seat(model), *room.rules)->propose(brief, Rng::of(1, "t", 0)));
  }
  REQUIRE(model.asked.size() == 2);
  CHECK(model.asked[0].key == "initial/0");
  CHECK(model.asked[1].key == "initial/0");
  CHECK(model.asked[0].messages.back().text == model.asked[1].messages.back().text);
}

TEST_CASE("which seat a slot belongs to depends on the slot alone", "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) -> Result<ChatReply> { return silence(); });
  const auto some = model_strategist(room.seat(model, 0.5), *room.rules);
  int mine = 0;
  for (std::int64_t slot = 0; slot < 400; ++slot) mine += some->is_expensive(slot, 1) ? 1 : 0;
  CHECK(mine > 150);
  CHECK(mine < 250);
  CHECK_FALSE(model_strategist(room.seat(model, 0), *room.rules)->is_expensive(7, 1));
}

TEST_CASE("templates write what they can, the model what only it can", "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) { return said(good_file); });
  const auto writer = model_writer(room.seat(model), *room.templates);
  Strategy plain = free_strategy();
  plain.uses.pop_back();
  const auto from_template = writer->write(room.writing(plain));
  REQUIRE(from_template);
  CHECK(from_template->template_name == "rms_norm_blocks");
  CHECK(model.asked.empty());

  const Strategy strategy = free_strategy();
  const auto written = writer->write(room.writing(strategy));
  REQUIRE(written);
  CHECK(written->template_name.empty());
  CHECK(written->strategy_id == strategy_id(strategy));
  CHECK(written->text.find("load_vector") !=
        std::string::npos);  // the device header stands in the text
  REQUIRE(model.asked.size() == 1);
  CHECK(model.asked[0].agent == "translator");
  CHECK(model.asked[0].key == "slot 5/write/0");
  CHECK(model.asked[0].messages.back().text.find("rms_norm") !=
        std::string::npos);  // the template's kernel to begin with
}

TEST_CASE("a refused kernel goes back with the reason, and a silent model is nobody's fault",
          "[agents][model]") {
  Room room;
  bool alive = true;
  ScriptedChat model([&](const ChatRequest&) -> Result<ChatReply> {
    if (!alive) return silence();
    return said(good_file);
  });
  const auto writer = model_writer(room.seat(model), *room.templates);
  const Strategy strategy = free_strategy();
  WriterBrief brief = room.writing(strategy);
  KernelSource refused;
  refused.text = "extern \"C\" __global__ void f() { undeclared; }\n";
  brief.failed = {
      refused,
      {Stage::compile, "compile.error", "identifier \"undeclared\" is undefined", "line 1"},
      2};
  REQUIRE(writer->write(brief));
  const ChatRequest& asked = model.asked.front();
  CHECK(asked.agent == "reviser");
  CHECK(asked.key == "slot 5/repair/0");
  for (const char* part :
       {"undeclared; }", "is undefined", "compile.error", "repair 2", "a warp a row"})
    CHECK(asked.messages.back().text.find(part) != std::string::npos);
  alive = false;
  CHECK(room.notices.empty());
  for (int i = 0; i < 2; ++i) {
    const auto lost = writer->write(brief);
    REQUIRE(lost.is_error());
    CHECK(lost.error().code == ErrorCode::endpoint);
  }
  REQUIRE(room.notices.size() == 1);
  CHECK(room.notices[0] ==
        "no model writes (nobody answers; next: start the endpoint): candidates that no template "
        "writes are lost");
  alive = true;
  REQUIRE(writer->write(brief));
  alive = false;
  CHECK(writer->write(brief).is_error());
  CHECK(room.notices.size() == 2);
}

TEST_CASE("answers that hold no strategy are told, once for each fault", "[agents][model]") {
  for (const bool alone : {false, true}) {
    Room room;
    ChatReply reply = said("I would rather not.");
    ScriptedChat model([&](const ChatRequest&) { return reply; });
    ModelSeat seat = room.seat(model);
    seat.alone = alone;
    const auto strategist = model_strategist(seat, *room.rules);
    const auto propose = [&](BreedKind kind, std::int64_t slot, int generation) {
      REQUIRE(strategist->propose(room.brief(kind, slot, generation), Rng::of(1, "t", 0)));
    };
    propose(BreedKind::seed, 0, 0);
    REQUIRE(room.notices.size() == 1);
    CHECK(room.notices[0].find("no strategy can be taken from the model's answer (not_json: ") ==
          0);
    CHECK((room.notices[0].find("built-in") != std::string::npos) != alone);
    propose(BreedKind::explore, 40, 1);
    CHECK(room.notices.size() == 1);
    reply.finish = ChatFinish::refused;
    propose(BreedKind::explore, 41, 1);
    REQUIRE(room.notices.size() == 2);
    CHECK(room.notices[1].find("(refused: ") != std::string::npos);
  }
}

TEST_CASE("an unreadable kernel is a rejection that names the fault", "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) { return said("I would rather not."); });
  const auto writer = model_writer(room.seat(model), *room.templates);
  const Strategy strategy = free_strategy();
  const auto refused = writer->write(room.writing(strategy));
  REQUIRE(refused.is_rejected());
  CHECK(refused.rejected().code == "write.unreadable");
  CHECK(refused.rejected().message.find("no_file") != std::string::npos);
  CHECK(model.asked.size() == 2);
}

TEST_CASE("claims without trace are dropped, and only what ran is added", "[agents][align]") {
  Strategy claimed;
  claimed.uses = {{"async_copy", {}, "", {}},
                  {"vector_load", {{"vector", 4}}, "", {}},
                  {"free", {}, "a warp a row", {}}};
  CompiledKernel kernel;
  kernel.facts.opcodes = {{"ld.global.v4.f32", 2}, {"mma.sync.aligned.m16n8k16", 1}};
  Counts counts;
  const Alignment never_ran = aligned(claimed, kernel, counts);
  REQUIRE(never_ran.changes.size() == 1);
  CHECK(never_ran.changes[0].find("async_copy dropped") != std::string::npos);
  CHECK(never_ran.strategy.uses.size() == 2);
  counts[Counter::ops_tensor_bf16] = {100, 100, 100, CountHow::exact};
  const Alignment ran = aligned(claimed, kernel, counts);
  REQUIRE(ran.changes.size() == 2);
  CHECK(ran.strategy.uses.back().technique == "mma_core");
}

TEST_CASE("a bulk copy is no trace of cp.async", "[agents][align]") {
  struct Row {
    const char* opcode;
    bool kept;
  };
  const Row rows[] = {{"cp.async.cg.shared.global", true},
                      {"cp.async.commit_group", true},
                      {"cp.async.bulk.tensor.2d.shared::cluster.global.tile", false},
                      {"cp.async.bulk.commit_group", false}};
  for (const Row& row : rows) {
    INFO(row.opcode);
    Strategy claimed;
    claimed.uses = {{"async_copy", {}, "", {}}, {"multistage", {}, "", {}}};
    CompiledKernel kernel;
    kernel.facts.opcodes = {{row.opcode, 1}};
    CHECK(aligned(claimed, kernel, {}).strategy.uses.size() == (row.kept ? 2u : 1u));
  }
}

TEST_CASE("widths are those of the widest load and store", "[agents][align]") {
  const Task task = norm_task();  // of four bytes an element
  Strategy claimed;
  claimed.uses = {{"vector_load", {{"vector", 8}}, "", {}},
                  {"vector_epilogue", {{"store_vector", 4}}, "", {}}};
  CompiledKernel kernel;
  kernel.facts.opcodes = {{"ld.global.nc.L1::no_allocate.v4.f32", 2},
                          {"ld.global.f32", 1},
                          {"ld.shared.v4.f64", 1},
                          {"st.global.v2.b32", 1}};
  const Alignment alignment = aligned(claimed, kernel, {}, &task);
  CHECK(alignment.strategy.uses[0].values.at("vector") == 4);
  CHECK(alignment.strategy.uses[1].values.at("store_vector") == 2);
  REQUIRE(alignment.changes.size() == 2);
  CHECK(alignment.changes[0] ==
        "vector of vector_load is 4, not 8: the widest ld.global moves 16 bytes");
  kernel.facts.opcodes["cp.async.cg.shared.global"] = 1;  // it does not tell its width
  CHECK(aligned(claimed, kernel, {}, &task).changes.empty());
  CHECK(aligned(claimed, kernel, {}).changes.empty());
}

TEST_CASE("a claim without trace stands where the writer names it", "[agents][align]") {
  Strategy claimed;
  claimed.uses = {{"row_per_block", {}, "", {}},
                  {"register_rows", {}, "", {}},
                  {"free", {}, "a warp a row", {}}};
  struct Row {
    const char* text;
    std::size_t kept;
  };
  const Row rows[] = {{"// row_per_block: …\n// register_rows\n", 3},
                      {"// row_per_block\n", 2},
                      {"// nothing is said\n", 3},
                      {"", 3}};
  for (const Row& row : rows) {
    INFO(row.text);
    CompiledKernel kernel;
    kernel.source.text = row.text;
    const Alignment alignment = aligned(claimed, kernel, {});
    CHECK(alignment.strategy.uses.size() == row.kept);
    CHECK(alignment.changes.size() == 3 - row.kept);
  }
}

TEST_CASE("texts instead of strategies are crossed where that is asked", "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) { return said(good_file); });
  ModelSeat seat = room.seat(model);
  seat.code_crossover = true;
  StrategyBrief brief = room.brief(BreedKind::cross, 9, 1);
  brief.parents.resize(2);
  brief.parents[0].strategy = free_strategy();
  brief.parents[1].strategy = free_strategy();
  const auto proposed = model_strategist(seat, *room.rules)->propose(brief, Rng::of(1, "t", 0));
  REQUIRE(proposed);
  REQUIRE(proposed->has_value());
  CHECK((*proposed)->uses.back().text == "texts crossed in slot 9");
  CHECK(model.asked.empty());  // no question for a strategy
  WriterBrief writing = room.writing(**proposed);
  WriterBrief::Base first, second;
  first.source.text = "// the first\n__global__ void a() {}\n";
  second.source.text = "// the second\n__global__ void b() {}\n";
  writing.bases = {first, second};
  REQUIRE(model_writer(seat, *room.templates)->write(writing));
  const std::string asked = model.asked.front().messages.back().text;
  CHECK(asked.find("the first") < asked.find("the second"));
  CHECK(asked.find("the second") != std::string::npos);
}

TEST_CASE("without a kernel to begin with the generator is asked, with the user's words",
          "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) { return said(good_file); });
  ModelSeat seat = room.seat(model);
  seat.options.statement = "y = x / rms(x)";
  const auto nothing = template_writer({});
  const Strategy strategy = free_strategy();
  REQUIRE(model_writer(seat, *nothing)->write(room.writing(strategy)));
  CHECK(model.asked.front().agent == "generator");
  CHECK(model.asked.front().messages.back().text.find("y = x / rms(x)") != std::string::npos);
}

TEST_CASE("strategies left over wait for the next slots, also when the run is resumed",
          "[agents][model]") {
  Room room;
  const std::string two =
      R"({"strategies":[{"techniques":[{"name":"free","settings":[],"text":"one"}],"rationale":""},)"
      R"({"techniques":[{"name":"free","settings":[],"text":"two"}],"rationale":""}]})";
  ScriptedChat model([&](const ChatRequest&) { return said(two); });
  StrategyBrief brief = room.brief(BreedKind::mutate, 40, 1);
  brief.parents.resize(1);
  brief.parents[0].strategy = free_strategy();
  const auto strategist = model_strategist(room.seat(model), *room.rules);
  const auto first = strategist->propose(brief, Rng::of(1, "t", 0));
  REQUIRE(first);
  CHECK((*first)->uses.back().text == "one");
  CHECK((*first)->parents == std::vector{strategy_id(free_strategy())});
  const auto resumed = model_strategist(room.seat(model), *room.rules);
  resumed->restore(strategist->saved());
  brief.slot = 41;
  const auto second = resumed->propose(brief, Rng::of(1, "t", 1));
  REQUIRE(second);
  CHECK((*second)->uses.back().text == "two");
  CHECK(model.asked.size() == 1);
  resumed->restore("no list");
  brief.slot = 42;
  REQUIRE(resumed->propose(brief, Rng::of(1, "t", 2)));
  CHECK(model.asked.size() == 2);
}

TEST_CASE("a model that is alone proposes for every slot, and its silence ends the search",
          "[agents][model]") {
  Room room;
  bool alive = true;
  ScriptedChat model([&](const ChatRequest&) -> Result<ChatReply> {
    if (!alive) return silence();
    return said("no");
  });
  ModelSeat seat = room.seat(model);
  seat.alone = true;
  const auto strategist = model_strategist(seat, *room.rules);
  CHECK(strategist->proposes_all());
  const auto unread = strategist->propose(room.brief(BreedKind::seed, 3), Rng::of(1, "t", 0));
  REQUIRE(unread);
  REQUIRE(unread->has_value());
  CHECK((*unread)->uses.size() == 1);  // nothing drawn at random
  alive = false;
  const auto silent =
      strategist->propose(room.brief(BreedKind::explore, 30, 2), Rng::of(1, "t", 0));
  REQUIRE_FALSE(silent);
  CHECK(silent.error().code == ErrorCode::endpoint);
}

TEST_CASE("a kernel is written from the nearest of those that are there", "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) { return said(good_file); });
  const auto writer = model_writer(room.seat(model), *room.templates);
  const Strategy strategy = free_strategy();
  WriterBrief brief = room.writing(strategy);
  WriterBrief::Base far, near;
  far.source.text = "// far\n__global__ void a() {}\n";
  far.strategy.uses = {{"unroll", {{"unroll_k", 4}}, "", {}}};
  near.source.text = "// near\n__global__ void b() {}\n";
  near.strategy = strategy;
  near.digest = {"dram binds."};
  brief.bases = {far, near};
  REQUIRE(writer->write(brief));
  const std::string asked = model.asked.front().messages.back().text;
  CHECK(asked.find("// near") != std::string::npos);
  CHECK(asked.find("// far") == std::string::npos);
  CHECK(asked.find("dram binds.") != std::string::npos);
}

TEST_CASE("questions of other parents are asked at once, their strategies kept in order",
          "[agents][model]") {
  Room room;
  const auto answer = [](const std::string& idea) {
    return R"({"strategies":[{"techniques":[{"name":"free","settings":[],"text":")" + idea +
           R"("}],"rationale":""}]})";
  };
  struct Row {
    const char* silent;  // key of the question that is not answered
    ErrorCode code;
    std::vector<std::string> proposed;  // none: an error
  };
  for (const Row& row : {Row{"", ErrorCode::endpoint, {"of a", "of b"}},
                         Row{"slot 40/strategy/0", ErrorCode::endpoint, {"of b"}},
                         Row{"slot 40/strategy b/0", ErrorCode::endpoint, {"of a"}},
                         Row{"slot 40/strategy b/0", ErrorCode::failure, {}}}) {
    INFO(row.silent << " " << row.proposed.size());
    ScriptedChat model([&](const ChatRequest& request) -> Result<ChatReply> {
      if (request.key == row.silent) return Error{row.code, "nobody answers", ""};
      return said(answer(request.key.find("y b/") != std::string::npos ? "of b" : "of a"));
    });
    StrategyBrief brief = room.brief(BreedKind::mutate, 40, 1);
    Individual a, b;
    a.strategy = free_strategy();
    b.strategy.uses = {{"free", {}, "the other parent", {}}};
    brief.parents = {a};
    brief.beside = {{BreedKind::mutate, {b}}};
    ModelSeat seat = room.seat(model);
    seat.alone = true;
    const auto strategist = model_strategist(seat, *room.rules);
    const auto first = strategist->propose(brief, Rng::of(1, "t", 0));
    REQUIRE(model.asked.size() == 2);
    CHECK(model.asked[1].key == "slot 40/strategy b/0");
    CHECK(model.asked[1].messages.back().text.find("the other parent") != std::string::npos);
    CHECK(static_cast<bool>(first) == !row.proposed.empty());
    if (!first) continue;
    CHECK((*first)->uses.back().text == row.proposed[0]);
    if (row.proposed.size() < 2) continue;
    room.tried.insert(strategy_id(**first));
    const auto second = strategist->propose(brief, Rng::of(1, "t", 1));
    REQUIRE(second);
    CHECK(model.asked.size() == 2);
    CHECK((*second)->uses.back().text == row.proposed[1]);
    CHECK((*second)->parents == std::vector{strategy_id(b.strategy)});
    room.tried.clear();
  }
}

TEST_CASE("as many questions are asked at once as let a lookahead wait for two answers",
          "[agents][model]") {
  Room room;
  ScriptedChat model([](const ChatRequest&) -> Result<ChatReply> { return silence(); });
  struct Row {
    bool alone;
    double share;
    int later, asked, lookahead, expected;
  };
  for (const Row& row :
       {Row{true, 0.1, 2, 0, 4, 1}, Row{true, 1, 2, 0, 12, 3}, Row{false, 0.5, 2, 0, 12, 2},
        Row{true, 1, 8, 0, 12, 1}, Row{true, 1, 2, 1, 12, 1}, Row{true, 1, 1, 0, 100, 8}}) {
    ModelSeat seat = room.seat(model, row.share);
    seat.alone = row.alone;
    seat.options.later = row.later;
    seat.options.questions = row.asked;
    CHECK(model_strategist(seat, *room.rules)->questions_at_once(row.lookahead) == row.expected);
  }
}
