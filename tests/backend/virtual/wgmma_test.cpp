#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using Values = std::map<std::string, std::int64_t>;

Use use(const char* technique, Values values = {}) {
  return {technique, std::move(values), "", {}};
}

struct Row {
  std::vector<std::string> words;
  std::vector<Use> uses;
};

void check_accepted(const Row& row, const char* template_name) {
  const Task task = gemm(row.words);
  check_kept(task, row.uses);
  const CompiledKernel kernel = kernel_of(task, row.uses);
  CHECK(kernel.source.template_name == template_name);
  // Seed and content decide whether copies and products come early or late: of these, every other
  // one late.
  std::vector<Case> cases(4);
  for (Case& one : cases) one.workload = task.time_shapes[0];
  cases[0].content = {5, ContentKind::ordinary};
  cases[1].content = {6, ContentKind::ordinary};
  cases[2].content = {6, ContentKind::probe};
  cases[3].content = {7, ContentKind::probe};
  const auto report = virtual_h200().run(TaskRef(task), kernel, cases);
  REQUIRE(report);
  for (const CaseReport& one : report->cases) {
    for (const Fault& fault : one.faults)
      UNSCOPED_INFO(fault.code << ": " << fault.message << " " << fault.where);
  }
  CHECK(verdict_of(report).empty());
}

TEST_CASE(
    "GEMMs of tensor maps and wgmma are accepted in every schedule, layout and epilogue, in early "
    "and late mode",
    "[templates]") {
  const auto row = GENERATE(values<Row>({
      {{"m=136", "n=200", "k=200", "dtype=bf16", "layout=nt"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 128}}),
        use("warp_specialisation", {{"consumers", 2}}), use("multistage", {{"stages", 3}}),
        use("tensor_map_store", {{"strips", 1}})}},
      {{"m=200", "n=264", "k=136", "dtype=fp16"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 128}, {"tile_n", 64}}),
        use("warp_specialisation", {{"consumers", 2}}), use("multistage", {{"stages", 2}}),
        use("ping_pong"), use("cluster_multicast", {{"cluster_m", 2}, {"cluster_n", 1}})}},
      {{"m=72", "n=176", "k=88", "dtype=bf16", "layout=tt", "batch=2", "alpha=2", "beta=0.5",
        "bias=1", "act=gelu"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 64}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 2}}),
        use("tensor_map_store", {{"strips", 1}}),
        use("cluster_multicast", {{"cluster_m", 1}, {"cluster_n", 2}})}},
      {{"m=64", "n=40", "k=520", "dtype=fp16", "layout=tn", "out=fp32"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 64}}),
        use("warp_specialisation", {{"consumers", 2}}), use("multistage", {{"stages", 4}}),
        use("tensor_map_store", {{"strips", 2}}), use("split_k", {{"split", 4}})}},
      {{"m=72", "n=136", "k=100", "dtype=fp32", "precision=tf32", "layout=nt"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 64}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 3}}),
        use("tensor_map_store", {{"strips", 2}})}},
      {{"m=72", "n=72", "k=304", "dtype=e4m3", "layout=nt"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 128}, {"tile_n", 80}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 2}})}},
      {{"m=201", "n=61", "k=72", "dtype=bf16", "layout=nt"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 48}}),
        use("warp_specialisation", {{"consumers", 3}}), use("multistage", {{"stages", 2}})}},
      // Blocks take several tiles: results wait in registers for the next tile's products; strips
      // of one unit.
      {{"m=232", "n=536", "k=136", "dtype=bf16", "layout=nt"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 16}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 3}}),
        use("tensor_map_store", {{"strips", 1}}), use("deferred_store"), use("evict_first_store"),
        use("rotated_k"), use("raster", {{"group_m", 4}, {"curve", 1}})}},
      // Tiles of a width that fills no whole box of turned columns; every slab of a tile is summed
      // by another block.
      {{"m=200", "n=344", "k=328", "dtype=fp16"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 128}, {"tile_n", 168}}),
        use("warp_specialisation", {{"consumers", 2}}), use("multistage", {{"stages", 2}}),
        use("tensor_map_store", {{"strips", 1}}), use("stream_k", {{"stream_waves", 1}})}},
      // Shares of clusters that end within a tile, packed results among them.
      {{"m=568", "n=264", "k=256", "dtype=bf16", "layout=nt", "bias=1"},
       {use("wgmma_core"), use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 64}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 2}}),
        use("cluster_multicast", {{"cluster_m", 2}, {"cluster_n", 1}}),
        use("tensor_map_store", {{"strips", 2}}), use("deferred_store"),
        use("stream_k", {{"stream_waves", 2}})}},
  }));
  check_accepted(row, "gemm_wgmma");
}

