// 10 000 answers that went wrong on the way: each ends as what was asked for or as a named fault.
#include <cupilot/parts/models.hpp>

#include <map>

#include <cupilot/parts/model_agents.hpp>

#include "agents/models/reply.hpp"
#include "agents/models/untrusted.hpp"
#include "catch.hpp"
#include "support/scripted_chat.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

constexpr int mutants = 10000;
constexpr std::size_t remark = 40;  // what says how much of a text was left out

const std::vector<std::string>& words() {
  static const std::vector<std::string> all = {"```",
                                               "```cuda\n",
                                               "// cupilot: {",
                                               "{",
                                               "[",
                                               "\"",
                                               "\\",
                                               "\\u0000",
                                               "\\ud800",
                                               "\n",
                                               std::string(1, '\0'),
                                               "\xFF",
                                               "\xE2\x80\xAE",
                                               "9223372036854775808",
                                               "-1e999",
                                               "null",
                                               "true",
                                               "\"free\"",
                                               "__global__",
                                               "\"launches\":[]",
                                               "\"plan\"",
                                               "cdiv(",
                                               "((((((((((",
                                               "1/0",
                                               "<|im_end|>",
                                               "\"strategies\"",
                                               "\"techniques\"",
                                               "\"value\"",
                                               std::string(3000, '['),
                                               std::string(3000, '('),
                                               "{\"a\":",
                                               "#include \"cupilot/none.cuh\"\n",
                                               "#include \"cupilot/wgmma.cuh\"\n"};
  return all;
}

std::string mutated(std::string text, const std::vector<std::string>& seeds, Rng& rng) {
  const auto at = [&] {
    return static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(text.size()) + 1));
  };
  const int edits = 1 + static_cast<int>(rng.below(4));
  for (int edit = 0; edit < edits; ++edit) {
    const std::size_t place = at(), length = static_cast<std::size_t>(rng.below(40));
    const std::string& word =
        words()[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(words().size())))];
    const std::string& other =
        seeds[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(seeds.size())))];
    switch (rng.below(7)) {
      case 0:
        if (place < text.size()) text[place] = static_cast<char>(text[place] ^ (1 << rng.below(8)));
        break;
      case 1:
        text.erase(place, length);
        break;
      case 2:
        text.insert(place, word);
        break;
      case 3:
        text.resize(place);
        break;
      case 4:
        text.insert(place, text.substr(at(), length));
        break;
      case 5:
        text = text.substr(0, place) + other.substr(std::min(other.size(), at()));
        break;
      default:
        text.replace(place, std::min(length, text.size() - place), word);
    }
  }
  return text;
}

bool sound(const Strategy& strategy, const Space& space) {
  for (const Use& use : strategy.uses) {
    const bool offered =
        std::any_of(space.techniques().begin(), space.techniques().end(),
                    [&](const Technique& row) { return row.name == use.technique; });
    if (use.technique == "free" ? use.text.empty() : !offered) return false;
    if (tamed_line(use.text, longest_free_text + remark) != use.text) return false;
  }
  return !strategy.uses.empty() && strategy.parents.empty() && strategy.origin.empty() &&
         space.complete(strategy);
}

bool sound(const KernelSource& source) {
  return !source.plan.launches.empty() && source.template_name.empty() &&
         source.strategy_id.empty() && is_utf8(source.text);
}

}  // namespace

TEST_CASE("10 000 mutated answers end as an answer or as a named fault", "[agents][hostile]") {
  const auto tape = read_tape("examples/model_tape/tape.jsonl");
  REQUIRE(tape);
  Task task;
  task.family = "softmax";
  const auto space = free_space(task);
  REQUIRE(space);
  std::vector<std::string> seeds;
  for (const TapeEntry& entry : tape->entries) seeds.push_back(entry.reply.text);
  seeds.push_back(
      R"({"strategies":[{"techniques":[{"name":"unroll","settings":[{"name":"unroll_k","value":4}],"text":""},)"
      R"({"name":"free","settings":[],"text":"a warp a row"}],"rationale":"because"}]})");
  std::map<std::string, int> outcomes;
  int unsound = 0;
  for (int mutant = 0; mutant < mutants; ++mutant) {
    Rng rng = Rng::of(11, "mutated reply", static_cast<std::uint64_t>(mutant));
    const std::string& seed =
        seeds[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(seeds.size())))];
    const ChatReply reply = said(mutated(seed, seeds, rng));
    const auto kernel = read_kernel_reply(reply);
    const auto strategies = read_strategy_reply(reply, **space, 8);
    const auto prose = read_prose_reply(reply, 200);
    if (const auto* source = std::get_if<KernelSource>(&kernel)) unsound += sound(*source) ? 0 : 1;
    if (const auto* list = std::get_if<std::vector<Strategy>>(&strategies)) {
      for (const Strategy& strategy : *list) unsound += sound(strategy, **space) ? 0 : 1;
    }
    if (const auto* text = std::get_if<std::string>(&prose))
      unsound += text->size() > 260 || text->empty() ? 1 : 0;
    const auto* fault = std::get_if<Unreadable>(&kernel);
    ++outcomes[fault != nullptr ? std::string(name_of(fault->fault)) : "a kernel"];
    fault = std::get_if<Unreadable>(&strategies);
    ++outcomes[fault != nullptr ? std::string(name_of(fault->fault)) : "strategies"];
  }
  CHECK(unsound == 0);
  // The mutants reach every kind of end that one answer can have.
  for (const char* name :
       {"a kernel", "strategies", "not_text", "no_file", "several_files", "unclosed", "bad_header",
        "no_plan", "no_kernel", "not_json", "bad_shape"}) {
    INFO(name);
    CHECK(outcomes[name] > 0);
  }
}
