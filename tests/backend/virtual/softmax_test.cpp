// Kernels of the family softmax: every template, in shapes that cut chunks, slices and rows.
#include <cupilot/family.hpp>

#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using Values = std::map<std::string, std::int64_t>;

Use use(const char* technique, Values values = {}) {
  return {technique, std::move(values), "", {}};
}

std::vector<Use> with(std::vector<Use> uses, const std::vector<Use>& more) {
  uses.insert(uses.end(), more.begin(), more.end());
  return uses;
}
std::vector<Use> vectors(std::int64_t vector, std::int64_t items) {
  return {use("vector_load", {{"vector", vector}}), use("items_per_thread", {{"items", items}})};
}
std::vector<Use> by_warp(std::int64_t lanes, const std::vector<Use>& more) {
  return with({use("warp_rows", {{"lanes", lanes}})}, more);
}
std::vector<Use> by_block(std::int64_t threads, const std::vector<Use>& more) {
  return with({use("block_rows", {{"block_threads", threads}})}, more);
}
std::vector<Use> by_tile(std::int64_t lanes, std::int64_t turns, std::int64_t items,
                         const std::vector<Use>& more) {
  return with(
      {use("row_tiles", {{"tile_lanes", lanes}, {"tile_turns", turns}, {"tile_items", items}})},
      more);
}
std::vector<Use> by_cluster(std::int64_t cluster, std::int64_t threads,
                            const std::vector<Use>& more) {
  return with({use("cluster_rows", {{"cluster", cluster}, {"slice_threads", threads}})}, more);
}

std::vector<Use> by_pages(std::int64_t cluster, std::int64_t bytes, std::int64_t threads,
                          std::int64_t batch, const std::vector<Use>& more) {
  return with({use("paged_rows", {{"page_cluster", cluster},
                                  {"page_bytes", bytes},
                                  {"role_threads", threads},
                                  {"batch_pages", batch}})},
              more);
}

Task softmax(std::vector<std::string> words) {
  words.insert(words.begin(), "softmax");
  auto task = task_from_words(words);
  REQUIRE(task);
  return *task;
}

// Ordinary rows; infinities and NaN; rows near 80, around 1e6 and with one peak; a 1e15.
void check_accepted(const std::vector<std::string>& words, const std::vector<Use>& uses,
                    const std::string& name) {
  const Task task = softmax(words);
  check_kept(task, uses);
  const CompiledKernel kernel = kernel_of(task, uses);
  CHECK(kernel.source.template_name == name);
  std::vector<Case> cases;
  for (const ContentKind kind : {ContentKind::ordinary, ContentKind::special,
                                 ContentKind::range_rows, ContentKind::huge_element}) {
    cases.emplace_back();
    cases.back().workload = task.time_shapes[0];
    cases.back().content = {cases.size(), kind};
  }
  const auto report = virtual_h200().run(TaskRef(task), kernel, cases);
  REQUIRE(report);
  for (const CaseReport& one : report->cases) {
    for (const Fault& fault : one.faults)
      UNSCOPED_INFO(fault.code << ": " << fault.message << " " << fault.where);
  }
  CHECK(verdict_of(report).empty());
}

struct Row {
  std::vector<std::string> words;
  std::vector<Use> uses;
};

TEST_CASE("softmax by teams of lanes is accepted at every length that they hold", "[templates]") {
  const auto row = GENERATE(values<Row>({
      // Rows of one element: infinities of a row's own, which end as NaN.
      {{"rows=83", "cols=1", "dtype=fp32"}, by_warp(1, vectors(1, 1))},
      {{"rows=83", "cols=1", "dtype=bf16", "log=1"}, by_warp(2, vectors(8, 1))},
      // Chunks cut at both ends of a row; the last teams have no row.
      {{"rows=37", "cols=45", "dtype=fp32"},
       by_warp(8, with(vectors(4, 2), {use("several_rows", {{"rows_in_flight", 2}}),
                                       use("fast_exponential"), use("cache_hint")}))},
      {{"rows=11", "cols=251", "dtype=bf16"},
       by_warp(32, with(vectors(8, 2), {use("evict_first_store"), use("cache_hint")}))},
      {{"rows=11", "cols=250", "dtype=fp16", "log=1"},
       by_warp(16, with(vectors(2, 8), {use("fast_exponential")}))},
      // Blocks that take several groups of rows.
      {{"rows=1200", "cols=24", "dtype=fp16"},
       by_warp(4, with(vectors(4, 2), {use("grid_stride", {{"blocks_per_sm", 1}})}))},
  }));
  check_accepted(row.words, row.uses, "softmax_warp");
}

