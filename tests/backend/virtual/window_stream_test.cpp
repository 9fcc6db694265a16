// Convolutions of single taps as streams: every form of one is right by its reference.
#include <cupilot/family.hpp>

#include "tests/backend/template_kernels.hpp"
#include "tests/backend/virtual/windows.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

const Sizes odd = {{"n", 2}, {"ch", 10}, {"o", 20}, {"d", 3}, {"h", 7}, {"w", 9}};
const Sizes even = {{"n", 2}, {"ch", 20}, {"o", 24}, {"d", 3}, {"h", 8}, {"w", 12}};

const Window plain = {"conv2d", plane, {"o", "ch", 1, 1}, {"n", "o", "h", "w"}};
const Values laid = {{"PLACES", 64}, {"BLOCK_N", 16}, {"CHANNELS", 32}, {"WARP_M", 32},
                     {"WARP_N", 8},  {"SIDES", 2},    {"STAGES", 2},    {"COPIERS", 1},
                     {"LAY", 1},     {"EVICT", 1}};
const Values direct = {{"PLACES", 32}, {"BLOCK_N", 32}, {"CHANNELS", 64}, {"WARP_M", 16},
                       {"WARP_N", 16}, {"SIDES", 1},    {"STAGES", 3},    {"COPIERS", 2},
                       {"LAY", 0},     {"EVICT", 0}};

TEST_CASE("streams copy whole places and fill others", "[hooks][threads]") {
  for (const Sizes& sizes : {odd, even}) {
    for (const bool before : {false, true}) {
      check_accepted(window_task(plain, sizes, Precision::tf32, before), "window_stream", laid);
      check_accepted(window_task(plain, sizes, Precision::fp32_emulated, before), "window_stream",
                     direct);
    }
  }
  Values deep = laid;
  deep["WARP_M"] = 64;
  deep["SIDES"] = 1;
  deep["WARP_N"] = 16;
  deep["BLOCK_N"] = 32;
  check_accepted(window_task(plain, even, Precision::fp32_emulated, false), "window_stream", deep);
}

// Tiles of odd and even lines come by copies of one and of two elements; warps past the last
// channel end, and of those that have some the lines of these are stored.
TEST_CASE("streams of partial tiles of channels, at any alignment", "[hooks][threads]") {
  const Values fine = {{"PLACES", 128}, {"BLOCK_N", 48}, {"CHANNELS", 24}, {"WARP_M", 32},
                       {"WARP_N", 24},  {"SIDES", 2},    {"STAGES", 2},    {"COPIERS", 2},
                       {"LAY", 1},      {"EVICT", 0}};
  Values narrow = fine;
  narrow["PLACES"] = 32;
  narrow["BLOCK_N"] = 80;
  narrow["WARP_N"] = 16;
  narrow["SIDES"] = 1;
  Values rows = fine;
  rows["BLOCK_N"] = 112;
  rows["WARP_N"] = 56;
  rows["WARP_M"] = 16;
  rows["LAY"] = 0;
  const auto sized = [](int o, int h, int w) {
    return Sizes{{"n", 2}, {"ch", 22}, {"o", o}, {"d", 3}, {"h", h}, {"w", w}};
  };
  // Without a function behind the sum, so that bounds are those of sums.
  const auto bare = [](const Sizes& sizes, Precision precision, bool before) {
    std::vector<Operation> operations;
    if (before) operations.push_back({"before", "relu", {"x"}, {"r"}});
    operations.push_back({"conv", "conv2d", {before ? "r" : "x", "k"}, {"y"}});
    const auto task =
        graph_task({input("x", plane), input("k", plain.weight), output("y", plain.result)},
                   std::move(operations), sizes, precision);
    REQUIRE(task);
    return *task;
  };
  for (const Sizes& sizes : {sized(20, 7, 15), sized(37, 7, 22), sized(61, 8, 21)}) {
    for (const Values& values : {fine, narrow, rows})
      check_accepted(bare(sizes, Precision::tf32, false), "window_stream", values);
    check_accepted(bare(sizes, Precision::fp32_emulated, true), "window_stream", fine);
  }
}

