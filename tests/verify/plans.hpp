// Kernels for the tests: a tiled split-K gemm's plan, as a template would write it.
#pragma once

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/verification.hpp>

#include "support/gemm.hpp"

namespace cupilot {

inline KernelSource tiled_gemm(
    Constants constants = {
        {"BM", 128}, {"BN", 64}, {"BK", 16}, {"STAGES", 3}, {"SPLIT", 4}, {"GROUP", 8}}) {
  KernelSource source;
  source.text = "none";
  source.constants = std::move(constants);
  source.plan.let = {{"tiles", "cdiv(m,BM)*cdiv(n,BN)"},
                     {"slabs", "cdiv(k,BK)"},
                     {"chunk", "cdiv(slabs,min(SPLIT,slabs))"},
                     {"split", "cdiv(slabs,chunk)"}};
  PlanLaunch launch{
      .name = "main", .entry = "gemm", .grid = {"tiles", "split", "batch"}, .block = {256}};
  launch.args = {
      {.name = "A"}, {.name = "B"}, {.name = "D"}, {.kind = PlanArgument::Kind::i32, .value = "k"}};
  source.plan.launches = {launch};
  return source;
}

inline Task gemm_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  return *gemm_task({.m = m, .n = n, .k = k, .batch = batch});
}

}  // namespace cupilot
