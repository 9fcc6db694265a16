#include "agents/models/align.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <cupilot/parts/technique.hpp>

#include "agents/write/device_headers.hpp"

namespace cupilot {
namespace {

// Traces beyond Technique::must. `any`: each is a set of words that one opcode holds together; one
// of them has to occur. `counted`: what is counted when it runs. `plan`: whether the launch plan
// says it.
struct Trace {
  const char* technique;
  std::vector<std::vector<const char*>> any;
  std::optional<Counter> counted;
  bool (*plan)(const LaunchPlan&) = nullptr;
};

bool clusters(const LaunchPlan& plan) {
  return std::any_of(plan.launches.begin(), plan.launches.end(), [](const PlanLaunch& launch) {
    return std::any_of(launch.cluster.begin(), launch.cluster.end(),
                       [](const Expr& extent) { return extent.text != "1"; });
  });
}

const std::vector<Trace>& traces() {
  static const std::vector<Trace> rows = {
      {"mma_core", {{"mma.sync"}}, Counter::ops_tensor_bf16, nullptr},
      {"mma_core", {{"mma.sync"}}, Counter::ops_tensor_fp16, nullptr},
      {"wgmma_core", {{"wgmma.mma_async"}}, Counter::ops_tensor_bf16, nullptr},
      {"wgmma_core", {{"wgmma.mma_async"}}, Counter::ops_tensor_fp16, nullptr},
      {"async_copy", {{"cp.async"}}, Counter::async_copy_bytes, nullptr},
      {"cluster_multicast", {{"multicast"}}, std::nullopt, clusters},
      {"vector_load",
       {{"ld.global", ".v2"},
        {"ld.global", ".v4"},
        {"ld.global", "b128"},
        {"cp.async"},
        {"cp.async.bulk"}},
       std::nullopt,
       nullptr},
      {"vector_epilogue",
       {{"st.global", ".v2"}, {"st.global", ".v4"}, {"st.global", "b128"}, {"cp.async.bulk"}},
       std::nullopt,
       nullptr},
      {"cache_hint", {{"ld.global.nc"}, {"L1::no_allocate"}, {"L2::"}}, std::nullopt, nullptr},
      {"evict_first_store", {{"st.global.cs"}, {"evict_first"}}, std::nullopt, nullptr},
      {"l2_prefetch", {{"prefetch"}}, std::nullopt, nullptr},
      {"multistage", {{"cp.async"}, {"cp.async.bulk"}, {"mbarrier"}}, std::nullopt, nullptr},
      {"staged_epilogue", {{"st.shared"}, {"stmatrix"}}, std::nullopt, nullptr},
      {"row_per_warp", {{"shfl.sync"}, {"redux.sync"}}, std::nullopt, nullptr},
      {"online_reduction", {{"ex2"}}, std::nullopt, nullptr},
  };
  return rows;
}

// A bulk copy is another instruction than cp.async, whose name it begins with.
bool holds_word(const std::string& opcode, std::string_view word) {
  if (word == "cp.async" && opcode.find("cp.async.bulk") != std::string::npos) return false;
  return opcode.find(word) != std::string::npos;
}

bool occurs(const PtxFacts& facts, const std::vector<const char*>& words) {
  return std::any_of(facts.opcodes.begin(), facts.opcodes.end(), [&](const auto& opcode) {
    return std::all_of(words.begin(), words.end(),
                       [&](const char* word) { return holds_word(opcode.first, word); });
  });
}

// The trace that the claim lacks; "": it lacks none.
std::string missing_trace(const std::string& technique, const PtxFacts& facts) {
  if (const Technique* row = find_technique(technique)) {
    for (const std::string& opcode : row->must) {
      if (!occurs(facts, {opcode.c_str()})) return opcode;
    }
  }
  for (const Trace& trace : traces()) {
    if (trace.technique != technique) continue;
    const bool shown = std::any_of(trace.any.begin(), trace.any.end(),
                                   [&](const auto& words) { return occurs(facts, words); });
    if (!shown) return fmt::format("{}", fmt::join(trace.any.front(), "…"));
  }
  return "";
}

bool was_run(const Trace& trace, const CompiledKernel& kernel, const Counts& executed) {
  const bool shown = std::any_of(trace.any.begin(), trace.any.end(),
                                 [&](const auto& words) { return occurs(kernel.facts, words); });
  if (!shown) return false;
  if (trace.plan != nullptr) return trace.plan(kernel.source.plan);
  return trace.counted && executed[*trace.counted].low > 0;
}

bool holds(const Strategy& strategy, std::string_view technique) {
  return std::any_of(strategy.uses.begin(), strategy.uses.end(),
                     [&](const Use& use) { return use.technique == technique; });
}

// The writer is asked to name in comments the techniques that it realises.
bool declares(const std::string& text, const std::string& technique) {
  return text.find(technique) != std::string::npos;
}

// A claim that leaves no trace in the PTX stands on the writer's word alone.
bool leaves_trace(const std::string& technique) {
  const Technique* row = find_technique(technique);
  if (row != nullptr && !row->must.empty()) return true;
  return std::any_of(traces().begin(), traces().end(),
                     [&](const Trace& trace) { return trace.technique == technique; });
}

// Drops what neither the PTX nor the writer shows. A text that names no technique at all declares
// nothing, and nothing is concluded from it.
void drop_undeclared(Strategy& strategy, const std::string& text,
                     std::vector<std::string>& changes) {
  const auto named = [&](const Use& use) {
    return use.text.empty() && declares(text, use.technique);
  };
  if (std::none_of(strategy.uses.begin(), strategy.uses.end(), named)) return;
  std::erase_if(strategy.uses, [&](const Use& use) {
    const bool drop = use.text.empty() && !leaves_trace(use.technique) &&
                      find_technique(use.technique) != nullptr && !declares(text, use.technique);
    if (drop)
      changes.push_back(
          fmt::format("{} dropped: it leaves no trace, and no comment names it", use.technique));
    return drop;
  });
}

// The threads of a block are a fact of the plan, whatever was claimed.
void correct_threads(Strategy& strategy, const LaunchPlan& plan,
                     std::vector<std::string>& changes) {
  const auto use = std::find_if(strategy.uses.begin(), strategy.uses.end(),
                                [](const Use& one) { return one.technique == "row_per_block"; });
  if (use == strategy.uses.end() || plan.launches.size() != 1 || plan.launches[0].block.size() != 1)
    return;
  const std::string& text = plan.launches[0].block[0].text;
  if (text.empty() || text.size() > 4 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return;
  const std::int64_t threads = std::stoll(text);
  const auto claimed = use->values.find("block_threads");
  if (claimed == use->values.end() || claimed->second == threads) return;
  changes.push_back(fmt::format("row_per_block has {} threads, not {}", threads, claimed->second));
  claimed->second = threads;
}

// Bytes that "ld.global.nc.v4.f32" moves; 0: its name does not tell.
int bytes_of(std::string_view opcode) {
  int count = 1, bits = 0;
  while (!opcode.empty()) {
    const std::size_t end = std::min(opcode.find('.'), opcode.size());
    const std::string_view part = opcode.substr(0, end);
    opcode.remove_prefix(std::min(end + 1, opcode.size()));
    int number = 0;
    for (const char c : part.substr(std::min<std::size_t>(1, part.size())))
      number = c >= '0' && c <= '9' && number >= 0 && number < 1000 ? 10 * number + c - '0' : -1;
    if (part.size() < 2 || number <= 0) continue;
    if (part[0] == 'v') count = number;
    if (std::string_view("bfsu").find(part[0]) != std::string_view::npos) bits = number;
  }
  return count * bits / 8;
}

// The size that the elements of all tensors of these roles have; 0: they differ.
int element_bytes(const Task& task, bool outputs) {
  int bytes = 0;
  for (const Tensor& tensor : task.tensors) {
    const bool other = outputs ? tensor.role == Role::in || tensor.role == Role::constant
                               : tensor.role == Role::out;
    if (other) continue;
    if (bytes != 0 && bytes != size_of(tensor.type)) return 0;
    bytes = size_of(tensor.type);
  }
  return bytes;
}

// Elements of the widest access are a fact of the PTX. Copies past registers do not tell theirs.
void correct_width(Strategy& strategy, const PtxFacts& facts, const Task& task, bool stores,
                   std::vector<std::string>& changes) {
  const char* const technique = stores ? "vector_epilogue" : "vector_load";
  const char* const parameter = stores ? "store_vector" : "vector";
  const char* const access = stores ? "st.global" : "ld.global";
  const auto use = std::find_if(strategy.uses.begin(), strategy.uses.end(),
                                [&](const Use& one) { return one.technique == technique; });
  const int element = element_bytes(task, stores);
  if (use == strategy.uses.end() || element == 0 || occurs(facts, {"cp.async"}) ||
      occurs(facts, {"cp.async.bulk"}))
    return;
  int widest = 0;
  for (const auto& [opcode, count] : facts.opcodes)
    if (holds_word(opcode, access)) widest = std::max(widest, bytes_of(opcode));
  const auto claimed = use->values.find(parameter);
  const std::int64_t wide = widest / element;
  if (claimed == use->values.end() || wide == 0 || claimed->second == wide) return;
  changes.push_back(fmt::format("{} of {} is {}, not {}: the widest {} moves {} bytes", parameter,
                                technique, wide, claimed->second, access, widest));
  claimed->second = wide;
}

}  // namespace

Alignment aligned(const Strategy& claimed, const CompiledKernel& kernel, const Counts& executed,
                  const Task* task) {
  Alignment result{claimed, {}};
  std::erase_if(result.strategy.uses, [&](const Use& use) {
    const std::string trace = missing_trace(use.technique, kernel.facts);
    if (!trace.empty())
      result.changes.push_back(
          fmt::format("{} dropped: the PTX holds no {}", use.technique, trace));
    return !trace.empty();
  });
  drop_undeclared(result.strategy, with_includes(kernel.source.text), result.changes);
  for (const Trace& trace : traces()) {
    if (holds(result.strategy, trace.technique) || holds(claimed, trace.technique) ||
        !was_run(trace, kernel, executed))
      continue;
    result.strategy.uses.push_back({trace.technique, {}, "", {}});
    result.changes.push_back(fmt::format("{} added: it was executed", trace.technique));
  }
  correct_threads(result.strategy, kernel.source.plan, result.changes);
  for (const bool stores : {false, true})
    if (task != nullptr)
      correct_width(result.strategy, kernel.facts, *task, stores, result.changes);
  return result;
}

}  // namespace cupilot
