#include "backend/virtual/counts.hpp"

#include <cmath>
#include <map>
#include <set>

#include "backend/virtual/extrapolate.hpp"
#include "backend/virtual/shape.hpp"
#include "backend/virtual/traffic.hpp"
#include "catch.hpp"
#include "ptx/syntax/parser.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

double total(const std::vector<Sample>& samples) {
  double sum = 0;
  for (const Sample& one : samples) sum += one.weight * static_cast<double>(one.blocks.size());
  return sum;
}

TEST_CASE("Samples stand for every block of the grid once") {
  using Grid = std::array<std::int64_t, 3>;
  const Grid grid = GENERATE(Grid{1, 1, 1}, Grid{2, 1, 1}, Grid{7, 1, 1}, Grid{1000, 1, 1},
                             Grid{32, 16, 1}, Grid{1, 5, 1}, Grid{3, 4, 8}, Grid{9, 1, 4});
  for (const bool columns : {false, true}) {
    const auto samples = choose_samples(grid, columns);
    INFO(grid[0] << "," << grid[1] << "," << grid[2] << " columns " << columns);
    CHECK(total(samples) == Approx(static_cast<double>(grid[0] * grid[1] * grid[2])));
    CHECK(samples.size() <= 11);
    for (const Sample& one : samples) {
      CHECK(one.weight <= samples[0].weight);
      CHECK(std::is_sorted(one.blocks.begin(), one.blocks.end()));
      CHECK(one.blocks.back() < static_cast<std::uint64_t>(grid[0] * grid[1] * grid[2]));
    }
  }
}

TEST_CASE("The middle of a grid is sampled at two rows and two planes that follow one another") {
  // Blocks of the middle, which stand for most of the grid, by parity of row and plane.
  const auto parities = [](const std::array<std::int64_t, 3>& grid) {
    const auto samples = choose_samples(grid, false);
    std::map<std::pair<std::uint64_t, std::uint64_t>, double> weights;
    const auto x = static_cast<std::uint64_t>(grid[0]), y = static_cast<std::uint64_t>(grid[1]);
    for (const Sample& one : samples) {
      if (one.weight < samples[0].weight) continue;
      const std::uint64_t row = one.blocks[0] / x % y, plane = one.blocks[0] / (x * y);
      weights[{row % 2, plane % 2}] += one.weight;
    }
    return weights;
  };
  CHECK(parities({8, 9, 1}).size() == 2);
  CHECK(parities({8, 257, 64}).size() == 4);
  CHECK(parities({1, 8, 8}).size() == 4);
  CHECK(parities({8, 3, 1}).size() == 1);
  for (const auto& [parity, weight] : parities({8, 9, 1})) CHECK(weight == 7 * 4);
}

TEST_CASE("A column holds every block along the last side") {
  const auto along_z = choose_samples({4, 4, 3}, true);
  CHECK(along_z[0].blocks == std::vector<std::uint64_t>{5, 21, 37});
  const auto along_y = choose_samples({1, 3, 1}, true);
  REQUIRE(along_y.size() == 1);
  CHECK(along_y[0].blocks == std::vector<std::uint64_t>{0, 1, 2});
}

TEST_CASE("Witnesses come from all of the grid, whole columns where asked") {
  std::set<std::uint64_t> alone, along;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Sample one = witness_of({3, 2, 4}, false, Rng(i)),
                 column = witness_of({3, 2, 4}, true, Rng(i));
    REQUIRE(one.blocks.size() == 1);
    alone.insert(one.blocks[0]);
    REQUIRE(column.blocks.size() == 4);
    for (std::size_t z = 1; z < 4; ++z) CHECK(column.blocks[z] == column.blocks[z - 1] + 6);
    along.insert(column.blocks[0]);
  }
  CHECK(alone.size() == 24);
  CHECK(*alone.rbegin() == 23);
  CHECK(along.size() == 6);
  CHECK(*along.rbegin() == 5);
}

Task three_axes() {
  Task task;
  task.axes = {{"m", AxisKind::free},
               {"n", AxisKind::free},
               {"k", AxisKind::reduced},
               {"f", AxisKind::fixed}};
  return task;
}