TEST_CASE("softmax by tiles of rows is accepted at every length that their teams hold",
          "[templates]") {
  const auto row = GENERATE(values<Row>({
      // Rows of one element, and many more items than a row has.
      {{"rows=83", "cols=1", "dtype=fp32"}, by_tile(1, 1, 1, {})},
      {{"rows=83", "cols=2", "dtype=bf16", "log=1"}, by_tile(2, 2, 5, {})},
      // The last tile has few rows, whose bytes are no whole words.
      {{"rows=37", "cols=45", "dtype=fp32"},
       by_tile(8, 2, 6, {use("fast_exponential"), use("cache_hint")})},
      {{"rows=11", "cols=251", "dtype=bf16"}, by_tile(32, 8, 8, {use("evict_first_store")})},
      {{"rows=9", "cols=33", "dtype=fp16", "log=1"},
       by_tile(4, 2, 9, {use("fast_exponential"), use("evict_first_store")})},
      {{"rows=40", "cols=32", "dtype=fp32", "log=1"}, by_tile(16, 4, 2, {})},
      // Warps that take several tiles.
      {{"rows=6000", "cols=7", "dtype=fp16"},
       by_tile(1, 1, 8, {use("grid_stride", {{"blocks_per_sm", 1}})})},
  }));
  check_accepted(row.words, row.uses, "softmax_tile");
}

TEST_CASE("softmax by blocks is accepted where a row fits, and where its rest is read again",
          "[templates]") {
  const auto row = GENERATE(values<Row>({
      {{"rows=5", "cols=1", "dtype=fp32"}, by_block(64, vectors(1, 1))},
      {{"rows=5", "cols=256", "dtype=fp32"}, by_block(64, vectors(4, 2))},
      // Registers, shared memory and a rest, each cut.
      {{"rows=3", "cols=1031", "dtype=fp32"},
       by_block(64, with(vectors(4, 1), {use("shared_rows", {{"slots", 2}}), use("warp_maximum"),
                                         use("reversed_reread"), use("fast_exponential")}))},
      {{"rows=3", "cols=3001", "dtype=bf16"},
       by_block(128, with(vectors(8, 1), {use("shared_rows", {{"slots", 1}}), use("cache_hint"),
                                          use("evict_first_store")}))},
      {{"rows=3", "cols=777", "dtype=fp16", "log=1"},
       by_block(64, with(vectors(2, 3), {use("warp_maximum"), use("reversed_reread")}))},
      // Blocks that take several rows use the exchange's halves in turn.
      {{"rows=300", "cols=70", "dtype=fp32", "log=1"},
       by_block(64, with(vectors(2, 1),
                         {use("grid_stride", {{"blocks_per_sm", 1}}), use("warp_maximum")}))},
      {{"rows=300", "cols=70", "dtype=fp32"},
       by_block(128, with(vectors(1, 1), {use("grid_stride", {{"blocks_per_sm", 1}})}))},
  }));
  check_accepted(row.words, row.uses, "softmax_block");
}

TEST_CASE("softmax by clusters is accepted with and without rows on their way", "[templates]") {
  const auto items = [](std::int64_t count) { return use("items_per_thread", {{"items", count}}); };
  const auto stages = [](std::int64_t count) { return use("bulk_rows", {{"stages", count}}); };
  const auto turns = [](std::int64_t count) { return use("row_turns", {{"turns", count}}); };
  const auto row = GENERATE_COPY(values<Row>({
      // Most blocks of the cluster have no chunk.
      {{"rows=5", "cols=1", "dtype=fp32"}, by_cluster(8, 128, {items(1)})},
      {{"rows=3", "cols=4096", "dtype=fp32"}, by_cluster(4, 128, {items(2)})},
      // More rows than stages, whose barriers change parity; rows of an odd length start anywhere.
      {{"rows=9", "cols=1013", "dtype=fp32"},
       by_cluster(2, 128, {items(1), stages(2), turns(16), use("fast_exponential")})},
      {{"rows=9", "cols=1021", "dtype=bf16", "log=1"},
       by_cluster(8, 128, {items(1), stages(3), turns(4), use("cache_hint")})},
      {{"rows=7", "cols=2003", "dtype=fp16"},
       by_cluster(1, 128, {items(2), stages(1), turns(2), use("evict_first_store")})},
      {{"rows=300", "cols=40", "dtype=bf16"}, by_cluster(4, 128, {items(1), stages(2), turns(0)})},
  }));
  check_accepted(row.words, row.uses, "softmax_cluster");
}

