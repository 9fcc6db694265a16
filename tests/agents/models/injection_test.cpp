// Text of strangers that gives orders: it reaches prompts as data, whatever it says.
#include <algorithm>

#include <cupilot/parts/model_agents.hpp>

#include "agents/models/asking.hpp"
#include "agents/models/untrusted.hpp"
#include "catch.hpp"
#include "support/injections.hpp"
#include "support/scripted_chat.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

struct Shape {
  std::size_t messages = 0, fences = 0, blocks = 0, marks = 0;
  std::string tail;  // behind the last fence
  bool operator==(const Shape&) const = default;
};

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

Shape shape_of(const ChatRequest& request, const std::string& stranger) {
  Shape shape;
  shape.messages = request.messages.size();
  for (const ChatMessage& message : request.messages) {
    shape.fences += count(message.text, "=====");
    shape.blocks += count(message.text, "```");
    shape.marks += count(message.text, "<|") + count(message.text, "[INST]");
  }
  const std::string& last = request.messages.back().text;
  const std::size_t end = last.rfind("=====");
  shape.tail = end == std::string::npos ? "" : last.substr(end);
  // Strategies quote strangers on a line of their own, outside fences.
  std::string quote = tamed_line(stranger, 400);
  std::replace(quote.begin(), quote.end(), '"', '\'');
  quote = '"' + quote + '"';
  for (std::size_t at = shape.tail.find(quote); at != std::string::npos;
       at = shape.tail.find(quote, at))
    shape.tail.erase(at, quote.size());
  return shape;
}

// All prompts of all agents, with `stranger` wherever a stranger's text can come from.
std::vector<ChatRequest> prompts_with(const std::string& stranger) {
  auto task = load_task("examples/model_tape/task.json");
  task->reference.text = "// " + stranger + "\n" + task->reference.text;
  task->tensors[0].name = "x";
  const DeviceSpec device = *chip("h200");
  const auto tunable = load_tunable("examples/model_tape/rms_norm.cu");
  const auto space = make_space(*task, device, {*tunable});
  ScriptedChat model([](const ChatRequest&) -> Result<ChatReply> { return silence(); });
  Individual parent;
  parent.strategy.uses = {{"free", {}, stranger, {}}};
  parent.strategy.rationale = stranger;
  parent.time_us = 5;
  parent.verdict.digest = {"launch binds."};
  StrategyBrief brief;
  brief.space = space->get();
  brief.kind = BreedKind::cross;
  brief.parents = {parent, parent};
  brief.history = {{1, parent.strategy, 5, ""}, {2, parent.strategy, 0, "run.race"}};
  static_cast<void>(
      ask_strategist(model, strategist_head(*task, device, **space), {brief}, device, 2, "slot 1"));
  KernelSource kernel;
  kernel.text = "// " + stranger + "\nextern \"C\" __global__ void f() {}\n";
  kernel.plan.launches.resize(1);
  kernel.plan.launches[0].entry = "f";
  WriterBrief writing;
  writing.task = TaskRef(*task);
  writing.device = &device;
  writing.strategy = &parent.strategy;
  writing.key = "slot 1";
  const std::string head = writer_head(*task, device);
  static_cast<void>(ask_generator(model, head, writing, stranger));
  static_cast<void>(ask_generator(model, head, writing, "", {kernel.text, stranger, stranger}));
  static_cast<void>(
      ask_translator(model, head, writing, {kernel, parent.strategy, {"launch binds."}}));
  static_cast<void>(ask_crosser(model, head, writing, {kernel, {}, {}}, {kernel, {}, {}}));
  writing.failed = {kernel, {Stage::compile, "compile.error", stranger, stranger}, 1};
  static_cast<void>(ask_reviser(model, head, writing));
  static_cast<void>(ask_aligner(model, parent.strategy, {stranger}, kernel, "slot 1"));
  return model.asked;
}

}  // namespace

TEST_CASE("orders in a stranger's text change no prompt's bounds", "[agents][hostile]") {
  const std::vector<ChatRequest> plain = prompts_with("a quiet remark");
  REQUIRE(plain.size() == 7);
  CHECK(injections().size() >= 50);
  for (const std::string& injection : injections()) {
    INFO(injection);
    const std::vector<ChatRequest> asked = prompts_with(injection);
    REQUIRE(asked.size() == plain.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      Shape shape = shape_of(asked[i], injection), expected = shape_of(plain[i], "a quiet remark");
      CHECK((shape == expected));
      CHECK(asked[i].schema == plain[i].schema);
      CHECK(asked[i].key == plain[i].key);
      CHECK(asked[i].output_tokens == plain[i].output_tokens);
    }
  }
}