TEST_CASE("Shrunk axes keep residues, order and at least the asked tiles") {
  const Task task = three_axes();
  const Workload workload{{{"m", 4095}, {"n", 4097}, {"k", 1023}, {"f", 5000}}, 1};
  for (const std::int64_t tiles : {1, 2}) {
    const auto axes = shrunk_axes(task, workload, 128, tiles);
    REQUIRE(axes.size() == 3);
    for (const AxisPair& axis : axes) {
      CHECK(axis.low % 128 == axis.full % 128);
      CHECK(axis.high == axis.low + 128);
      CHECK(axis.high < axis.full);
      CHECK(axis.low / 128 >= tiles);
    }
  }
  CHECK(shrunk_axes(task, {{{"m", 384}, {"n", 1}, {"k", 100}, {"f", 9}}, 1}, 128, 2).size() ==
        1);  // k: one and two
}

TEST_CASE("A row of several axes stays whole where its axes are shorter than a step") {
  struct Row {
    const char* what;
    std::vector<std::pair<AxisKind, std::int64_t>> axes;
    std::size_t shrunk;  // axes, all free
  };
  const Row rows[] = {
      {"a norm of images",
       {{AxisKind::free, 16},
        {AxisKind::reduced, 64},
        {AxisKind::reduced, 96},
        {AxisKind::reduced, 96}},
       1},
      {"of many", {{AxisKind::free, 4096}, {AxisKind::reduced, 64}, {AxisKind::reduced, 64}}, 1},
      {"a short row", {{AxisKind::free, 16}, {AxisKind::reduced, 3}, {AxisKind::reduced, 3}}, 0},
      {"one axis", {{AxisKind::free, 16}, {AxisKind::reduced, 100}}, 0},
      {"a product", {{AxisKind::free, 512}, {AxisKind::free, 512}, {AxisKind::reduced, 512}}, 0},
      {"a long axis among them",
       {{AxisKind::free, 16}, {AxisKind::reduced, 64}, {AxisKind::reduced, 4096}},
       0},
      {"axes of one", {{AxisKind::free, 16}, {AxisKind::reduced, 100}, {AxisKind::reduced, 1}}, 0},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Task task;
    Workload workload;
    for (const auto& [kind, extent] : row.axes) {
      const std::string name(1, static_cast<char>('a' + task.axes.size()));
      task.axes.push_back({name, kind});
      workload.sizes[name] = extent;
    }
    const std::vector<AxisPair> axes = whole_row_axes(task, workload, 128);
    CHECK(axes.size() == row.shrunk);
    for (const AxisPair& one : axes) CHECK(one.axis == "a");
  }
}

TEST_CASE("The residue step is a multiple of what fits") {
  CHECK(residue_step({}) == 32);
  CHECK(residue_step({{"BM", 128}, {"BN", 64}, {"BK", 16}}) == 128);
  CHECK(residue_step({{"BM", 96}, {"BN", 64}}) == 192);
  CHECK(residue_step({{"BM", 512}, {"STAGES", 3}}) == 512);
  CHECK(residue_step({{"BIG", 100000}}) == 32);
  // Rows of whole 16-byte units keep them.
  CHECK(residue_step({{"CONSUMERS", 3}, {"STAGES", 7}, {"TILE_N", 200}}) % 16 == 0);
}

TEST_CASE("The fit is exact for products of axes and blind to nothing it was given") {
  const std::vector<AxisPair> axes = {{"m", 2, 3, 40}, {"n", 5, 9, 60}, {"k", 1, 2, 8}};
  const auto truth = [](const Sizes& s) {
    const double m = static_cast<double>(s.at("m")), n = static_cast<double>(s.at("n")),
                 k = static_cast<double>(s.at("k"));
    return 3 + 2 * m + n - 4 * k + 0.5 * m * n + m * k + 7 * m * n * k;
  };
  std::vector<double> values;
  for (std::size_t i = 0; i < 8; ++i) {
    Sizes sizes;
    for (std::size_t a = 0; a < 3; ++a)
      sizes[axes[a].axis] = (i >> a & 1) != 0 ? axes[a].high : axes[a].low;
    values.push_back(truth(sizes));
  }
  const Sizes full = {{"m", 40}, {"n", 60}, {"k", 8}};
  CHECK(multilinear(axes, values, full) == Approx(truth(full)));
  CHECK(multilinear({}, {42}, full) == 42);
}