// First and last place of a square that is read across lie as far apart as where they are
// neighbours.
TEST_CASE("streams tell a square image that is read across", "[hooks][threads]") {
  const Sizes square = {{"n", 2}, {"ch", 20}, {"o", 24}, {"h", 8}, {"w", 8}};
  const auto task = graph_task(
      {input("x", plane), input("k", plain.weight), output("y", plain.result)},
      {{"turn", "transpose", {"x"}, {"t"}, {{"dim0", std::int64_t{2}}, {"dim1", std::int64_t{3}}}},
       {"conv", "conv2d", {"t", "k"}, {"y"}}},
      square, Precision::tf32);
  REQUIRE(task);
  check_accepted(*task, "window_stream", laid);
}

TEST_CASE("streams serve lines, spaces, groups, steps and padding", "[hooks][threads]") {
  const std::vector<Window> windows = {
      {"conv1d", {"n", "ch", "w"}, {"o", "ch", 1}, {"n", "o", "w"}},
      {"conv3d", {"n", "ch", "d", "h", "w"}, {"o", "ch", 1, 1, 1}, {"n", "o", "d", "h", "w"}},
      {"conv_transpose2d", plane, {"ch", "o", 1, 1}, {"n", "o", "h", "w"}},
      {"conv2d", plane, {"o", "ch/2", 1, 1}, {"n", "o", "h", "w"}, {{"groups", std::int64_t{2}}}},
      // Elements that lie apart, and places outside of x.
      {"conv2d",
       plane,
       {"o", "ch", 1, 1},
       {"n", "o", "(h-1)/2+1", "(w-1)/2+1"},
       {{"stride", Integers{2, 2}}}},
      {"conv2d", plane, {"o", "ch", 1, 1}, {"n", "o", "h+2", "w+2"}, {{"padding", Integers{1, 1}}}},
      {"conv1d", {"n", "ch", "w"}, {"o", "ch", 1}, {"n", "o", "w+8"}, {{"padding", Integers{4}}}}};
  for (const Window& window : windows) {
    check_accepted(window_task(window, even, Precision::tf32, false), "window_stream", laid);
    check_accepted(window_task(window, odd, Precision::tf32, false), "window_stream", direct);
  }
}

TEST_CASE("streams go on: more tiles than blocks", "[hooks][threads]") {
  // Two groups of channels by 67 tiles or more, of which one is not whole, for each image; lines of
  // a multiple of 4, of 2 and of 1.
  for (const int across : {92, 94, 91}) {
    const Sizes sizes = {{"n", 3}, {"ch", 8}, {"o", 40}, {"h", 47}, {"w", across}};
    check_accepted(window_task(plain, sizes, Precision::tf32, false), "window_stream", direct);
    Values two = laid;
    two["STAGES"] = 3;
    check_accepted(window_task(plain, sizes, Precision::tf32, false), "window_stream", two);
  }
}

TEST_CASE("streams refuse what does not stay in registers", "[hooks]") {
  const auto refuses = [](const Task& task) {
    const auto templates = templates_of(builtin_families(), task);
    const Tunable* tunable = named(templates, task, "window_stream");
    return tunable == nullptr || !instantiate(*tunable, task, virtual_h200().device(), laid);
  };
  const Window taps{"conv2d", plane, {"o", "ch", 1, 2}, {"n", "o", "h", "w-1"}};
  CHECK(refuses(window_task(taps, even, Precision::tf32, false)));
  CHECK(refuses(window_task(plain, even, Precision::fp32_strict, false)));
  CHECK_FALSE(refuses(window_task(plain, even, Precision::tf32, false)));
}

}  // namespace
}  // namespace cupilot
