// A small task and tunables in their file form, with what a user's own file may hold.
#pragma once

#include <string>

#include <cupilot/parts/agents.hpp>

#include "catch.hpp"
#include "support/gemm.hpp"

namespace cupilot {

inline Tunable tunable_from(const std::string& header) {
  const auto tunable =
      parse_tunable("/* cupilot tunable 1\n" + header + "\n*/\n__global__ void f() {}\n", "toy.cu");
  INFO((tunable ? std::string() : tunable.error().message));
  REQUIRE(tunable);
  return *tunable;
}

inline Task gemm_of(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::f32) {
  GemmSpec spec;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.dtype = dtype;
  const auto task = gemm_task(spec);
  REQUIRE(task);
  return *task;
}

inline DeviceSpec h200() {
  const auto device = chip("h200");
  REQUIRE(device);
  return *device;
}

}  // namespace cupilot
