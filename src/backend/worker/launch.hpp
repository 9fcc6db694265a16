// Launches of untrusted kernels made ready from an order: what the runner and the counter share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/wire/frame.hpp"
#include "backend/worker/library_steps.hpp"
#include "backend/worker/session.hpp"
#include "backend/worker/texture.hpp"

namespace cupilot {

// A launch with its argument bytes in place; it holds pointers to its own members.
struct PreparedLaunch {
  CUfunction function = nullptr;
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes;
  std::vector<std::vector<std::uint8_t>> values;
  std::vector<CUtensorMap> maps;
  std::vector<void*> pointers;
  std::vector<std::shared_ptr<BoundTexture>> textures;  // copied before it, surfaces after it
  std::string name;
  std::function<void()> call;  // a step of the library; empty: the function is launched
};

// `choice`: of the algorithms of a library's steps. Throws OrderRefused or CudaFailure.
std::vector<std::unique_ptr<PreparedLaunch>> prepare_launches(CudaSession& session,
                                                              LibrarySteps& library,
                                                              const RunOrder& order,
                                                              AlgorithmChoice choice);
void launch_one(PreparedLaunch& prepared);
void clear(CudaSession& session, const std::vector<Region>& regions);

// Maps the slot of a map_slot frame. One that is mapped already is mapped anew: that is how its
// access changes.
void map_slot(CudaSession& session, const Frame& frame);

}  // namespace cupilot
