// Sums that blocks add up in parts, counted at full size against runs of all blocks.
#include "backend/virtual/parts_of_sums.hpp"

#include "support/graph.hpp"
#include "tests/backend/virtual/counted.hpp"

namespace cupilot {

TEST_CASE("Sums in parts are counted as runs of all blocks count them", "[templates]") {
  struct Row {
    const char* name;
    std::vector<std::string> words;
    Values values;
    double part;  // requests that read one block's part of a tile
  };
  const Row row =
      GENERATE(Row{"gemm_wgmma",
                   {"m=512", "n=512", "k=4096", "dtype=bf16"},
                   {{"TILE_M", 64}, {"TILE_N", 128}},
                   128.0 * 128 / 32},
               Row{"gemm_simt", {"m=192", "n=192", "k=3072"}, {{"BLOCK_K", 16}}, 64.0 * 64 / 32});
  const std::int64_t split = GENERATE(2, 4, 8);
  INFO(row.name << ", split " << split);
  const Task task = gemm(row.words);
  Values values = row.values;
  values["SPLIT"] = split;
  Counted counted(task, instance(task, row.name, values));
  const std::vector<ModelInput> inputs = counted.at_full_size();
  const Counts whole = counted.of_all_blocks();
  const ModelInput& input = inputs.back();
  for (const Counter counter :
       {Counter::warp_instructions, Counter::global_load_requests, Counter::global_store_requests,
        Counter::atomic_requests, Counter::async_copy_bytes}) {
    INFO(name_of(counter));
    CHECK(input.counts[counter].value == Approx(whole[counter].value).epsilon(0.03));
  }
  CHECK(input.last_block_requests == Approx(row.part * static_cast<double>(split)).epsilon(0.03));
}

TEST_CASE("Rows in parts are counted as runs of all blocks count them", "[templates]") {
  const auto task =
      support::graph_task({support::input("x", {"rows", "cols"}), support::output("y", {"rows"})},
                          {{"m", "mean", {"x"}, {"y"}, {{"dim", std::vector<std::int64_t>{1}}}}},
                          {{"rows", 96}, {"cols", 81920}});
  REQUIRE(task);
  const std::int64_t parts = GENERATE(2, 4, 8, 256);
  INFO(parts);
  Counted counted(*task, instance(*task, "rows_in_parts", {{"PARTS", parts}, {"THREADS", 128}}));
  const ModelInput input = counted.at_full_size().back();
  const Counts whole = counted.of_all_blocks();
  for (const Counter counter : {Counter::warp_instructions, Counter::global_load_requests,
                                Counter::global_store_requests, Counter::atomic_requests}) {
    INFO(name_of(counter));
    CHECK(input.counts[counter].value == Approx(whole[counter].value).epsilon(0.03));
  }
  // A thread reads a part: a request for each 32.
  CHECK(input.last_block_requests == Approx(parts < 32 ? 1 : static_cast<double>(parts) / 32));
}

// Eight parts of 128 slabs on 132 SMs: some blocks have two parts of 16, others one.
TEST_CASE("A sum in parts takes as long as its busiest blocks and the last one", "[templates]") {
  const Task task = gemm({"m=2848", "n=336", "k=8144", "dtype=bf16"});
  const auto modelled = [&](std::int64_t split) {
    Counted counted(
        task, instance(task, "gemm_wgmma", {{"TILE_M", 128}, {"TILE_N", 176}, {"SPLIT", split}}));
    return counted.at_full_size().back();
  };
  const ModelInput four = modelled(4), eight = modelled(8);
  CHECK(four.blocks == 96);
  CHECK(static_cast<double>(eight.blocks) == Approx(96).epsilon(0.05));
  CHECK(four.rounds == Approx(32).epsilon(0.05));
  CHECK(eight.rounds == Approx(32).epsilon(0.05));
  CHECK(eight.counts[Counter::warp_instructions].value >
        four.counts[Counter::warp_instructions].value);
  constexpr double part = 256.0 * 176 / 32;
  CHECK(four.last_block_requests == Approx(4 * part).epsilon(0.03));
  CHECK(eight.last_block_requests == Approx(8 * part).epsilon(0.03));
}

// Blocks that take the next row, with a phase of an mbarrier for each: whichever runs first takes
// all of them.
constexpr const char* taking_turns = R"(
extern "C" __global__ void k(const float* x, float* y, unsigned* next, int rows, int cols) {
  __shared__ alignas(8) unsigned long long bar;
  __shared__ int row;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
  __syncthreads();
  for (unsigned phase = 0;; phase ^= 1) {
    if (threadIdx.x == 0) row = static_cast<int>(atomicAdd(next, 1u));
    __syncthreads();
    const int mine = row;
    if (mine >= rows) return;
    if (threadIdx.x == 0)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 0;" :: "r"(at) : "memory");
    for (unsigned done = 0; done == 0;)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done) : "r"(at), "r"(phase) : "memory");
    if (threadIdx.x == 0) {
      float sum = 0;
      for (int c = 0; c < cols; ++c) sum += x[mine * cols + c];
      y[mine] = sum;
    }
    __syncthreads();
  }
}
)";

TEST_CASE("Blocks that draw their work from a counter are none busier than others") {
  const Task task = row_sum_task(4096, 64);
  KernelSource source = row_sum_source(taking_turns);
  source.plan.buffers = {{"next", Expr(4), BufferContent::zeroed}};
  PlanLaunch& launch = source.plan.launches[0];
  launch.grid = {Expr(64)};
  launch.args.insert(launch.args.begin() + 2, {PlanArgument::Kind::name, "next", 0});
  auto kernel = virtual_h200().compile(source);
  if (kernel.is_rejected()) FAIL(kernel.rejected().message);
  REQUIRE(kernel);
  CHECK(Counted(task, *kernel).at_full_size().back().blocks == 64);
}

}  // namespace cupilot
