// Textures and surfaces: texels, addressing, filters with fractions of 8 bits, formats, queries,
// stores; values worked out by hand. Wrong twins: too small, of another format, out of range.
#include <cmath>
#include <cstdint>
#include <limits>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "ptx/machine/texture_object.hpp"

using namespace support;
using P = Device::Pointer;
using Texture = ptx::TextureObject;
using Memory = Texture::Memory;
using Address = Texture::Address;

namespace {

const std::string text = R"(
typedef unsigned long long T;
#define K extern "C" __global__ void
K fetch(T t, float* o, int first) { o[threadIdx.x] = tex1Dfetch<float>(t, first + (int)threadIdx.x); }
K line(T t, const float* x, float* o) { o[threadIdx.x] = tex1D<float>(t, x[threadIdx.x]); }
K plane(T t, const float* x, float* o) { int i = threadIdx.x; o[i] = tex2D<float>(t, x[2 * i], x[2 * i + 1]); }
K plane4(T t, const float* x, float4* o) { int i = threadIdx.x; o[i] = tex2D<float4>(t, x[2 * i], x[2 * i + 1]); }
K room(T t, const float* x, float* o) { int i = threadIdx.x; o[i] = tex3D<float>(t, x[3 * i], x[3 * i + 1], x[3 * i + 2]); }
K layers(T t, const float* x, float* o) { int i = threadIdx.x; o[i] = tex2DLayered<float>(t, x[2 * i], x[2 * i + 1], i % 4); }
K whole(T t, const float* x, int* o) { int i = threadIdx.x; o[i] = tex1D<int>(t, x[i]); }
K bytes(T t, const float* x, uint4* o) { int i = threadIdx.x; uchar4 v = tex1D<uchar4>(t, x[i]); o[i] = make_uint4(v.x, v.y, v.z, v.w); }
K gather(T t, const float* x, float4* o) { int i = threadIdx.x; o[i] = tex2Dgather<float4>(t, x[2 * i], x[2 * i + 1], 0); }
K sizes(T t, T s, int* o) {
  asm("txq.width.b32 %0, [%1];" : "=r"(o[0]) : "l"(t)); asm("txq.height.b32 %0, [%1];" : "=r"(o[1]) : "l"(t));
  asm("txq.depth.b32 %0, [%1];" : "=r"(o[2]) : "l"(t)); asm("txq.normalized_coords.b32 %0, [%1];" : "=r"(o[3]) : "l"(t));
  asm("suq.width.b32 %0, [%1];" : "=r"(o[4]) : "l"(s)); asm("suq.array_size.b32 %0, [%1];" : "=r"(o[5]) : "l"(s));
  asm("{ .reg .pred p; istypep.texref p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(o[6]) : "l"(t));
  asm("{ .reg .pred p; istypep.texref p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(o[7]) : "l"(s)); }
K turn(T from, T to) {
  int x = threadIdx.x, y = threadIdx.y; float v; surf2Dread(&v, from, 4 * x, y); surf2Dwrite(2 * v, to, 4 * y, x); }
K edge(T s, int x, int y) { asm volatile("sust.b.2d.b32.MODE [%0, {%1, %2}], {%3};" :: "l"(s), "r"(x), "r"(y), "r"(7) : "memory"); }
K from(T s, int x, int y, int* o) { asm volatile("suld.b.2d.b32.MODE {%0}, [%1, {%2, %3}];" : "=r"(o[0]) : "l"(s), "r"(x), "r"(y) : "memory"); }
K sums(T s) { asm volatile("sured.b.add.1d.u32.trap [%0, {%1}], %2;" :: "l"(s), "r"(4 * (int)(threadIdx.x % 2)), "r"(threadIdx.x) : "memory"); }
K layer(T s) { surf2DLayeredwrite((float)(threadIdx.x + 10 * blockIdx.x), s, 4 * (int)threadIdx.x, 0, (int)blockIdx.x); }
K both(T s, float* o) { surf1Dwrite(1.0f, s, 4 * (int)threadIdx.x); surf1Dread(o + threadIdx.x, s, 4 * (int)threadIdx.x); }
K stale(T t, float* a, float* o) { a[threadIdx.x] = 1; o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
)";

std::string with(const std::string& mode) {
  std::string out = text;
  for (std::size_t at; (at = out.find("MODE")) != std::string::npos;) out.replace(at, 4, mode);
  return out;
}
std::shared_ptr<const ptx::Module> kernels() { return module_of_cuda(with("trap")); }

Texture array(std::uint64_t address, std::vector<std::int64_t> sides, std::uint32_t wide = 4) {
  Texture t;
  t.name = "a";
  t.rank = static_cast<std::uint32_t>(sides.size());
  std::copy(sides.begin(), sides.end(), t.sides.begin());
  t.address = address;
  t.pitch = static_cast<std::uint64_t>(sides[0]) * wide;
  return t;
}

// A kernel's results over `x`, `each` coordinates a thread, of a texture of `values`.
template <class R, class V>
std::vector<R> fetched(const char* kernel, Texture t, const std::vector<V>& values,
                       const std::vector<float>& x, std::size_t each, std::size_t results = 1) {
  Device d;
  const auto a = d.input("a", values), ix = d.input("x", x);
  const std::size_t threads = x.size() / each;
  const auto o = d.output("o", threads * results * sizeof(R));
  t.address = d.memory.address(a);
  const std::uint64_t handle = d.bind(t);
  const auto report =
      d.run(kernels(), kernel, {1}, {static_cast<std::uint32_t>(threads)}, 0, handle, P{ix}, P{o});
  REQUIRE(faults_of(report) == "");
  return d.values<R>(o);
}

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("linear memory is fetched by whole numbers, and zeros lie beyond it", "[texture]") {
  Device d;
  const auto a = d.input("a", Floats{1, 2, 3, 4}), o = d.output("o", 32);
  Texture t = array(d.memory.address(a), {4});
  t.memory = Memory::linear;
  const std::uint64_t handle = d.bind(t);
  const auto report = d.run(kernels(), "fetch", {1}, {8}, 0, handle, P{o}, -2);
  REQUIRE(faults_of(report) == "");
  CHECK(d.values<float>(o) == Floats{0, 0, 1, 2, 3, 4, 0, 0});
  // One load of the one sector that the texels lie in.
  CHECK(report.counts[cupilot::Counter::global_load_requests].value == 1);
  CHECK(report.counts[cupilot::Counter::global_load_sectors].value == 1);
}

TEST_CASE("points of a line by every addressing", "[texture]") {
  const Floats x{-1.5f, -0.1f, 0, 0.99f, 1, 3.5f, 4, 9};
  const Floats a{10, 20, 30, 40};
  Texture t = array(0, {4});
  CHECK(fetched<float>("line", t, a, x, 1) == Floats{10, 10, 10, 10, 20, 40, 40, 40});
  t.mode = Address::border;
  CHECK(fetched<float>("line", t, a, x, 1) == Floats{0, 0, 10, 10, 20, 40, 0, 0});
  t.mode = Address::wrap;  // takes normalized coordinates alone: else it clamps
  CHECK(fetched<float>("line", t, a, x, 1) == Floats{10, 10, 10, 10, 20, 40, 40, 40});
  t.normalized = true;
  const Floats n{-0.25f, 0, 0.25f, 0.99f, 1, 1.3f, 2.5f, -1.1f};
  CHECK(fetched<float>("line", t, a, n, 1) == Floats{40, 10, 20, 40, 10, 20, 30, 40});
  t.mode = Address::mirror;
  CHECK(fetched<float>("line", t, a, n, 1) == Floats{10, 10, 20, 40, 40, 30, 30, 40});
  t.mode = Address::clamp;
  CHECK(fetched<float>("line", t, a, n, 1) == Floats{10, 10, 20, 40, 40, 40, 40, 10});
}

TEST_CASE("a point keeps the sign of its texel's zero", "[texture]") {
  const Floats found = fetched<float>("line", array(0, {2}), Floats{-0.0f, 0.0f}, Floats{0, 1}, 1);
  CHECK(std::signbit(found[0]));
  CHECK_FALSE(std::signbit(found[1]));
}

TEST_CASE("a linear filter takes fractions of 8 bits", "[texture]") {
  const Floats a{0, 256, 512, -256};
  Texture t = array(0, {4});
  t.linear = true;
  // At 0.5 + i lies texel i itself; between two, 1/256 of a texel is the least step, to the
  // nearest.
  const Floats x{0.5f, 1, 1.5f, 0.5f + 1 / 256.0f, 0.5f + 1.4f / 256, 0.5f + 1.6f / 256, 3, 0, 9};
  CHECK(fetched<float>("line", t, a, x, 1) == Floats{0, 128, 256, 1, 1, 2, 128, 0, -256});
  t.mode = Address::border;
  CHECK(fetched<float>("line", t, a, Floats{0, 4, 3.75f, 5}, 1) == Floats{0, -128, -192, 0});
  t.mode = Address::wrap;
  t.normalized = true;
  CHECK(fetched<float>("line", t, a, Floats{0, 0.125f, 1}, 1) == Floats{-128, 0, -128});
  t.mode = Address::mirror;
  CHECK(fetched<float>("line", t, a, Floats{0, 1, 0.25f}, 1) == Floats{0, -256, 128});
  const Floats plane{0, 64, 128, 256};
  Texture two = array(0, {2, 2});
  two.linear = true;
  // 1/4 of the way right, 1/2 down: (0 * 3/4 + 64 * 1/4) / 2 + (128 * 3/4 + 256 * 1/4) / 2
  CHECK(fetched<float>("plane", two, plane, Floats{0.75f, 1, 1, 1}, 2) == Floats{88, 112});
  Texture three = array(0, {2, 2, 2});
  three.linear = true;
  CHECK(fetched<float>("room", three, Floats{0, 8, 16, 24, 32, 40, 48, 56}, Floats{1, 1, 1}, 3) ==
        Floats{28});
  // An infinite neighbour of no weight does not spoil a texel.
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(fetched<float>("line", array(0, {2}), Floats{1, inf}, Floats{0.5f}, 1) == Floats{1});
}

TEST_CASE("planes with a pitch, layers and rooms", "[texture]") {
  Texture pitched = array(0, {3, 2});
  pitched.memory = Memory::pitch2d;
  pitched.pitch = 32;
  Floats a(16);
  for (std::size_t i = 0; i < 16; ++i) a[i] = static_cast<float>(i);
  CHECK(fetched<float>("plane", pitched, a, Floats{0, 0, 2.5f, 0, 1, 1, 7, 7}, 2) ==
        Floats{0, 2, 9, 10});
  Texture layered = array(0, {2, 2});
  layered.layers = 3;  // the fourth asked for is the last
  CHECK(fetched<float>("layers", layered, a, Floats{0, 0, 1, 1, 1, 0, 0, 1}, 2) ==
        Floats{0, 7, 9, 10});
  CHECK(fetched<float>("room", array(0, {2, 2, 4}), a, Floats{1, 0, 3, 0, 1, 2}, 3) ==
        Floats{13, 10});
}

TEST_CASE("formats of texels", "[texture]") {
  Texture t = array(0, {2}, 1);
  t.channel = ptx::Type::s8;
  const std::vector<std::int8_t> s{-128, 100};
  CHECK(fetched<std::int32_t>("whole", t, s, Floats{0, 1}, 1) ==
        std::vector<std::int32_t>{-128, 100});
  t.normalized_read = true;
  CHECK(fetched<float>("line", t, s, Floats{0, 1}, 1) == Floats{-1, 100.0f / 127});
  t.channel = ptx::Type::u8;
  t.linear = true;
  CHECK(fetched<float>("line", t, std::vector<std::uint8_t>{0, 255}, Floats{1}, 1) == Floats{0.5f});
  Texture four = array(0, {2}, 4);
  four.channel = ptx::Type::u8;
  four.channels = 4;
  CHECK(fetched<std::uint32_t>("bytes", four, std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 255},
                               Floats{1}, 1, 4) == std::vector<std::uint32_t>{5, 6, 7, 255});
  Texture half = array(0, {2}, 2);
  half.channel = ptx::Type::f16;
  half.linear = true;
  CHECK(fetched<float>("line", half, std::vector<std::uint16_t>{0x3c00, 0x4000}, Floats{1}, 1) ==
        Floats{1.5f});
  Texture colours = array(0, {1, 1}, 16);
  colours.channels = 4;
  CHECK(fetched<float>("plane4", colours, Floats{1, 2, 3, 4}, Floats{0, 0}, 2, 4) ==
        Floats{1, 2, 3, 4});
}

TEST_CASE("four texels around a point", "[texture]") {
  const Floats a{0, 1, 2, 3, 4, 5, 6, 7, 8};
  // Counterclockwise from the lower left.
  CHECK(fetched<float>("gather", array(0, {3, 3}), a, Floats{1, 1, 2, 1}, 2, 4) ==
        Floats{3, 4, 1, 0, 4, 5, 2, 1});
}

TEST_CASE("questions about textures and surfaces", "[texture]") {
  Device d;
  const auto a = d.input("a", Floats(64)), o = d.output("o", 32);
  Texture t = array(d.memory.address(a), {5, 3}), s = t;
  t.normalized = true;
  s.surface = true;
  s.layers = 2;
  const std::uint64_t texture = d.bind(t), surface = d.bind(s);
  REQUIRE(faults_of(d.run(kernels(), "sizes", {1}, {1}, 0, texture, surface, P{o})) == "");
  CHECK(d.values<std::int32_t>(o) == std::vector<std::int32_t>{5, 3, 0, 1, 5, 2, 1, 0});
}

TEST_CASE("surfaces are read, stored and added to", "[texture]") {
  Device d;
  const auto a = d.input("a", Floats{1, 2, 3, 4, 5, 6}), o = d.output("o", 24);
  Texture from = array(d.memory.address(a), {3, 2}), to = array(d.memory.address(o), {2, 3});
  from.surface = to.surface = true;
  to.name = "o";
  std::uint64_t first = d.bind(from), second = d.bind(to);
  const auto report = d.run(kernels(), "turn", {1}, {3, 2}, 0, first, second);
  REQUIRE(faults_of(report) == "");
  CHECK(d.values<float>(o) == Floats{2, 8, 4, 10, 6, 12});
  CHECK(report.counts[cupilot::Counter::global_store_sectors].value == 1);
  const auto sum = d.output("sum", 8), layers = d.output("layers", 24);
  d.memory.mark_written(sum);
  Texture line = array(d.memory.address(sum), {2});
  line.surface = true;
  line.channel = ptx::Type::u32;
  first = d.bind(line);
  REQUIRE(faults_of(d.run(kernels(), "sums", {1}, {8}, 0, first)) == "");
  CHECK(d.values<std::uint32_t>(sum) == std::vector<std::uint32_t>{12, 16});
  Texture many = array(d.memory.address(layers), {2, 1});
  many.surface = true;
  many.layers = 3;
  first = d.bind(many);
  REQUIRE(faults_of(d.run(kernels(), "layer", {3}, {2}, 0, first)) == "");
  CHECK(d.values<float>(layers) == Floats{0, 1, 10, 11, 20, 21});
}

TEST_CASE("what lies outside of a surface traps, clamps or is zero", "[texture]") {
  struct Row {
    const char* mode;
    int x, y;
    const char *fault, *says;
    std::vector<std::int32_t> left;
    std::int32_t read;
  };
  const Row rows[] = {
      {"trap", 4, 1, "", "", {1, 2, 3, 7}, 4},
      {"trap",
       8,
       1,
       "run.out_of_bounds",
       "byte 8 of row 1 of surface a, which has 8 bytes a row, 2 rows",
       {1, 2, 3, 4},
       0},
      {"trap", 0, -1, "run.out_of_bounds", "byte 0 of row -1 of surface a", {1, 2, 3, 4}, 0},
      {"trap", 2, 0, "run.misaligned", "byte 2 of row 0 of surface a", {1, 2, 3, 4}, 0},
      {"clamp", 8, 5, "", "", {1, 2, 3, 7}, 4},
      {"clamp", -4, 0, "", "", {7, 2, 3, 4}, 1},
      {"zero", 8, 1, "", "", {1, 2, 3, 4}, 0},
      {"zero", 0, 1, "", "", {1, 2, 7, 4}, 3},
  };
  for (const Row& row : rows) {
    INFO(row.mode << " at " << row.x << ", " << row.y);
    Device d;
    const auto a = d.output("a", 16), o = d.output("o", 4);
    const std::vector<std::int32_t> values{1, 2, 3, 4};
    std::memcpy(d.memory.data(a).data(), values.data(), 16);
    d.memory.mark_written(a);
    Texture t = array(d.memory.address(a), {2, 2});
    t.surface = true;
    t.channel = ptx::Type::s32;
    const std::uint64_t handle = d.bind(t);
    const auto module = module_of_cuda(with(row.mode));
    const std::string read =
        faults_of(d.run(module, "from", {1}, {1}, 0, handle, row.x, row.y, P{o}));
    const std::string stored = faults_of(d.run(module, "edge", {1}, {1}, 0, handle, row.x, row.y));
    const std::string said = *row.fault == '\0' ? "" : row.says;
    const std::string code = *row.fault == '\0' ? "" : std::string(row.fault) + ": ";
    CHECK(read.rfind(code + (code == "" ? "" : "reads ") + said, 0) == 0);
    CHECK(stored.rfind(code + (code == "" ? "" : "writes ") + said, 0) == 0);
    CHECK((stored == "") == (*row.fault == '\0'));
    CHECK(d.values<std::int32_t>(a) == row.left);
    if (*row.fault == '\0') CHECK(d.values<std::int32_t>(o)[0] == row.read);
  }
}

TEST_CASE("textures that do not fit are faults by name", "[texture]") {
  const auto fault = [](const char* kernel, void (*change)(Texture&), std::uint64_t off = 0) {
    Device d;
    const auto a = d.input("a", Floats(8)), x = d.input("x", Floats{0, 9, 0, 9}),
               o = d.output("o", 64);
    Texture t = array(d.memory.address(a), {8});
    change(t);
    const std::uint64_t handle = d.bind(t) + off;
    return faults_of(d.run(kernels(), kernel, {1}, {2}, 0, handle, P{x}, P{o}));
  };
  CHECK(fault("line", [](Texture&) {}) == "");
  CHECK(fault("line", [](Texture& t) {
          t.sides[0] = 10;
        }).find("run.out_of_bounds: reads 4 bytes") == 0);
  CHECK(
      fault("line", [](Texture& t) { t.channel = ptx::Type::s32; })
          .find("run.launch: takes f32 from texture a, whose elements are s32 read as integers") ==
      0);
  CHECK(fault("whole", [](Texture&) {}).find("run.launch: takes s32 from texture a") == 0);
  CHECK(fault("whole", [](Texture& t) { t.channel = ptx::Type::u32; }).find("run.launch") == 0);
  CHECK(fault("plane", [](Texture&) {}).find("run.launch: takes 2D texture, but a is 1D") == 0);
  CHECK(fault("line", [](Texture& t) {
          t.memory = Memory::linear;
        }).find("run.launch: texture a of linear memory") == 0);
  CHECK(fault("line", [](Texture& t) {
          t.surface = true;
        }).find("run.out_of_bounds: a is a surface, no texture") == 0);
  CHECK(fault(
            "line", [](Texture&) {}, 1)
            .find("run.out_of_bounds: 0x7c0000000002 is the handle of no texture") == 0);
}

TEST_CASE("a launch does not read by textures and surfaces what it wrote", "[texture]") {
  Device d;
  const auto a = d.output("a", 128), o = d.output("o", 128);
  d.memory.mark_written(a);
  Texture s = array(d.memory.address(a), {32}), t = s;
  s.surface = true;
  t.memory = Memory::linear;
  const std::uint64_t surface = d.bind(s), texture = d.bind(t);
  CHECK(
      faults_of(d.run(kernels(), "both", {1}, {32}, 0, surface, P{o})).find("run.race: reads a") ==
      0);
  CHECK(faults_of(d.run(kernels(), "stale", {1}, {32}, 0, texture, P{a}, P{o}))
            .find("run.race: reads a") == 0);
}