TEST_CASE("Counting shrinks the longest free axes until tensors fit, and keeps residues") {
  Task task = three_axes();
  task.tensors = {{"a", Role::in, DType::f32, {"m", "k"}, {}, {}, {}},
                  {"d", Role::out, DType::f32, {"m", "n"}, {}, {}, {}}};
  const PlanAt always = [](const Workload&) -> Attempt<Resolution> {
    return Resolution{ResolvedPlan{}};
  };
  const Workload full{{{"m", 8195}, {"n", 8193}, {"k", 4096}, {"f", 3}}, 1};
  const Workload smaller = counting_workload(task, always, full, 128);
  const std::int64_t m = smaller.sizes.at("m"), n = smaller.sizes.at("n");
  CHECK(m % 128 == 3);
  CHECK(n % 128 == 1);
  CHECK(smaller.sizes.at("k") == 4096);
  CHECK(4 * m * 4096 + 8 * m * n <= counting_bytes);
  CHECK(m >= 256);
  CHECK(counting_workload(task, always, smaller, 128) == smaller);
  const PlanAt never = [](const Workload& at) -> Attempt<Resolution> {
    if (at.sizes.at("m") < 8195 || at.sizes.at("n") < 8193) return Resolution{NotForThisShape{"m"}};
    return Resolution{ResolvedPlan{}};
  };
  CHECK(counting_workload(task, never, full, 128) == full);
}

ptx::Module module_of(const std::string& body) {
  auto module = ptx::parse(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n.reg "
      ".b32 %r<4>; "
      ".reg .b64 %rd<4>;\n" +
      body + "\nret;\n}\n");
  REQUIRE(module);
  return std::move(*module);
}

Measurement modelled_on_h200(const Task& task, const CompiledKernel& kernel) {
  const Subject own[] = {{Subject::Kind::candidate, "own", &kernel}};
  const auto reports = virtual_h200().measure(TaskRef(task), task.time_shapes.front(), own, {});
  REQUIRE(reports);
  REQUIRE(reports->front().measurement);
  return *reports->front().measurement;
}

TEST_CASE(
    "Blocks that stay are counted at full size, where fewer tiles would tell of another deal") {
  const Task task = gemm({"m=4096", "n=6144", "k=128", "dtype=bf16"});
  const std::vector<Use> uses = {{"wgmma_core"},
                                 {"warp_specialisation", {{"consumers", 2}}},
                                 {"warpgroup_tile", {{"tile_m", 64}, {"tile_n", 240}}},
                                 {"cluster_multicast", {{"cluster_m", 2}, {"cluster_n", 1}}}};
  check_kept(task, uses);
  const Measurement modelled = modelled_on_h200(task, kernel_of(task, uses));
  const Count& operations = modelled.counts[Counter::ops_tensor_bf16];
  CHECK(operations.value == Approx(2.0 * 4096 * (26 * 240) * 128).epsilon(0.05));
}

TEST_CASE(
    "A grid that reaches its most blocks between half the work and all of it is counted whole") {
  // 160 tiles are dealt to 132 blocks, 80 to 80.
  const Task task = gemm({"m=6144", "n=640", "k=7168", "dtype=bf16", "layout=nt"});
  const std::vector<Use> uses = {{"wgmma_core"},
                                 {"warp_specialisation", {{"consumers", 3}}},
                                 {"warpgroup_tile", {{"tile_m", 64}, {"tile_n", 128}}},
                                 {"multistage", {{"stages", 4}}}};
  check_kept(task, uses);
  const Measurement modelled = modelled_on_h200(task, kernel_of(task, uses));
  CHECK(modelled.counts[Counter::ops_tensor_bf16].high >= 2.0 * 6144 * 640 * 7168);
}

