// Tensor-map copies: boxes, edges, swizzles, steps, stores and reductions, against an index
// calculation of the test's own.
#include <cstdint>

#include "catch.hpp"
#include "ptx/machine/async_text.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string text = async_text + R"(
D void tile1(void* to, const Map* m, int x, u64* b) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(sm(to)), "l"(m), "r"(x), "r"(sm(b)) : "memory"); }
D void tile5(void* to, const Map* m, int x, int y, int z, int v, int w, u64* b) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(sm(to)), "l"(m), "r"(x), "r"(y), "r"(z), "r"(v), "r"(w), "r"(sm(b)) : "memory"); }
// `span` bytes of shared memory after a tile landed among zeros.
K dump(const __grid_constant__ Map m, unsigned char* o, int rank, int x, int y, int bytes, int shift, int span) {
  extern __shared__ __align__(1024) unsigned char base[]; unsigned char* s = base + shift; __shared__ u64 b; int t = threadIdx.x;
  for (int i = t; i < span; i += 32) s[i] = 0;
  if (t == 0) { asm volatile("prefetch.tensormap [%0];" ::"l"(&m)); init(&b, 1); }
  FENCE_PROXY; __syncthreads();
  if (t == 0) { expect(&b, bytes); if (rank == 1) tile1(s, &m, x, &b); else if (rank == 2) tile2(s, &m, x, y, &b); else tile5(s, &m, x, y, 1, 0, 1, &b); }
  wait(&b, 0);
  for (int i = t; i < span; i += 32) o[i] = s[i];
}
// Every byte its own number, then stored through the map.
K put(const __grid_constant__ Map m, int x, int y, int bytes) {
  extern __shared__ __align__(1024) unsigned char s[]; int t = threadIdx.x;
  for (int i = t; i < bytes; i += 32) s[i] = (unsigned char)(i * 7 + (i >> 8));
  FENCE_PROXY; __syncwarp();
  if (t == 0) { untile2(&m, x, y, s); commit(); wait_groups(); }
}
K sum(const __grid_constant__ Map m, int x, int y) {
  __shared__ __align__(128) float s[64]; int t = threadIdx.x;
  s[t] = t; s[t + 32] = t + 32;
  FENCE_PROXY; __syncwarp();
  if (t == 0) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&m), "r"(x), "r"(y), "r"(sm(s)) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(&m), "r"(x), "r"(y) : "memory");
    commit(); wait_groups(); }
}
// Transposes a matrix of 32 x 32 tiles through two maps.
K transpose(const __grid_constant__ Map from, const __grid_constant__ Map to) {
  __shared__ __align__(128) float s[32][32], r[32][32]; __shared__ u64 b; int t = threadIdx.x, x = blockIdx.x * 32, y = blockIdx.y * 32;
  if (t == 0) init(&b, 1);
  __syncthreads();
  if (t == 0) { expect(&b, 4096); tile2(s, &from, x, y, &b); }
  wait(&b, 0);
  for (int i = t >> 5; i < 32; i += 4) r[i][t & 31] = s[t & 31][i];
  FENCE_PROXY; __syncthreads();
  if (t == 0) { untile2(&to, y, x, r); commit(); wait_read(); }
}
)";

std::vector<std::uint8_t> numbered(std::size_t n) {
  std::vector<std::uint8_t> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(i * 5 + (i >> 7) + 1);
  return out;
}

ptx::TensorMap plane(std::uint64_t address, ptx::Type type, std::uint64_t width,
                     std::uint64_t height, std::uint64_t pitch, std::uint32_t box_x,
                     std::uint32_t box_y, std::uint32_t swizzle) {
  ptx::TensorMap map;
  map.address = address;
  map.type = type;
  map.rank = 2;
  map.dims = {width, height, 1, 1, 1};
  map.pitch = {pitch};
  map.box = {box_x, box_y, 1, 1, 1};
  map.swizzle = swizzle;
  return map;
}

// Where byte `at` of a tile lies in memory that starts at a multiple of 1024.
std::size_t patterned(std::size_t at, std::uint32_t swizzle) {
  const std::size_t row = at / 128 % 8, unit = at / 16 % 8, units = swizzle / 16;
  if (units == 0) return at;
  return at - 16 * unit + 16 * (unit ^ (row * 16 / 16 & (units - 1)));
}

}  // namespace

