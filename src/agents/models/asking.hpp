// The agents: each asks a model one thing and reads the answer. An answer that cannot be read is
// asked for once more, saying why; a second one ends in Unreadable. Error: no answer could be had.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <cupilot/parts/model_agents.hpp>

#include "agents/models/reply.hpp"

namespace cupilot {

template <class T>
using Answer = Result<Read<T>>;

// True for an error that says that no answer can be had now.
inline bool is_silence(const Error& error) {
  return error.code == ErrorCode::endpoint || error.code == ErrorCode::budget;
}
// Its reason and the next step, in one line.
inline std::string reason_of(const Error& error) {
  return error.hint.empty() ? error.message : error.message + "; next: " + error.hint;
}

// Constant heads of the prompts of one run: kept by endpoints, so they come first and never change.
struct PromptHeads {
  std::string writer;      // task, device, rules, headers
  std::string strategist;  // task, device, techniques
};
std::string writer_head(const Task& task, const DeviceSpec& device);
std::string strategist_head(const Task& task, const DeviceSpec& device, const Space& space);

// Strategies for what a brief says: an initial set, a cross of two parents, an improvement of
// one, an exploration. Each is completed in the brief's space, free techniques beside it; at most
// `count`. Never sees source. Several briefs are asked at once, and answered in their order: the
// second one under the key "KEY b".
std::vector<Answer<std::vector<Strategy>>> ask_strategist(
    ChatClient& client, const std::string& head, const std::vector<StrategyBrief>& briefs,
    const DeviceSpec& device, std::size_t count, const std::string& key);

// Whole kernels. Device headers that the answer includes stand in its text.
// The first kernel, where there is none to begin with; `statement`: what the task computes, in the
// user's words; `example`: shown in place of the built-in one. A strategy that speaks of copies and
// clusters is shown the headers for them.
Answer<KernelSource> ask_generator(ChatClient& client, const std::string& head,
                                   const WriterBrief& brief, const std::string& statement,
                                   const ProvedKernel& example = {});
// One strategy, one kernel to begin with and the difference of their strategies.
Answer<KernelSource> ask_translator(ChatClient& client, const std::string& head,
                                    const WriterBrief& brief, const WriterBrief::Base& base);
// Two kernels, crossed as texts: what strategies are compared with.
Answer<KernelSource> ask_crosser(ChatClient& client, const std::string& head,
                                 const WriterBrief& brief, const WriterBrief::Base& base,
                                 const WriterBrief::Base& other);
// brief.failed, mended.
Answer<KernelSource> ask_reviser(ChatClient& client, const std::string& head,
                                 const WriterBrief& brief);

// The reason of a strategy that alignment changed, rewritten by a model that sees its kernel.
Answer<std::string> ask_aligner(ChatClient& client, const Strategy& aligned,
                                const std::vector<std::string>& changes, const KernelSource& kernel,
                                const std::string& key);

}  // namespace cupilot