TEST_CASE("A ragged row of tiles is counted as often as it stands, whatever the order of tiles") {
  // 25 whole rows of five tiles of 256 x 64, and one of which 64 rows lie in the matrix.
  const Task task = gemm({"m=6464", "n=320", "k=512", "dtype=fp16"});
  const double whole = (256 + 64) * 512 * 2, rest = (64 + 64) * 512 * 2;
  const std::int64_t rows = GENERATE(1, 32);
  std::vector<Use> uses = {{"wgmma_core"},
                           {"warp_specialisation", {{"consumers", 2}}},
                           {"warpgroup_tile", {{"tile_m", 128}, {"tile_n", 64}}},
                           {"multistage", {{"stages", 4}}}};
  if (rows > 1) uses.push_back({"raster", {{"curve", 0}, {"group_m", rows}}});
  check_kept(task, uses);
  const Measurement modelled = modelled_on_h200(task, kernel_of(task, uses));
  CHECK(modelled.counts[Counter::async_copy_bytes].value ==
        Approx(125 * whole + 5 * rest).epsilon(0.06));
}

TEST_CASE("Tickets and flags make blocks dependent") {
  const auto of = [](const std::string& body) {
    const ptx::Module module = module_of(body);
    return dependence_of(module, *module.entry("k"));
  };
  CHECK_FALSE(of("ld.global.u32 %r1, [%rd1];").tickets);
  CHECK_FALSE(of("red.global.add.u32 [%rd1], 1;").tickets);
  CHECK_FALSE(of("atom.shared.add.u32 %r1, [%r2], 1;").tickets);
  CHECK(of("atom.global.add.u32 %r1, [%rd1], 1;").tickets);
  CHECK(of("atom.add.u32 %r1, [%rd1], 1;").tickets);
  CHECK_FALSE(of("atom.global.add.u32 %r1, [%rd1], 1;").waits);
  CHECK(of("ld.acquire.gpu.global.u32 %r1, [%rd1];").waits);
  CHECK(of("ld.volatile.global.u32 %r1, [%rd1];").waits);
}

TEST_CASE("Rounds in flight are read off the waits") {
  const auto of = [](const std::string& body) {
    const ptx::Module module = module_of(body);
    return rounds_ahead(module, *module.entry("k"));
  };
  CHECK(of("") == -1);
  CHECK(of("cp.async.wait_all;") == 1);
  CHECK(of("cp.async.wait_group 0;") == 1);
  CHECK(of("cp.async.wait_group 2;\ncp.async.wait_group 0;") == 3);
  CHECK(of("cp.async.bulk.wait_group 0;") == -1);  // of stores
  const std::string copy = "cp.async.ca.shared.global [%r1], [%rd1], 4;\ncp.async.commit_group;\n",
                    work = "ld.shared.u32 %r3, [%r2];\n", back = "bra LOOP;\n";
  const auto wait = [](int groups) {
    return "cp.async.wait_group " + std::to_string(groups) + ";\n";
  };
  CHECK(of("LOOP:\n" + copy + wait(0) + work + back) == 0);
  CHECK(of("LOOP:\n" + copy + wait(2) + work + back) == 2);
  CHECK(of("LOOP:\n" + copy + work + wait(0) + back) == 1);
  CHECK(of(copy + "LOOP:\n" + wait(0) + copy + work + back) == 1);
  CHECK(of("LOOP:\n" + wait(1) + copy + work + back) == 2);
}

TEST_CASE("What a text told of a launch becomes the time model's input") {
  ModelInput input;
  input.blocks = 264;
  input.threads_per_block = 128;
  input.shared_bytes = 100 << 10;
  const auto set = [&](Counter counter, double value) {
    input.counts[counter] = {value, value, value, CountHow::exact};
  };
  set(Counter::global_load_requests, 264 * 4 * 60);
  set(Counter::barriers, 264 * 4 * 10);
  ptx::Chain chain;
  chain.waits = 20;
  put_chain(input, chain);
  CHECK(input.loads_in_flight == Approx(3));
  put_ring(input, chain, 1);
  CHECK(input.rounds == 0);  // there is none
  chain.fills = 16;
  chain.mbarriers = 9;  // four stages and another
  put_ring(input, chain, 2);
  CHECK(input.rounds == Approx(32));
  CHECK(input.rounds_ahead == Approx(3));
  add_spills(input, 8);
  CHECK(input.counts[Counter::local_bytes].value == Approx(264.0 * 128 * 8 * 10));
  price_as_busiest(input, *chip("h200"), 1.5);
  CHECK(input.blocks == 176);
  input.blocks = 1000;  // one follows another
  price_as_busiest(input, *chip("h200"), 1.5);
  CHECK(input.blocks == 1000);
}