TEST_CASE("tiles of a plane, with edges, element sizes and swizzles", "[tensormap]") {
  struct Row {
    ptx::Type type;
    std::uint32_t wide;
    std::uint32_t box_x, box_y, swizzle;
    int x, y;
    std::size_t shift;  // of the tile from a multiple of 1024
  };
  const Row rows[] = {
      {ptx::Type::bf16, 2, 64, 8, 128, 0, 0, 0},    {ptx::Type::bf16, 2, 64, 16, 128, 32, 24, 0},
      {ptx::Type::f32, 4, 16, 12, 64, -4, -3, 0},   {ptx::Type::u8, 1, 32, 16, 32, 80, 5, 0},
      {ptx::Type::f32, 4, 40, 3, 0, 12, 30, 0},     {ptx::Type::f64, 8, 8, 8, 64, 2, 29, 0},
      {ptx::Type::bf16, 2, 32, 16, 128, -72, 0, 0}, {ptx::Type::f16, 2, 16, 9, 32, 88, 28, 0},
      {ptx::Type::bf16, 2, 64, 8, 128, 0, 0, 128},  {ptx::Type::f32, 4, 32, 8, 128, 4, 0, 896},
      {ptx::Type::bf16, 2, 32, 8, 64, 0, 0, 256},   {ptx::Type::bf16, 2, 16, 8, 32, 0, 0, 128},
      {ptx::Type::f32, 4, 8, 16, 128, 0, 0, 384},   {ptx::Type::f32, 4, 12, 16, 64, 0, 0, 0},
      {ptx::Type::f32, 4, 4, 16, 32, 0, 0, 0},
  };
  for (const Row& row : rows) {
    for (const bool nan : {false, true}) {
      if (nan && row.type == ptx::Type::u8) continue;
      INFO("box " << row.box_x << " x " << row.box_y << " swizzle " << row.swizzle << " at "
                  << row.x << ", " << row.y);
      Device d;
      const std::size_t width = 96, height = 33, pitch = 96 * row.wide + 16;
      const auto a = numbered(pitch * height);
      const std::size_t inner = row.box_x * row.wide,
                        row_pitch = row.swizzle != 0 ? row.swizzle : inner;
      const std::size_t span = row_pitch * row.box_y;
      const auto ia = d.input("a", a), io = d.output("o", span);
      auto map = plane(d.memory.address(ia), row.type, width, height, pitch, row.box_x, row.box_y,
                       row.swizzle);
      map.fill_nan = nan;
      REQUIRE(faults_of(d.run(module_of_cuda(text), "dump", {1}, {32}, 4096, map, P{io}, 2, row.x,
                              row.y, static_cast<int>(inner * row.box_y),
                              static_cast<int>(row.shift), static_cast<int>(span))) == "");
      std::vector<std::uint8_t> want(span, 0);
      for (std::size_t i = 0; i < inner * row.box_y; ++i) {
        const int x = row.x + static_cast<int>(i % inner / row.wide),
                  y = row.y + static_cast<int>(i / inner);
        const bool inside = x >= 0 && x < 96 && y >= 0 && y < 33;
        const std::size_t at =
            patterned(i / inner * row_pitch + i % inner + row.shift, row.swizzle) - row.shift;
        const std::uint8_t outside = !nan         ? 0
                                     : i % 2 == 0 ? 0xf7
                                                  : 0x7f;  // what an H200 writes for every type
        want[at] = inside ? a[static_cast<std::size_t>(y) * pitch +
                              static_cast<std::size_t>(x) * row.wide + i % row.wide]
                          : outside;
      }
      REQUIRE(d.values<std::uint8_t>(io) == want);
    }
  }
}

TEST_CASE("maps of one and five dimensions, and steps", "[tensormap]") {
  Device d;
  const auto a = numbered(16384);
  const auto ia = d.input("a", a), io = d.output("o", 128), iw = d.output("w", 128);
  ptx::TensorMap line;
  line.address = d.memory.address(ia);
  line.type = ptx::Type::u8;
  line.rank = 1;
  line.dims = {200, 1, 1, 1, 1};
  line.box = {128, 1, 1, 1, 1};
  REQUIRE(faults_of(d.run(module_of_cuda(text), "dump", {1}, {32}, 1024, line, P{io}, 1, 160, 0,
                          128, 0, 128)) == "");
  for (std::size_t i = 0; i < 128; ++i)
    REQUIRE(d.values<std::uint8_t>(io)[i] == (i < 40 ? a[160 + i] : 0));
  ptx::TensorMap five = line;
  five.rank = 5;
  five.type = ptx::Type::s32;
  five.dims = {8, 4, 4, 4, 4};
  five.pitch = {32, 128, 512, 2048};
  five.box = {4, 3, 2, 1, 2};
  five.step = {2, 2, 1, 1, 1};  // rows 0 and 2 of three; dimension 0 knows no steps
  REQUIRE(faults_of(d.run(module_of_cuda(text), "dump", {1}, {32}, 1024, five, P{iw}, 5, 4, 2, 128,
                          0, 128)) == "");
  const auto o = d.values<std::uint8_t>(iw);
  for (std::size_t i = 0; i < 128; ++i) {
    const std::size_t e = i / 4, x = 4 + e % 4, y = 2 + 2 * (e / 4 % 2), z = 1 + e / 8 % 2,
                      w = 1 + e / 16;
    REQUIRE(o[i] == (y < 4 ? a[4 * x + 32 * y + 128 * z + 2048 * w + i % 4] : 0));
  }
}

