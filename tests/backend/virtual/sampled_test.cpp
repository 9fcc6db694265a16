#include "backend/virtual/sampled.hpp"

#include "catch.hpp"
#include "tests/backend/virtual/counted.hpp"

namespace cupilot {

TEST_CASE("Lines that blocks store in part are told from those that they fill", "[templates]") {
  // Rows of 1152 bytes, of which a tile has 288 or 384.
  const Task task = gemm({"m=256", "n=576", "k=64", "dtype=bf16"});
  const auto lines = [&](std::int64_t columns) {
    Counted counted(task, instance(task, "gemm_wgmma", {{"TILE_M", 64}, {"TILE_N", columns}}));
    return counted.at_full_size().back().stored_lines;
  };
  CHECK(lines(144) == Approx(3 * 128.0 / 288).epsilon(0.05));
  CHECK(lines(192) == 1);
}

}  // namespace cupilot