TEST_CASE("Blocks that wait for one another are counted at the work each has on the whole device",
          "[templates]") {
  const Task task = gemm({"m=2048", "n=4096", "k=4096", "dtype=bf16"});
  const std::vector<Use> uses = {{"wgmma_core"},
                                 {"warpgroup_tile", {{"tile_m", 128}, {"tile_n", 128}}},
                                 {"warp_specialisation", {{"consumers", 2}}},
                                 {"stream_k", {{"stream_waves", 1}}}};
  check_kept(task, uses);
  const Counts counts = modelled_on_h200(task, kernel_of(task, uses)).counts;
  const Count& operations = counts[Counter::ops_tensor_bf16];
  CHECK(operations.how == CountHow::extrapolated);
  CHECK(operations.value == Approx(2.0 * 2048 * 4096 * 4096).epsilon(0.02));
  // What 256 tiles of 256 x 128 read, and parts of at most 132 of them that are summed.
  const double operands = 256.0 * (256 + 128) * 4096 * 2, parts = 132.0 * 256 * 128 * 4 * 2;
  CHECK(counts[Counter::l2_bytes].value > operands);
  CHECK(counts[Counter::l2_bytes].value < 1.1 * operands + 2 * parts);
}

// Kernels whose times on an H200 are kept: docs/results/h200-evolve/fp32-512.json,
// hopper-gemm/fp32-1024.json and acceptance-1.json, bench/landscapes/h200/bf16-4096, and task 6 of
// kernelbench/suite-h200.json.
struct Timed {
  std::vector<std::string> words;
  std::vector<Use> uses;
  double measured_us;
};

std::vector<Timed> timed_kernels() {
  const std::vector<Use> simt = {{"simt_core"},
                                 {"block_tile", {{"block_m", 64}, {"block_n", 32}}},
                                 {"k_slab", {{"block_k", 16}}},
                                 {"thread_tile", {{"thread_m", 8}, {"thread_n", 2}}},
                                 {"vector_load", {{"vector", 4}}},
                                 {"shared_padding", {{"pad", 4}}},
                                 {"register_prefetch"},
                                 {"split_k", {{"split", 3}}},
                                 {"launch_bounds", {{"min_blocks", 2}}},
                                 {"unroll", {{"unroll_k", 8}}},
                                 {"transpose_on_load"},
                                 {"cache_hint"},
                                 {"lane_grid", {{"lanes_m", 4}}},
                                 {"predicated_tail"}};
  const std::vector<Use> ring = {{"streamed_simt_core", {{"thread_m", 4}, {"thread_n", 8}}},
                                 {"block_tile", {{"block_m", 64}, {"block_n", 128}}},
                                 {"k_slab", {{"block_k", 32}}},
                                 {"multistage", {{"stages", 3}}},
                                 {"unroll", {{"unroll_k", 16}}},
                                 {"serpentine"},
                                 {"column_runs"},
                                 {"lane_grid", {{"lanes_m", 16}}}};
  const std::vector<Use> wgmma = {{"wgmma_core"},
                                  {"warpgroup_tile", {{"tile_m", 128}, {"tile_n", 192}}},
                                  {"ping_pong"},
                                  {"warp_specialisation", {{"consumers", 2}}},
                                  {"multistage", {{"stages", 4}}},
                                  {"tensor_map_store", {{"strips", 2}}}};
  // Its blocks stay and wait for one another.
  const std::vector<Use> streamed = {{"wgmma_core"},
                                     {"warpgroup_tile", {{"tile_m", 128}, {"tile_n", 128}}},
                                     {"warp_specialisation", {{"consumers", 2}}},
                                     {"multistage", {{"stages", 4}}},
                                     {"stream_k", {{"stream_waves", 1}}}};
  // Its grid grows with short sums alone.
  const std::vector<Use> split = {{"simt_core"},
                                  {"block_tile", {{"block_m", 64}, {"block_n", 256}}},
                                  {"k_slab", {{"block_k", 32}}},
                                  {"thread_tile", {{"thread_m", 8}, {"thread_n", 8}}},
                                  {"vector_load", {{"vector", 2}}},
                                  {"shared_padding", {{"pad", 4}}},
                                  {"multistage", {{"stages", 4}}},
                                  {"async_copy"},
                                  {"fragment_double_buffer"},
                                  {"split_k", {{"split", 32}}},
                                  {"vector_epilogue", {{"store_vector", 2}}},
                                  {"lane_grid", {{"lanes_m", 2}}}};
  return {{{"m=256", "n=256", "k=524288"}, split, 1522},
          {{"m=512", "n=512", "k=512"}, simt, 18.3},
          {{"m=1024", "n=1024", "k=1024"}, ring, 59.5},
          {{"m=8192", "n=8192", "k=512", "dtype=bf16"}, wgmma, 95.8},
          {{"m=4096", "n=4096", "k=4096", "dtype=bf16"}, streamed, 212.5}};
}