TEST_CASE("softmax by pages is accepted where rows stay in shared memory", "[templates]") {
  const auto turns = [](std::int64_t count) { return use("row_turns", {{"turns", count}}); };
  const auto blocks = [](std::int64_t count) {
    return use("launch_bounds", {{"min_blocks", count}});
  };
  const auto row = GENERATE_COPY(values<Row>({
      // Most blocks of the cluster have no chunk.
      {{"rows=5", "cols=1", "dtype=fp32"}, by_pages(8, 8192, 256, 4, {})},
      // More rows than pages, whose barriers change parity; rows of an odd length start anywhere.
      {{"rows=60", "cols=1031", "dtype=fp32"},
       by_pages(2, 4096, 128, 8, {turns(32), use("fast_exponential"), use("cache_hint")})},
      {{"rows=300", "cols=40", "dtype=bf16", "log=1"},
       by_pages(4, 2048, 128, 2, {turns(0), blocks(3), use("evict_first_store")})},
      // Each block has several pages, the last of them a part.
      {{"rows=5", "cols=20003", "dtype=fp16"}, by_pages(2, 8192, 256, 2, {turns(2)})},
  }));
  check_accepted(row.words, row.uses, "softmax_paged");
}

// Slices of 28 pages in a ring of 14, and of 64 in one of 28: more than a round of the ring is for
// storing warps alone. A search would take larger clusters, as there are few rows.
TEST_CASE("softmax by pages is accepted where pages are read again", "[templates]") {
  struct Long {
    std::vector<std::string> words;
    Values values;
  };
  const auto row = GENERATE(values<Long>({
      {{"rows=3", "cols=112005", "dtype=fp32"},
       {{"CLUSTER", 2},
        {"PAGE", 8192},
        {"ROLE", 128},
        {"BATCH", 2},
        {"TURNS", 4},
        {"MIN_BLOCKS", 2},
        {"FAST_EXP", 1},
        {"LOAD_HINT", 1}}},
      {{"rows=3", "cols=260005", "dtype=bf16", "log=1"},
       {{"CLUSTER", 2},
        {"PAGE", 4096},
        {"ROLE", 128},
        {"BATCH", 4},
        {"TURNS", 2},
        {"MIN_BLOCKS", 2},
        {"STORE_HINT", 1}}},
      {{"rows=3", "cols=62021", "dtype=fp32"},
       {{"CLUSTER", 2},
        {"PAGE", 4096},
        {"ROLE", 256},
        {"BATCH", 1},
        {"TURNS", 2},
        {"MIN_BLOCKS", 2}}},
  }));
  check_accepted(softmax(row.words), "softmax_paged", row.values);
}

TEST_CASE("starting points of softmax come out of its space as they stand", "[templates]") {
  const Family* family = find_family(builtin_families(), "softmax");
  REQUIRE(family != nullptr);
  CHECK(family->templates.size() == 5);
  const std::map<std::string, std::string> cols = {
      {"tiny", "64"}, {"small", "512"}, {"medium", "2048"}, {"large", "16384"}, {"huge", "131072"}};
  const std::map<std::string, std::string> types = {
      {"fp32-strict", "fp32"}, {"bf16", "bf16"}, {"fp16", "fp16"}};
  for (const PoolEntry& entry : family->practice) {
    INFO(entry.precision << " " << entry.shape << ": " << entry.text);
    const std::string length = entry.shape.substr(5, entry.shape.find(' ') - 5);
    check_kept(
        softmax({"rows=8192", "cols=" + cols.at(length), "dtype=" + types.at(entry.precision)}),
        entry.strategy.uses);
  }
  CHECK(family->practice.size() > 30);
}

}  // namespace
}  // namespace cupilot