TEST_CASE(
    "fp32 GEMMs of split operands are accepted in every scheme, layout and epilogue, in early and "
    "late mode",
    "[templates]") {
  const auto row = GENERATE(values<Row>({
      {{"m=136", "n=100", "k=200", "dtype=fp32", "precision=tf32x3"},
       {use("wgmma_core"), use("operand_split", {{"scheme", 1}}),
        use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 64}}),
        use("warp_specialisation", {{"consumers", 2}}), use("multistage", {{"stages", 3}}),
        use("tensor_map_store", {{"strips", 1}})}},
      {{"m=72", "n=136", "k=201", "dtype=fp32", "precision=bf16x6", "layout=tt", "batch=2",
        "alpha=2", "beta=0.5", "bias=1", "act=gelu"},
       {use("wgmma_core"), use("operand_split", {{"scheme", 2}}),
        use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 64}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 2}}),
        use("cluster_multicast", {{"cluster_m", 1}, {"cluster_n", 2}})}},
      {{"m=65", "n=47", "k=520", "dtype=fp32", "precision=bf16x6", "layout=nt"},
       {use("wgmma_core"), use("operand_split", {{"scheme", 2}}),
        use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 48}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 3}}),
        use("split_k", {{"split", 3}})}},
      {{"m=136", "n=100", "k=200", "dtype=fp32", "precision=tf32x3"},
       {use("wgmma_core"), use("operand_split", {{"scheme", 1}}),
        use("register_split", {{"split_operand", 1}}),
        use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 64}}),
        use("warp_specialisation", {{"consumers", 2}}), use("multistage", {{"stages", 3}}),
        use("cluster_multicast", {{"cluster_m", 1}, {"cluster_n", 2}})}},
      {{"m=84", "n=47", "k=99", "dtype=fp32", "precision=tf32x3", "layout=tt", "batch=2"},
       {use("wgmma_core"), use("operand_split", {{"scheme", 1}}),
        use("register_split", {{"split_operand", 1}}),
        use("warpgroup_tile", {{"tile_m", 128}, {"tile_n", 48}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 2}}),
        use("cluster_multicast", {{"cluster_m", 1}, {"cluster_n", 2}})}},
      {{"m=33", "n=132", "k=200", "dtype=fp32", "precision=tf32x3", "alpha=2", "beta=0.5",
        "bias=1"},
       {use("wgmma_core"), use("operand_split", {{"scheme", 1}}),
        use("register_split", {{"split_operand", 2}}),
        use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 32}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 4}}),
        use("split_k", {{"split", 2}})}},
      {{"m=8", "n=128", "k=320", "dtype=fp32",
        "precision=tf32x3"},  // a ring that is walked more than once
       {use("wgmma_core"), use("operand_split", {{"scheme", 1}}),
        use("register_split", {{"split_operand", 2}}),
        use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 16}}),
        use("warp_specialisation", {{"consumers", 1}}), use("multistage", {{"stages", 3}})}},
      {{"m=136", "n=202", "k=300", "dtype=fp32", "precision=tf32x3", "layout=nt"},
       {use("wgmma_core"), use("operand_split", {{"scheme", 1}}),
        use("register_split", {{"split_operand", 2}}),
        use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 64}}),
        use("warp_specialisation", {{"consumers", 2}}), use("multistage", {{"stages", 2}}),
        use("stream_k", {{"stream_waves", 1}})}},
      {{"m=200", "n=72", "k=99", "dtype=fp32", "precision=bf16x3", "layout=tn"},
       {use("wgmma_core"), use("operand_split", {{"scheme", 3}}),
        use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 32}}),
        use("warp_specialisation", {{"consumers", 3}}), use("multistage", {{"stages", 2}}),
        use("cluster_multicast", {{"cluster_m", 2}, {"cluster_n", 1}})}},
  }));
  check_accepted(row, "gemm_wgmma_split");
}

const Use tile_64_64 = use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 64}});
const Use tile_64_80 = use("warpgroup_tile", {{"tile_m", 64}, {"tile_n", 80}});
const Use tile_128_64 = use("warpgroup_tile", {{"tile_m", 128}, {"tile_n", 64}});
const Use one_consumer = use("warp_specialisation", {{"consumers", 1}});
const Use two_consumers = use("warp_specialisation", {{"consumers", 2}});