TEST_CASE("Times modelled from counts lie within a quarter of an H200's", "[templates]") {
  for (const Timed& timed : timed_kernels()) {
    const Task task = gemm(timed.words);
    const CompiledKernel kernel = kernel_of(task, timed.uses);
    INFO(kernel.source.template_name);
    const double us = modelled_on_h200(task, kernel).time_us;
    CHECK(us > timed.measured_us / 1.25);
    CHECK(us < timed.measured_us * 1.25);
  }
}

// A sum of one element is counted whole up to some length and told from shorter ones above it.
TEST_CASE("A modelled time grows with a sum, however it is counted", "[templates]") {
  const std::vector<Use> split = {{"simt_core"},
                                  {"block_tile", {{"block_m", 16}, {"block_n", 16}}},
                                  {"k_slab", {{"block_k", 32}}},
                                  {"thread_tile", {{"thread_m", 1}, {"thread_n", 8}}},
                                  {"multistage", {{"stages", 3}}},
                                  {"async_copy"},
                                  {"split_k", {{"split", 32}}}};
  const auto modelled = [&](const char* k) {
    const Task task = gemm({"m=1", "n=1", k});
    return modelled_on_h200(task, kernel_of(task, split));
  };
  const Measurement whole = modelled("k=100003"), told = modelled("k=500009");
  CHECK(whole.counts[Counter::warp_instructions].how != CountHow::extrapolated);
  CHECK(told.counts[Counter::warp_instructions].how == CountHow::extrapolated);
  CHECK(told.time_us > 3.5 * whole.time_us);
  CHECK(told.time_us < 6 * whole.time_us);
}

TEST_CASE("Traffic lies between unique bytes and requests") {
  Task task;
  task.axes = {{"n", AxisKind::free}};
  task.tensors = {{"x", Role::in, DType::f32, {"n"}, {}, {}, {}},
                  {"y", Role::out, DType::f32, {"n"}, {}, {}, {}}};
  const Workload workload{{{"n", 64 << 20}}, 1};
  const DeviceSpec device = *chip("h200");
  ResolvedPlan plan;
  plan.launches.resize(1);
  plan.launches[0].args = {{ResolvedArgument::Kind::tensor, 0, {}},
                           {ResolvedArgument::Kind::tensor, 1, {}}};
  std::vector<ModelInput> launches(1);
  launches[0].blocks = 1 << 16;
  launches[0].threads_per_block = 256;
  const double bytes = 256.0 * (1 << 20);
  const auto set = [&](Counter counter, double value) {
    launches[0].counts[counter] = {value, value, value, CountHow::exact};
  };
  set(Counter::global_load_sectors, 4 * bytes / 32);
  set(Counter::global_store_sectors, bytes / 32);
  REQUIRE(estimate_traffic(device, task, workload, plan, launches));
  const Count& read = launches[0].counts[Counter::dram_read_bytes];
  CHECK(read.low == bytes);
  CHECK(read.high == 4 * bytes);
  CHECK(read.value >= read.low);
  CHECK(read.value <= read.high);
  CHECK(launches[0].counts[Counter::dram_write_bytes].value == bytes);
  CHECK(launches[0].counts[Counter::l2_bytes].value == 5 * bytes);
}

