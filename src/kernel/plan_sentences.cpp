#include "kernel/plan_sentences.hpp"

#include <fmt/format.h>

#include "kernel/library_step.hpp"

namespace cupilot {

std::vector<std::string> sentences_of(const ResolvedPlan& plan) {
  std::vector<std::string> out;
  std::string names;
  for (const ResolvedLaunch& launch : plan.launches) {
    if (launch.when == When::setup) names += (names.empty() ? "" : ", ") + launch.name;
  }
  for (const StepLibrary& library : step_libraries()) {
    std::string steps;
    for (const ResolvedLaunch& launch : plan.launches)
      if (launch.library == library.name) steps += (steps.empty() ? "" : ", ") + launch.name;
    if (!steps.empty())
      out.push_back(
          fmt::format("by {} where the device has it, by a plain kernel on a virtual one: {}",
                      library.title, steps));
  }
  bool arrays = false;
  for (const ResolvedTexture& texture : plan.textures)
    arrays = arrays || texture.state.memory == TextureMemory::array;
  if (arrays)
    out.push_back(
        "arrays of textures and surfaces are copies that each launch makes: within a "
        "measured time, not in a modelled one");
  if (names.empty()) return out;
  std::int64_t bytes = 0;
  for (const ResolvedBuffer& buffer : plan.buffers)
    bytes += buffer.content == BufferContent::table ? buffer.bytes : 0;
  out.push_back(
      fmt::format("not timed: setup launches, once for a shape and its constant tensors ({}); {} "
                  "bytes of tables",
                  names, bytes));
  return out;
}

std::string launched_sentence(std::size_t launches, Launched how) {
  if (how == Launched::apart)
    return fmt::format(
        "timed as {} launches one after another: the device captures no graph of them", launches);
  return fmt::format("{} as one captured graph of {} launches",
                     how == Launched::modelled ? "modelled" : "timed", launches);
}

}  // namespace cupilot
