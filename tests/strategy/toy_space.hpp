// A GEMM-like space of two skeletons over the built-in catalogue, with the restrictions that real
// templates have.
#pragma once

#include "strategy/build_space.hpp"

namespace cupilot {

// Position of a technique of the catalogue, and of "technique.parameter" in a skeleton's knobs.
inline std::size_t toy_technique(const std::string& name) {
  return static_cast<std::size_t>(find_technique(name) - catalogue().data());
}

struct ToyReader {
  std::vector<std::string> names;
  std::int64_t value(const Assignment& a, const std::string& name, std::int64_t absent) const {
    const std::string technique = name.substr(0, name.find('.'));
    if (!a.present[toy_technique(technique)]) return absent;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return a.values[i];
    }
    return absent;
  }
};

inline Skeleton toy_skeleton(const std::string& core, const std::vector<Knob>& knobs,
                             const std::vector<std::string>& more) {
  Skeleton skeleton{core, {core, "block_tile", "k_slab"}, more, knobs, {}};
  ToyReader reader;
  for (const Knob& knob : knobs) {
    reader.names.push_back(knob.technique + '.' + knob.parameter);
    skeleton.available.push_back(knob.technique);
  }
  const bool simt = core == "simt_core";
  const auto threads = [reader, simt](const Assignment& a) {
    const std::int64_t tile =
        reader.value(a, "block_tile.block_m", 64) * reader.value(a, "block_tile.block_n", 64);
    if (simt)
      return tile / (reader.value(a, "thread_tile.thread_m", 4) *
                     reader.value(a, "thread_tile.thread_n", 4));
    return tile /
           (reader.value(a, "warp_tile.warp_m", 32) * reader.value(a, "warp_tile.warp_n", 32)) * 32;
  };
  const std::vector<std::string> tile =
      simt ? std::vector<std::string>{"thread_tile.thread_m", "thread_tile.thread_n"}
           : std::vector<std::string>{"warp_tile.warp_m", "warp_tile.warp_n"};
  std::vector<std::string> thread_reads = {"block_tile.block_m", "block_tile.block_n", tile[0],
                                           tile[1]};
  skeleton.restrictions.push_back({"threads<=1024", thread_reads,
                                   [threads](const Assignment& a) { return threads(a) <= 1024; }});
  skeleton.restrictions.push_back({"threads%32==0", thread_reads, [threads](const Assignment& a) {
                                     return threads(a) >= 32 && threads(a) % 32 == 0;
                                   }});
  skeleton.restrictions.push_back(
      {"shared<=232448",
       {"block_tile.block_m", "block_tile.block_n", "k_slab.block_k", "multistage.stages",
        "shared_padding.pad"},
       [reader](const Assignment& a) {
         const std::int64_t rows =
             reader.value(a, "block_tile.block_m", 64) + reader.value(a, "block_tile.block_n", 64);
         const std::int64_t pad = reader.value(a, "shared_padding.pad", 0);
         return reader.value(a, "multistage.stages", 1) * (rows + 2 * pad) *
                    reader.value(a, "k_slab.block_k", 16) * 4 <=
                232448;
       }});
  skeleton.restrictions.push_back({"registers<=255",
                                   {tile[0], tile[1], "fragment_double_buffer"},
                                   [reader, simt, tile](const Assignment& a) {
                                     const std::int64_t m = reader.value(a, tile[0], simt ? 4 : 32);
                                     const std::int64_t n = reader.value(a, tile[1], simt ? 4 : 32);
                                     const bool twice =
                                         a.present[toy_technique("fragment_double_buffer")];
                                     const std::int64_t sums = simt ? m * n : m * n / 32;
                                     const std::int64_t fragments = simt ? m + n : (m + n) / 4;
                                     return sums + fragments * (twice ? 2 : 1) + 30 <= 255;
                                   }});
  skeleton.restrictions.push_back({"block_k%vector==0",
                                   {"k_slab.block_k", "vector_load.vector"},
                                   [reader](const Assignment& a) {
                                     return reader.value(a, "k_slab.block_k", 16) %
                                                reader.value(a, "vector_load.vector", 1) ==
                                            0;
                                   }});
  return skeleton;
}

inline SpaceModel toy_model() {
  const std::vector<Knob> shared = {{"block_tile", "block_m", {16, 32, 64, 128, 256}, 128},
                                    {"block_tile", "block_n", {16, 32, 64, 128, 256}, 128},
                                    {"k_slab", "block_k", {4, 8, 16, 32, 64}, 16},
                                    {"vector_load", "vector", {2, 4, 8}, 4},
                                    {"multistage", "stages", {2, 3, 4, 5}, 3},
                                    {"split_k", "split", {2, 3, 4, 8}, 2},
                                    {"raster", "group_m", {2, 4, 8, 16}, 8},
                                    {"launch_bounds", "min_blocks", {2, 3, 4}, 2},
                                    {"unroll", "unroll_k", {2, 4, 8}, 4},
                                    {"vector_epilogue", "store_vector", {2, 4, 8}, 4}};
  std::vector<Knob> simt = shared;
  simt.push_back({"thread_tile", "thread_m", {1, 2, 4, 8, 16}, 8});
  simt.push_back({"thread_tile", "thread_n", {1, 2, 4, 8, 16}, 8});
  simt.push_back({"shared_padding", "pad", {4, 8}, 4});
  std::vector<Knob> mma = shared;
  mma.push_back({"warp_tile", "warp_m", {16, 32, 64, 128}, 64});
  mma.push_back({"warp_tile", "warp_n", {8, 16, 32, 64, 128}, 32});
  const std::vector<std::string> both = {
      "async_copy",        "fragment_double_buffer", "register_prefetch", "cache_hint",
      "evict_first_store", "predicated_tail",        "serpentine"};
  std::vector<std::string> simt_more = both;
  simt_more.push_back("transpose_on_load");
  std::vector<std::string> mma_more = both;
  mma_more.insert(mma_more.end(),
                  {"ldmatrix", "shared_swizzle", "staged_epilogue", "swap_operands"});
  SpaceModel model;
  model.techniques.assign(catalogue().begin(), catalogue().end());
  model.skeletons = {toy_skeleton("simt_core", simt, simt_more),
                     toy_skeleton("mma_core", mma, mma_more)};
  return model;
}

inline std::unique_ptr<Space> toy_space() {
  Result<std::unique_ptr<Space>> space = build_space(toy_model());
  return space ? std::move(*space) : nullptr;
}

}  // namespace cupilot