TEST_CASE("stores through a map clip at its edges and undo the pattern", "[tensormap]") {
  for (const bool late : {false, true}) {
    for (const std::uint32_t swizzle : {0u, 64u, 128u}) {
      Device d;
      d.options.late = late;
      const auto io = d.output("o", 80 * 20);
      const auto map = plane(d.memory.address(io), ptx::Type::u16, 36, 20, 80, 32, 8, swizzle);
      REQUIRE(faults_of(d.run(module_of_cuda(text), "put", {1}, {32}, 1024, map, 8, 15, 1024)) ==
              "");
      const auto o = d.values<std::uint8_t>(io);
      for (std::size_t y = 0; y < 20; ++y) {
        for (std::size_t b = 0; b < 80; ++b) {
          const bool inside = y >= 15 && b >= 16;  // 72 bytes a row, in units of 16
          const std::size_t at = y * 80 + b;
          REQUIRE(d.memory.is_written(io, at) == inside);
          if (!inside) continue;
          const std::size_t i =
              patterned((y - 15) * (swizzle == 128 ? 128 : 64) + (b - 16), swizzle);
          REQUIRE(o[at] == static_cast<std::uint8_t>(i * 7 + (i >> 8)));
        }
      }
    }
  }
}

TEST_CASE("reductions through a map, and a transpose", "[tensormap]") {
  for (const bool late : {false, true}) {
    Device d;
    d.options.late = late;
    const auto io = d.output("o", 4 * 16 * 6);
    d.memory.mark_written(io);
    const auto map = plane(d.memory.address(io), ptx::Type::f32, 16, 6, 64, 16, 4, 0);
    REQUIRE(faults_of(d.run(module_of_cuda(text), "sum", {3}, {32}, 0, map, 4, 4)) == "");
    const auto o = d.values<float>(io);
    for (std::size_t i = 0; i < o.size(); ++i) {
      const bool inside = i / 16 >= 4 && i % 16 >= 4;
      REQUIRE(o[i] == (inside ? 3.0f * static_cast<float>((i / 16 - 4) * 16 + i % 16 - 4) : 0.0f));
    }
    const std::size_t rows = 72, columns = 100;
    std::vector<float> a(rows * columns);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
    const auto ia = d.input("a", a), it = d.output("t", 4 * a.size());
    const auto from =
        plane(d.memory.address(ia), ptx::Type::f32, columns, rows, 4 * columns, 32, 32, 0);
    const auto to = plane(d.memory.address(it), ptx::Type::f32, rows, columns, 4 * rows, 32, 32, 0);
    REQUIRE(faults_of(d.run(module_of_cuda(text), "transpose", {4, 3}, {128}, 0, from, to)) == "");
    const auto t = d.values<float>(it);
    for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(t[i % columns * rows + i / columns] == a[i]);
  }
}

TEST_CASE("bad tensor-map copies are faults", "[tensormap]") {
  Device d;
  const auto ia = d.input("a", numbered(4096)), io = d.output("o", 4096);
  const auto good = plane(d.memory.address(ia), ptx::Type::u8, 64, 64, 64, 64, 8, 0);
  const auto code = [&](const ptx::TensorMap& map, std::uint32_t shared, int rank, int bytes,
                        int x = 0) {
    d.options.instruction_budget = 100000;
    const auto report = d.run(module_of_cuda(text), "dump", {1}, {32}, shared, map, P{io}, rank, x,
                              0, bytes, 0, 512);
    return report.faults.empty() ? std::string() : report.faults[0].code;
  };
  CHECK(code(good, 1024, 2, 512) == "");
  CHECK(code(good, 256, 2, 512) == "run.out_of_bounds");   // the tile passes shared memory
  CHECK(code(good, 1024, 1, 512) == "run.out_of_bounds");  // dimensions
  CHECK(code(good, 1024, 2, 500) == "run.hang");
  CHECK(code(good, 1024, 2, 512, 8) == "run.misaligned");  // an illegal instruction on an H200
  auto vast = good;
  vast.rank = 5;
  vast.box = {256, 256, 256, 256, 256};
  CHECK(code(vast, 1024, 5, 512) == "run.out_of_bounds");  // at once, not after every row
  auto far = good;
  far.dims[1] = 65;
  far.box[1] = 65;
  CHECK(code(far, 8192, 2, 65 * 64) ==
        "run.out_of_bounds");  // the map promises more than the buffer holds
  auto out = plane(d.memory.address(ia), ptx::Type::u8, 64, 64, 64, 32, 8, 0);
  const auto written = d.run(module_of_cuda(text), "put", {1}, {32}, 1024, out, 0, 0, 256);
  REQUIRE(written.faults.size() == 1);
  CHECK(written.faults[0].code == "run.input_write");
  auto broken = ptx::encode(good);
  broken[20] ^= 1;
  CHECK_FALSE(ptx::decode_map(broken));
  CHECK_FALSE(ptx::decode_map(std::vector<std::uint8_t>(128, 0)));
}
