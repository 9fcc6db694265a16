// Convolutions from patches in shared memory: every form of a window is right by its reference.
#include <cupilot/family.hpp>

#include "tests/backend/template_kernels.hpp"
#include "tests/backend/virtual/counted.hpp"
#include "tests/backend/virtual/windows.hpp"

namespace cupilot {
namespace {

const Sizes sizes = {{"n", 2}, {"ch", 10}, {"o", 20}, {"d", 5}, {"h", 11}, {"w", 19}};
const Values small = {{"GROUPS", 1}, {"PARTS", 1}, {"BLOCK_N", 16},
                      {"ACROSS", 1}, {"STEPS", 1}, {"STAGES", 2}};
const Values wide = {{"GROUPS", 2},    {"PARTS", 2}, {"BLOCK_N", 24}, {"ACROSS", 2},
                     {"CHANNELS", 16}, {"STEPS", 2}, {"STAGES", 3}};

// Taps two apart at steps of three: each phase of rows has other taps, 2, 1 and 1 of them.
const Window six_phases = {"conv_transpose2d",
                           plane,
                           {"ch", 10, 4, 3},
                           {"n", "20", "(h-1)*3+5", "w*2"},
                           {{"stride", Integers{3, 2}},
                            {"padding", Integers{1, 1}},
                            {"dilation", Integers{2, 1}},
                            {"output_padding", Integers{0, 1}},
                            {"groups", std::int64_t{2}}}};

TEST_CASE("patches serve planes at every stride, dilation and padding", "[hooks][threads]") {
  const std::vector<Window> windows = {
      {"conv2d", plane, {"o", "ch", 3, 3}, {"n", "o", "h-2", "w-2"}},
      {"conv2d", plane, {"o", "ch", 5, 7}, {"n", "o", "h", "w-2"}, {{"padding", Integers{2, 2}}}},
      {"conv2d", plane, {"o", "ch", 1, 4}, {"n", "o", "h", "w-3"}},
      {"conv2d",
       plane,
       {"o", "ch", 3, 2},
       {"n", "o", "(h-1)/2+1", "(w-1)/3+1"},
       {{"stride", Integers{2, 3}}, {"padding", Integers{1, 1}}, {"dilation", Integers{1, 2}}}},
      {"conv2d",
       plane,
       {"o", 5, 3, 3},
       {"n", "o", "h-2", "w"},
       {{"padding", Integers{1, 1}}, {"dilation", Integers{2, 1}}, {"groups", std::int64_t{2}}}}};
  for (const Window& window : windows) {
    check_accepted(window_task(window, sizes, Precision::tf32, false), "window_patch", wide);
    check_accepted(window_task(window, sizes, Precision::fp32_emulated, true), "window_patch",
                   small);
  }
  Values lines = wide;
  lines["LINE"] = 64;
  lines["ACROSS"] = 1;
  check_accepted(window_task(windows[0], sizes, Precision::fp32_emulated, false), "window_patch",
                 lines);
}

TEST_CASE("patches serve lines, spaces and single taps", "[hooks][threads]") {
  const std::vector<Window> windows = {
      {"conv1d", {"n", "ch", "w"}, {"o", "ch", 3}, {"n", "o", "w-2"}},
      {"conv3d",
       {"n", "ch", "d", "h", "w"},
       {"o", "ch", 3, 2, 3},
       {"n", "o", "d", "h-1", "w-2"},
       {{"padding", Integers{1, 0, 0}}}},
      {"conv2d", plane, {"o", "ch", 1, 1}, {"n", "o", "h", "w"}}};
  for (const Window& window : windows) {
    check_accepted(window_task(window, sizes, Precision::tf32, false), "window_patch", small);
    check_accepted(window_task(window, sizes, Precision::tf32, true), "window_patch", small);
  }
}

TEST_CASE("patches serve the phases of transposed windows", "[hooks][threads]") {
  const std::vector<Window> windows = {
      {"conv_transpose2d", plane, {"ch", "o", 3, 4}, {"n", "o", "h+2", "w+3"}},
      six_phases,
      // Every second place is reached by no tap.
      {"conv_transpose2d",
       plane,
       {"ch", 10, 3, 1},
       {"n", "10", "(h-1)*2+5", "w"},
       {{"stride", Integers{2, 1}}, {"dilation", Integers{2, 1}}}}};
  for (const Window& window : windows) {
    check_accepted(window_task(window, sizes, Precision::tf32, false), "window_patch", wide);
    check_accepted(window_task(window, sizes, Precision::fp32_emulated, true), "window_patch",
                   small);
  }
}

TEST_CASE("phases are computed from one patch and leave together", "[hooks][threads]") {
  struct Joined {
    Window window{};
    std::vector<std::int64_t> joins{};  // 1: columns, 2: rows too
  };
  const std::vector<Joined> all = {
      {six_phases, {1, 2}},
      // Two of five columns are reached by no tap.
      {{"conv_transpose2d",
        plane,
        {"ch", "o", 2, 3},
        {"n", "o", "h+1", "(w-1)*5+5"},
        {{"stride", Integers{1, 5}}, {"dilation", Integers{1, 2}}}},
       {1}},
      // Every tap belongs to one of eight phases.
      {{"conv_transpose3d",
        {"n", "ch", "d", "h", "w"},
        {"ch", "o", 3, 3, 3},
        {"n", "o", "d*2+1", "h*2+1", "w*2+1"},
        {{"stride", Integers{2, 2, 2}},
         {"padding", Integers{1, 1, 1}},
         {"dilation", Integers{2, 2, 2}}}},
       {2}},
      {{"conv_transpose1d",
        {"n", "ch", "w"},
        {"ch", "o", 3},
        {"n", "o", "w*2+1"},
        {{"stride", Integers{2}}, {"padding", Integers{1}}, {"dilation", Integers{2}}}},
       {1}}};
  for (const auto& [window, joins] : all) {
    for (const std::int64_t join : joins) {
      Values several = wide, few = small;
      several["JOIN"] = few["JOIN"] = join;
      several["BLOCK_N"] = 16;
      few["STAY"] = 1;
      few["FILL"] = 7;
      few["STAGES"] = 3;
      check_accepted(window_task(window, sizes, Precision::tf32, false), "window_patch", several);
      check_accepted(window_task(window, sizes, Precision::fp32_emulated, true), "window_patch",
                     few);
    }
  }
  Values joined = wide;
  joined["JOIN"] = 1;
  const Window plain{"conv2d", plane, {"o", "ch", 3, 3}, {"n", "o", "h-2", "w-2"}};
  const Task task = window_task(plain, sizes, Precision::tf32, false);
  const auto templates = templates_of(builtin_families(), task);
  CHECK_FALSE(
      instantiate(*named(templates, task, "window_patch"), task, virtual_h200().device(), joined));
}

TEST_CASE("blocks that stay take further tiles", "[hooks][threads]") {
  // More tiles than the device has multiprocessors.
  Values stays = small;
  stays["STAY"] = 1;
  stays["BLOCK_N"] = 8;
  stays["STAGES"] = 3;
  check_accepted(window_task(six_phases, sizes, Precision::tf32, false), "window_patch", stays);
}

TEST_CASE("blocks that stay for hundreds of tiles are counted with all of their work",
          "[templates]") {
  const Window window{"conv2d", plane, {"o", "ch", 3, 3}, {"n", "o", "h-2", "w-2"}};
  const Sizes large = {{"n", 16}, {"ch", 8}, {"o", 128}, {"h", 1024}, {"w", 1024}};
  const Task task = window_task(window, large, Precision::tf32);
  const Values stays = {{"GROUPS", 2}, {"PARTS", 4},  {"BLOCK_N", 64},
                        {"LINE", 64},  {"ACROSS", 2}, {"STEPS", 3},
                        {"STAGES", 6}, {"STAY", 1},   {"CHANNELS", 8}};
  Counted counted(task, instance(task, "window_patch", stays));
  const std::vector<ModelInput> launches = counted.at_full_size();
  REQUIRE(launches.size() == 2);
  const Count& operations = launches[1].counts[Counter::ops_tensor_tf32];
  CHECK(operations.how == CountHow::extrapolated);
  CHECK(operations.value == Approx(2.0 * 16 * 128 * 8 * 9 * 1024 * 1024).epsilon(0.03));
}

TEST_CASE("a block too long for the samples' budget is counted where smaller shapes are, too",
          "[templates]") {
  const Window window{"conv2d", plane, {"o", "ch", 3, 3}, {"n", "o", "h-2", "w-2"}};
  const Sizes large = {{"n", 16}, {"ch", 16}, {"o", 128}, {"h", 1024}, {"w", 1024}};
  const Task task = window_task(window, large, Precision::tf32);
  const Values stays = {{"GROUPS", 2}, {"PARTS", 2},  {"BLOCK_N", 128},
                        {"LINE", 64},  {"ACROSS", 2}, {"STEPS", 8},
                        {"STAGES", 4}, {"STAY", 1},   {"CHANNELS", 8}};
  Counted counted(task, instance(task, "window_patch", stays));
  const std::vector<ModelInput> launches = counted.at_full_size();
  REQUIRE(launches.size() == 2);
  const Count& operations = launches[1].counts[Counter::ops_tensor_tf32];
  CHECK(operations.how == CountHow::sampled);
  CHECK(operations.value == Approx(2.0 * 16 * 128 * 16 * 9 * 1024 * 1024).epsilon(0.03));
}

TEST_CASE("patches are for tensor cores", "[hooks]") {
  const Window window{"conv2d", plane, {"o", "ch", 3, 3}, {"n", "o", "h-2", "w-2"}};
  const auto strict = window_task(window, sizes, Precision::fp32_strict, false);
  CHECK(named(templates_of(builtin_families(), strict), strict, "window_patch") == nullptr);
}

}  // namespace
}  // namespace cupilot
