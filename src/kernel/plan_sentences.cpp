#include "kernel/plan_sentences.hpp"

#include <fmt/format.h>

namespace cupilot {

std::vector<std::string> sentences_of(const ResolvedPlan& plan) {
  std::string names;
  for (const ResolvedLaunch& launch : plan.launches) {
    if (launch.when == When::setup) names += (names.empty() ? "" : ", ") + launch.name;
  }
  if (names.empty()) return {};
  std::int64_t bytes = 0;
  for (const ResolvedBuffer& buffer : plan.buffers)
    bytes += buffer.content == BufferContent::table ? buffer.bytes : 0;
  return {
      fmt::format("not timed: setup launches, once for a shape and its constant tensors ({}); {} "
                  "bytes of tables",
                  names, bytes)};
}

std::string launched_sentence(std::size_t launches, Launched how) {
  if (how == Launched::apart)
    return fmt::format(
        "timed as {} launches one after another: the device captures no graph of them", launches);
  return fmt::format("{} as one captured graph of {} launches",
                     how == Launched::modelled ? "modelled" : "timed", launches);
}

}  // namespace cupilot
