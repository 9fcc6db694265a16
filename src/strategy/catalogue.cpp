#include <array>
#include <initializer_list>
#include <unordered_map>

#include <cupilot/parts/technique.hpp>

namespace cupilot {
namespace {

using R = Resource;

// As in Technique, but constants: to construct this many strings and vectors takes a compiler
// longer than the rest of the file.
struct Number {
  const char* name;
  std::initializer_list<std::int64_t> domain;
  std::int64_t fallback;
};

struct Row {
  const char *name, *summary, *sentence;
  std::initializer_list<Number> parameters;
  std::initializer_list<Resource> targets;
  std::initializer_list<const char*> needs, excludes, must;
  const char* group;
};

// Rows are knowledge, in the order of append. Columns: name, summary, sentence, parameters,
// relieves, needs, excludes, must, group.
// clang-format off
constexpr Row rows[] = {
    {"simt_core", "multiply-add on the plain pipe",
     "Compute with fused multiply-adds on the CUDA cores; every product and sum is full precision.",
     {}, {R::fp_pipe}, {}, {}, {"fma.rn"}, "core"},
    {"mma_core", "matrix products on the tensor pipe by mma.sync",
     "Compute with warp-wide mma.sync instructions on tensor cores, accumulating in fp32 registers.",
     {}, {R::tensor_pipe, R::fp_pipe, R::issue}, {}, {}, {"mma.sync"}, "core"},
    {"block_tile", "output tile of a thread block",
     "Give each thread block an output tile of block_m by block_n, so that each operand element is read from L2 once per tile.",
     {{"block_m", {16, 32, 64, 96, 128, 192, 256}, 128}, {"block_n", {16, 32, 64, 96, 128, 192, 256}, 128}}, {R::dram, R::l2, R::tail}, {}, {}, {}, ""},
    {"k_slab", "depth of one staged slab",
     "Stage operands in slabs block_k deep; deeper slabs mean fewer barriers, shallower ones less shared memory.",
     {{"block_k", {4, 8, 16, 32, 64, 128}, 16}}, {R::issue, R::latency}, {}, {}, {}, ""},
    {"thread_tile", "output tile of a thread, held in registers",
     "Let each thread compute thread_m by thread_n outputs from registers, so that a shared-memory value feeds many operations.",
     {{"thread_m", {1, 2, 4, 8, 16}, 8}, {"thread_n", {1, 2, 4, 8, 16}, 8}}, {R::shared, R::issue, R::latency}, {"simt_core"}, {}, {}, ""},
    {"warp_tile", "output tile of a warp",
     "Give each warp a compact tile of warp_m by warp_n outputs, to cut the operand traffic from shared memory.",
     {{"warp_m", {16, 32, 64, 128}, 64}, {"warp_n", {8, 16, 32, 64, 128}, 32}}, {R::shared, R::issue}, {}, {}, {}, ""},
    {"vector_load", "wide loads of neighbouring elements",
     "Load vector neighbouring elements with one instruction from global memory.",
     {{"vector", {1, 2, 4, 8, 16}, 4}}, {R::dram, R::l2, R::issue}, {}, {}, {}, ""},
    {"shared_padding", "padded rows in shared memory",
     "Pad each row of the staged tile by pad elements, so that a warp's column access falls into different banks.",
     {{"pad", {1, 2, 4, 8, 12, 16}, 4}}, {R::shared}, {}, {"shared_swizzle"}, {}, ""},
    {"shared_swizzle", "permuted columns in shared memory",
     "Store the staged tile with its 16-byte columns permuted by an exclusive-or of the row, free of bank conflicts without padding.",
     {}, {R::shared}, {}, {}, {}, ""},
    {"multistage", "several slabs in flight",
     "Keep stages slabs in flight in a ring of shared-memory buffers, so that loads of later slabs overlap the computation.",
     {{"stages", {2, 3, 4, 5, 6, 7, 8, 10}, 3}}, {R::latency, R::dram, R::l2}, {}, {}, {}, ""},
    {"async_copy", "global to shared copies without registers",
     "Copy slabs from global to shared memory by cp.async, bypassing registers.",
     {}, {R::latency, R::issue, R::occupancy}, {}, {}, {"cp.async"}, ""},
    {"fragment_double_buffer", "next fragments loaded while the present ones compute",
     "Load the operand fragments of the next step into a second set of registers while the present step computes.",
     {}, {R::latency, R::shared}, {}, {}, {}, ""},
    {"register_prefetch", "next slab held in registers",
     "Load the next slab from global memory into registers before computing the present one, and store it to shared memory after.",
     {}, {R::latency, R::dram}, {}, {"async_copy"}, {}, ""},
    {"ldmatrix", "fragments by ldmatrix",
     "Load mma fragments from shared memory by ldmatrix, four 8x8 matrices an instruction.",
     {}, {R::shared, R::issue}, {"mma_core"}, {}, {"ldmatrix"}, ""},
    {"split_k", "the reduction split over blocks",
     "Split the reduced dimension over split blocks a tile and add their partial results, to fill the machine when tiles are few.",
     {{"split", {2, 3, 4, 6, 8, 12, 16, 32}, 2}}, {R::occupancy, R::tail, R::latency}, {}, {"stream_k"}, {}, ""},
    {"raster", "tile order grouped for L2",
     "Walk output tiles in groups of group_m rows, column by column or (curve 1) along Hilbert's curve, so that blocks running together share operand panels in L2.",
     {{"group_m", {2, 4, 8, 16, 32}, 8}, {"curve", {0, 1}, 0}}, {R::l2, R::dram}, {}, {}, {}, ""},
    {"launch_bounds", "registers bounded for residency",
     "Bound the kernel's registers so that min_blocks blocks fit on an SM together.",
     {{"min_blocks", {1, 2, 3, 4, 6, 8}, 2}}, {R::occupancy, R::latency}, {}, {}, {}, ""},
    {"unroll", "inner loop unrolled",
     "Unroll the inner loop unroll_k steps, so that address arithmetic and branches amortise.",
     {{"unroll_k", {1, 2, 4, 8, 16}, 4}}, {R::issue}, {}, {}, {}, ""},
    {"vector_epilogue", "wide stores of results",
     "Store store_vector neighbouring results with one instruction.",
     {{"store_vector", {1, 2, 4, 8}, 4}}, {R::dram, R::l2, R::issue}, {}, {}, {}, ""},
    {"staged_epilogue", "results reordered through shared memory",
     "Pass results through shared memory, so that each warp writes whole rows to global memory.",
     {}, {R::dram, R::l2}, {}, {}, {}, ""},
    {"warp_raster", "warps numbered down columns of the tile",
     "Number the warps of a block down the columns of its tile, so that neighbouring warps share columns of the second operand.",
     {}, {R::shared}, {}, {}, {}, ""},
    {"lane_grid", "threads of a warp laid out as a grid",
     "Lay a warp's 32 threads out as a grid of lanes_m rows, so that their operand reads from shared memory broadcast.",
     {{"lanes_m", {1, 2, 4, 8, 16, 32}, 4}}, {R::shared}, {"simt_core|streamed_simt_core"}, {}, {}, ""},
    {"transpose_on_load", "operands turned while staging",
     "Transpose an operand while it is staged, so that the inner loop reads both operands along their fast dimension.",
     {}, {R::shared, R::issue}, {}, {}, {}, ""},
    {"cache_hint", "read-only loads that bypass L1",
     "Mark streaming operand loads so that they do not displace reused lines in L1.",
     {}, {R::l2, R::dram}, {}, {}, {}, ""},
    {"evict_first_store", "streaming stores of results",
     "Store results with an evict-first policy, so that operands stay in L2.",
     {}, {R::l2, R::dram}, {}, {}, {}, ""},
    {"predicated_tail", "a fast path for full tiles",
     "Keep bounds checks out of full tiles: run a checked copy of the loop on edge tiles only.",
     {}, {R::issue, R::tail}, {}, {}, {}, ""},
    {"serpentine", "inner loop walked back and forth",
     "Walk the register tile in serpentine order, so that each step reuses an operand of the one before.",
     {}, {R::issue, R::shared}, {}, {}, {}, ""},
    {"swap_operands", "the transposed product on the tensor pipe by wgmma",
     "With few rows of A, compute the transposed product by wgmma, so that columns of B fill its long side: tiles of rows by 64 columns a warpgroup, stages slabs under way, K split over split blocks of a cluster that add up through one another's shared memory.",
     {{"rows", {8, 16, 24, 32, 48, 64, 96, 128}, 128}, {"stages", {3, 4, 5, 6, 7, 8, 10, 12, 16, 20}, 12}, {"split", {1, 2, 3, 4, 6, 8}, 1}}, {R::dram, R::latency, R::tensor_pipe}, {}, {}, {"wgmma.mma_async"}, "core"},
    {"stream_k", "work split evenly in slabs",
     "Deal the slabs of the tiles that fill no wave, and of stream_waves - 1 waves more, evenly to the resident blocks, and join the tiles that several share.",
     {{"stream_waves", {1, 2}, 1}}, {R::tail, R::occupancy}, {}, {}, {}, ""},
    {"persistent", "blocks that take several tiles",
     "Launch only as many blocks as are resident (waves of them) and let each take several tiles in turn.",
     {{"waves", {1, 2, 3, 4}, 1}}, {R::launch, R::tail, R::latency}, {}, {}, {}, ""},
    {"gemv", "the long operand of a skinny product straight into registers",
     "With few rows of A, let each warp stream its columns of B once from global memory into the registers that multiply them, without staging: tiles of rows by columns, depth steps under way in each of the warps that share a block's K, which split blocks may share again.",
     {{"rows", {1, 2, 4, 8, 16, 24, 32, 48, 64}, 64}, {"columns", {16, 32, 64}, 32}, {"warps", {1, 2, 4, 8, 12, 16, 24, 32}, 16}, {"depth", {1, 2, 3, 4, 6, 8}, 2}, {"split", {1, 2, 3, 4, 6, 8, 16, 32}, 1}}, {R::dram, R::launch, R::latency}, {}, {}, {}, "core"},
    {"epilogue_fusion", "scaling, bias and activation before the store",
     "Apply alpha, beta, bias and activation to the accumulators in registers before the only store of each result.",
     {}, {R::dram, R::launch}, {}, {}, {}, ""},
    {"l2_prefetch", "the slab after next drawn into L2",
     "Ask for lines of a later slab to be brought into L2 prefetch_distance slabs ahead.",
     {{"prefetch_distance", {1, 2, 4, 8}, 2}}, {R::latency, R::dram}, {}, {}, {}, ""},
    {"split_accumulators", "several partial sums a result",
     "Keep accumulators independent partial sums a result and add them at the end, so that dependent additions do not wait.",
     {{"accumulators", {2, 4, 8}, 2}}, {R::latency, R::issue}, {}, {}, {}, ""},
    {"row_per_warp", "a warp a row",
     "Give each row to one warp and reduce it by shuffles, without shared memory or barriers.",
     {}, {R::latency, R::shared}, {}, {"row_per_block"}, {"shfl.sync"}, ""},
    {"row_per_block", "a block a row",
     "Give each row to one block of block_threads threads, reduced by shuffles and one pass through shared memory.",
     {{"block_threads", {32, 64, 128, 256, 512, 1024}, 256}}, {R::latency, R::occupancy}, {}, {}, {}, ""},
    {"register_rows", "rows kept in registers between passes",
     "Keep the row in registers between passes, so that global memory is read once.",
     {}, {R::dram, R::l2}, {}, {}, {}, ""},
    {"online_reduction", "maximum and sum in one pass",
     "Fold the running maximum and the rescaled sum into one pass over the row.",
     {}, {R::dram, R::l2}, {}, {}, {}, ""},
    {"items_per_thread", "several items a thread",
     "Let each thread handle items elements, so that index arithmetic amortises and loads overlap.",
     {{"items", {1, 2, 4, 8, 16}, 4}}, {R::latency, R::issue}, {}, {}, {}, ""},
    {"grid_stride", "a fixed grid walks the data",
     "Launch blocks_per_sm blocks an SM and let them stride over the data.",
     {{"blocks_per_sm", {1, 2, 4, 8, 16}, 4}}, {R::launch, R::tail}, {}, {}, {}, ""},
    {"interleaved_loads", "fragment loads spread over the computation",
     "Spread the loads of the next fragments between the operations of the present step, so that they do not queue up.",
     {}, {R::latency, R::shared, R::issue}, {"fragment_double_buffer"}, {}, {}, ""},
    {"permuted_transpose", "conflict-free stores while transposing",
     "Permute the elements of each group of rows while an operand is transposed into shared memory, so that a warp's stores spread over the banks.",
     {}, {R::shared}, {}, {"shared_swizzle"}, {}, ""},
    {"column_runs", "multiply-adds run down columns",
     "Order a thread's multiply-adds down the columns of its tile, so that a run keeps the column's operand in place.",
     {}, {R::issue}, {"simt_core|streamed_simt_core"}, {}, {}, ""},
    {"wgmma_core", "matrix products on the tensor pipe by wgmma",
     "Compute with warpgroup-wide wgmma instructions that read both operands from shared memory and accumulate in fp32 registers.",
     {}, {R::tensor_pipe, R::fp_pipe, R::issue}, {}, {}, {"wgmma.mma_async"}, "core"},
    {"warpgroup_tile", "output tile of a warpgroup",
     "Give each consuming warpgroup tile_m by tile_n outputs in registers; wide tiles read less shared memory for each product.",
     {{"tile_m", {64, 128}, 64}, {"tile_n", {16, 32, 48, 64, 80, 96, 112, 128, 144, 152, 160, 168, 176, 192, 208, 224, 240, 256}, 256}}, {R::shared, R::l2, R::tail}, {"wgmma_core"}, {}, {}, ""},
    {"tensor_map_copy", "tiles brought by the tensor copy engine",
     "Bring slabs to swizzled shared memory by tensor-map copies that one thread issues and mbarriers count in.",
     {}, {R::latency, R::issue}, {}, {}, {"cp.async.bulk.tensor"}, ""},
    {"warp_specialisation", "warps that only copy feed warps that only compute",
     "Let one warp keep a ring of stages filled while consumers warpgroups drain it, and move registers from the one to the others.",
     {{"consumers", {1, 2, 3}, 2}}, {R::latency, R::issue}, {}, {}, {"mbarrier"}, ""},
    {"ping_pong", "warpgroups that take turns at the tensor cores",
     "Give each of two consumers its own tile and let them multiply in turn, so that one stores while the other computes.",
     {}, {R::tensor_pipe, R::tail}, {"warp_specialisation"}, {}, {}, ""},
    {"cluster_multicast", "operand slabs shared by a cluster",
     "Launch clusters of cluster_m by cluster_n blocks, each of which copies its share of a common operand into the shared memory of all.",
     {{"cluster_m", {1, 2}, 2}, {"cluster_n", {1, 2}, 1}}, {R::l2, R::dram}, {"tensor_map_copy"}, {}, {"multicast"}, ""},
    {"tensor_map_store", "results stored by the tensor copy engine",
     "Turn results into rows by stmatrix in strips buffers a warp of swizzled shared memory, which tensor-map copies store meanwhile.",
     {{"strips", {1, 2}, 2}}, {R::issue, R::dram, R::l2}, {}, {}, {"cp.async.bulk.tensor"}, ""},
    {"operand_split", "fp32 operands as sums of tensor-core planes",
     "Split fp32 operands into planes of falling magnitude (scheme 1: two of tf32, 2: three of bf16, 3: two of bf16) and sum the products of planes, smallest first.",
     {{"scheme", {1, 2, 3}, 1}}, {R::fp_pipe}, {"wgmma_core"}, {}, {}, ""},
    {"register_split", "an operand split on its way to the tensor cores",
     "Bring operand split_operand (1: the first; 2: the second, by the transposed product) to shared memory in fp32 and split it in registers, so that it passes memory once.",
     {{"split_operand", {1, 2}, 2}}, {R::dram, R::l2}, {"operand_split"}, {}, {}, ""},
    {"accumulator_flush", "tensor-core sums added to fp32 registers now and then",
     "Add the tensor cores' sums, which truncate, to totals in ordinary fp32 registers after every slab, and start them anew.",
     {}, {R::tensor_pipe}, {}, {}, {}, ""},
    {"operand_turn", "operands turned before the product",
     "Turn operands that are stored along M or N by a kernel of their own, timed with the product, where the tensor core takes lines along K only.",
     {}, {R::tensor_pipe}, {"wgmma_core"}, {}, {}, ""},
    {"rotated_k", "another start along K for each tile",
     "Let each tile begin its walk along K at another slab, so that blocks that share an operand do not ask L2 for the same lines at once.",
     {}, {R::l2, R::dram, R::latency}, {}, {}, {}, ""},
    {"deferred_store", "results stored beside the next tile's products",
     "Convert a finished tile to packed registers at once and store it piece by piece while the next tile's products run.",
     {}, {R::latency, R::tensor_pipe, R::tail}, {"tensor_map_store"}, {"ping_pong"}, {}, ""},
    {"streamed_simt_core", "multiply-add on the plain pipe, in threads that do nothing else",
     "Compute thread_m by thread_n outputs a thread with fused multiply-adds, in warps that do nothing else but read shared memory, which a producer keeps filled.",
     {{"thread_m", {4, 8, 16}, 8}, {"thread_n", {4, 8, 16}, 16}}, {R::fp_pipe, R::issue, R::latency, R::shared}, {}, {}, {"fma.rn", "mbarrier"}, "core"},
};
// clang-format on

Technique technique_of(const Row& row) {
  Technique technique{.name = row.name,
                      .summary = row.summary,
                      .sentence = row.sentence,
                      .targets = row.targets,
                      .group = row.group};
  for (const Number& number : row.parameters)
    technique.parameters.push_back({number.name, number.domain, {}, number.fallback});
  technique.needs.assign(row.needs.begin(), row.needs.end());
  technique.excludes.assign(row.excludes.begin(), row.excludes.end());
  technique.must.assign(row.must.begin(), row.must.end());
  return technique;
}

const std::vector<Technique>& table() {
  static const std::vector<Technique> techniques = [] {
    std::vector<Technique> all;
    for (const Row& row : rows) all.push_back(technique_of(row));
    return all;
  }();
  return techniques;
}

constexpr std::array resource_names = {"dram",  "l2",      "shared",    "fp_pipe", "tensor_pipe",
                                       "issue", "latency", "occupancy", "launch",  "tail"};

}  // namespace

std::string_view name_of(Resource resource) {
  return resource_names[static_cast<std::size_t>(resource)];
}

std::span<const Technique> catalogue() { return table(); }

const Technique* find_technique(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Technique*> index;
    for (const Technique& technique : table()) index.emplace(technique.name, &technique);
    return index;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace cupilot
