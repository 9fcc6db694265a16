#include "backend/oracle/piecewise_input.hpp"

#include <cstring>

#include "catch.hpp"
#include "ptx/machine/device_memory.hpp"
#include "support/gemm.hpp"

namespace cupilot {
namespace {

// A 5 x 6 x 7 tensor with the given strides, of a type that every content shows in.
FillParams recipe(std::vector<long long> strides, ContentKind kind) {
  const auto task = gemm_task({.m = 30, .n = 7, .k = 7});
  auto params = fill_params(*task, 0, task->time_shapes.front(), {.seed = 3, .kind = kind});
  FillParams p = *params;
  p.rank = 3;
  const long long extents[] = {5, 6, 7};
  long long span = 1;
  for (int d = 0; d < 3; ++d) {
    p.extents[d] = extents[d];
    p.strides[d] = strides[static_cast<std::size_t>(d)];
    span += (extents[d] - 1) * p.strides[d];
  }
  p.elements = 5 * 6 * 7;
  p.span = span;
  return p;
}

TEST_CASE("pieces of an input are what the whole holds", "[virtual]") {
  const std::vector<long long> layouts[] = {
      {42, 7, 1},    // dense
      {1, 5, 30},    // the other way round
      {60, 9, 1},    // with gaps
      {7, 40, 1},    // a middle axis outermost
      {100, 14, 2},  // every second place
  };
  for (const auto& strides : layouts) {
    for (const ContentKind kind : {ContentKind::ordinary, ContentKind::probe, ContentKind::special,
                                   ContentKind::hard_line}) {
      INFO(strides[0] << " " << strides[1] << " " << strides[2] << " kind "
                      << static_cast<int>(kind));
      const FillParams params = recipe(strides, kind);
      std::vector<std::byte> whole(static_cast<std::size_t>(params.span) * 4), pieces(whole.size());
      fill(params, whole);
      const auto input = PiecewiseInput::of(params);
      REQUIRE(input);
      for (std::int64_t first = 0; first < params.span; first += 8) {
        const auto count = static_cast<std::size_t>(std::min<std::int64_t>(8, params.span - first));
        input->make(first,
                    std::span(pieces).subspan(static_cast<std::size_t>(first) * 4, count * 4));
      }
      const bool same = whole == pieces;
      CHECK(same);
    }
  }
}

TEST_CASE("where a place may be several elements there are no pieces", "[virtual]") {
  for (const auto& strides : {std::vector<long long>{0, 7, 1}, {42, 7, 0}, {42, 6, 1}, {7, 7, 1}}) {
    CHECK_FALSE(PiecewiseInput::of(recipe(strides, ContentKind::ordinary)));
  }
}

TEST_CASE("content that is made later is made once, as far as it is read", "[virtual]") {
  ptx::DeviceMemory memory(1 << 20);
  std::vector<std::uint64_t> made;
  const auto index =
      memory.add_later("A", 1000, [&](std::uint64_t offset, std::span<std::uint8_t> chunk) {
        made.push_back(offset);
        for (std::size_t i = 0; i < chunk.size(); ++i)
          chunk[i] = static_cast<std::uint8_t>(offset + i);
      });
  REQUIRE(index);
  const std::uint64_t address = memory.address(*index);
  ptx::Buffer* buffer = memory.find(address + 60, 8);
  REQUIRE(buffer != nullptr);
  CHECK(buffer->access == ptx::Access::read_only);
  CHECK(made.empty());
  for (int again = 0; again < 2; ++again) {
    const std::uint8_t* read = buffer->at(60, 8);
    for (std::uint64_t i = 0; i < 8; ++i) CHECK(read[i] == static_cast<std::uint8_t>(60 + i));
  }
  CHECK(made == std::vector<std::uint64_t>{32, 64});
  CHECK(*buffer->at(999, 1) == static_cast<std::uint8_t>(999));
  CHECK(made.back() == 992);
  CHECK(memory.find(address + 996, 8) == nullptr);
  CHECK(memory.add_later("of any size", 2 << 20, {}));  // takes what is touched alone
}

TEST_CASE("content that is wanted whole is made in one piece", "[virtual]") {
  ptx::DeviceMemory memory(1 << 20);
  std::vector<std::size_t> made;
  const auto index =
      memory.add_later("A", 100, [&](std::uint64_t offset, std::span<std::uint8_t> chunk) {
        REQUIRE(offset == 0);
        made.push_back(chunk.size());
        std::fill(chunk.begin(), chunk.end(), std::uint8_t{7});
      });
  REQUIRE(index);
  memory.make_now(*index);
  ptx::Buffer* buffer = memory.find(memory.address(*index) + 96, 4);
  REQUIRE(buffer != nullptr);
  CHECK(*buffer->at(99, 1) == 7);
  CHECK(made == std::vector<std::size_t>{100});
}

}  // namespace
}  // namespace cupilot