TEST_CASE(
    "8-bit GEMMs whose sums are promoted are accepted in every epilogue, in early and late mode",
    "[templates]") {
  const auto row = GENERATE(values<Row>({
      {{"m=136", "n=88", "k=272", "dtype=e4m3", "precision=fp8-promoted", "layout=nt", "batch=2",
        "bias=1", "beta=0.5"},
       {use("wgmma_core"), use("accumulator_flush"), tile_64_80, two_consumers,
        use("multistage", {{"stages", 2}}),
        use("cluster_multicast", {{"cluster_m", 2}, {"cluster_n", 1}})}},
      {{"m=72", "n=136", "k=144", "dtype=e5m2", "precision=fp8-promoted", "layout=nt", "act=relu",
        "out=fp32"},
       {use("wgmma_core"), use("accumulator_flush"), tile_128_64, one_consumer,
        use("multistage", {{"stages", 3}}), use("tensor_map_store", {{"strips", 2}}),
        use("raster", {{"group_m", 4}, {"curve", 1}})}},
  }));
  check_accepted(row, "gemm_wgmma_promoted");
}

TEST_CASE(
    "8-bit GEMMs with factors are accepted, a factor a matrix or a block, in early and late mode",
    "[templates]") {
  const auto row = GENERATE(values<Row>({
      {{"m=72", "n=136", "k=272", "dtype=e4m3", "layout=nt", "batch=2", "scale=block", "alpha=2",
        "bias=1"},
       {use("wgmma_core"), tile_64_64, two_consumers, use("multistage", {{"stages", 2}}),
        use("cluster_multicast", {{"cluster_m", 1}, {"cluster_n", 2}})}},
      {{"m=136", "n=65", "k=1168", "dtype=e5m2", "layout=nt", "scale=block",
        "out=fp16"},  // more slabs than two groups
       {use("wgmma_core"), tile_128_64, one_consumer, use("multistage", {{"stages", 3}})}},
      {{"m=72", "n=200", "k=272", "dtype=e4m3", "layout=nt", "scale=tensor", "act=silu"},
       {use("wgmma_core"), tile_64_64, two_consumers, use("multistage", {{"stages", 3}}),
        use("tensor_map_store", {{"strips", 1}})}},
  }));
  check_accepted(row, "gemm_wgmma_scaled");
}

TEST_CASE("operands that do not lie along K are turned for types that need it, whatever their size",
          "[templates]") {
  const auto row = GENERATE(values<Row>({
      {{"m=80", "n=133", "k=201", "dtype=e4m3", "layout=tn", "batch=2"},
       {use("wgmma_core"), use("operand_turn"), tile_64_64, two_consumers,
        use("multistage", {{"stages", 2}})}},
      {{"m=131", "n=264", "k=272", "dtype=e5m2", "precision=fp8-promoted"},
       {use("wgmma_core"), use("operand_turn"), use("gemm_wgmma_turned", {{"promoted", 1}}),
        tile_64_80, two_consumers, use("multistage", {{"stages", 2}}),
        use("cluster_multicast", {{"cluster_m", 2}, {"cluster_n", 1}})}},
      {{"m=99", "n=72", "k=100", "dtype=fp32", "precision=tf32", "layout=tt", "alpha=2"},
       {use("wgmma_core"), use("operand_turn"), tile_64_64, one_consumer,
        use("multistage", {{"stages", 3}}), use("tensor_map_store", {{"strips", 1}})}},
      {{"m=37", "n=51", "k=43", "dtype=fp32", "precision=tf32", "layout=tn"},
       {use("wgmma_core"), use("operand_turn"), tile_64_64, one_consumer,
        use("multistage", {{"stages", 2}})}},
  }));
  check_accepted(row, "gemm_wgmma_turned");
}

TEST_CASE("a kernel whose 8-bit sums are not promoted is refused where the contract asks for it",
          "[threads]") {
  const std::vector<std::string> words = {"m=64", "n=64", "k=1024", "dtype=e4m3", "layout=nt"};
  std::vector<std::string> stricter = words;
  stricter.push_back("precision=fp8-promoted");
  const Task task = gemm(words);
  const CompiledKernel kernel = kernel_of(
      task, {use("wgmma_core"), tile_64_64, one_consumer, use("multistage", {{"stages", 2}})});
  std::vector<Case> cases(1);
  cases[0].workload = task.time_shapes[0];
  cases[0].content = {5, ContentKind::constant_rows};
  CHECK(verdict_of(virtual_h200().run(TaskRef(task), kernel, cases)).empty());
  CHECK(verdict_of(virtual_h200().run(TaskRef(gemm(stricter)), kernel, cases)) == "verify.bound");
}

}  // namespace
}  // namespace cupilot