TEST_CASE("a plan of another number of launches at smaller shapes is not extrapolated") {
  // The plain baseline folds a long row in parts by several launches, a short one by fewer.
  const auto task = task_from_words({"kernelbench:1/94"});
  REQUIRE(task);
  const Subject plain[] = {{Subject::Kind::plain, "plain", nullptr}};
  const auto reports = virtual_h200().measure(TaskRef(*task), task->time_shapes.front(), plain, {});
  REQUIRE(reports);
  const Attempt<Measurement>& measured = reports->front().measurement;
  if (measured) {
    CHECK(measured->time_us < 1e9);
  } else {
    REQUIRE(measured.is_rejected());
    CHECK_THAT(measured.rejected().message, Catch::Contains("another number of kernels"));
  }
}

TEST_CASE("what goes over a line for each of its elements grows with the square of the line") {
  const auto time_of = [](std::int64_t cols) {
    Task task;
    task.name = task.family = "centred";
    task.axes = {{"rows"}, {"cols", AxisKind::reduced}};
    task.tensors = {Tensor{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                    Tensor{"y", Role::out, DType::f32, {"rows", "cols"}, {}, {}, {}}};
    task.time_shapes = {{{{"rows", 256}, {"cols", cols}}}};
    task.work.flops = "2*rows*cols";
    task.reference.text =
        "__device__ real reference_y(const Inputs& in, long long i) { const long long r = i / "
        "in.cols; real sum = real(0.0); for (long long c = 0; c < in.cols; ++c) sum += in.x(r * "
        "in.cols + c); return in.x(i) - sum / real(in.cols); }";
    const Subject plain[] = {{Subject::Kind::plain, "plain", nullptr}};
    const auto reports = virtual_h200().measure(TaskRef(task), task.time_shapes.front(), plain, {});
    REQUIRE(reports);
    if (reports->front().measurement.is_rejected())
      FAIL(reports->front().measurement.rejected().message);
    REQUIRE(reports->front().measurement);
    return reports->front().measurement->time_us;
  };
  const double times = time_of(1 << 20) / time_of(1 << 19);
  CHECK(times > 3.5);
  CHECK(times < 4.5);
}

TEST_CASE("what goes over two axes for each element is counted at a few elements of each",
          "[threads]") {
  Task task;
  task.name = task.family = "normed";
  task.axes = {{"batch", AxisKind::reduced}, {"features"}, {"plane", AxisKind::reduced}};
  const std::vector<Expr> shape = {"batch", "features", "plane"};
  task.tensors = {Tensor{"x", Role::in, DType::f32, shape, {}, {}, {}},
                  Tensor{"y", Role::out, DType::f32, shape, {}, {}, {}}};
  task.time_shapes = {{{{"batch", 64}, {"features", 64}, {"plane", 65536}}}};
  task.work.flops = "2*batch*features*plane";
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long i) { const long long f = i / "
      "in.plane % in.features; real sum = real(0.0); for (long long b = 0; b < in.batch; ++b) for "
      "(long long p = 0; p < in.plane; ++p) sum += in.x((b * in.features + f) * in.plane + p); "
      "return in.x(i) - sum / real(in.batch * in.plane); }";
  const Subject plain[] = {{Subject::Kind::plain, "plain", nullptr}};
  const auto reports = virtual_h200().measure(TaskRef(task), task.time_shapes.front(), plain, {});
  REQUIRE(reports);
  const Attempt<Measurement>& measured = reports->front().measurement;
  if (measured.is_rejected()) FAIL(measured.rejected().message);
  REQUIRE(measured);
  // 2^28 elements go over 2^22 each: at two instructions of a warp and 2^40 of these a second.
  CHECK(measured->time_us > 30e6);
  CHECK(measured->time_us < 300e6);
}

}  // namespace
}  // namespace cupilot
