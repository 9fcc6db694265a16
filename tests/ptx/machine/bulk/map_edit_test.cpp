// Kernels that edit tensor maps: every field of tensormap.replace, the fences between an edit and
// its use, and what is missing without them.
#include <cstdint>

#include "catch.hpp"
#include "ptx/machine/async_text.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

// The pattern of a grouped GEMM: a map is copied from the parameters to shared memory, edited
// there, copied to global memory with a release, acquired, and used.
const std::string text = async_text + R"(
#ifndef ACQUIRE
#define ACQUIRE asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(w) : "memory")
#endif
#ifndef MEET
#define MEET __syncwarp()
#endif
#ifndef RELEASE
#define RELEASE asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(w), "r"(sm(&m)) : "memory")
#endif
#define EDIT(field, value) asm volatile("tensormap.replace.tile." field ".shared::cta.b1024.b64 [%0], %1;" ::"r"(sm(&m)), "l"(value) : "memory")
#define SIDE(field, type, i, c, value) asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type " [%0], " i ", %1;" ::"r"(sm(&m)), c(value) : "memory")
K grouped(const __grid_constant__ Map first, Map* work, const float* a, const float* b, float* o) {
  __shared__ __align__(128) Map m; __shared__ __align__(128) float s[32]; __shared__ u64 bar;
  int t = threadIdx.x; Map* w = work + blockIdx.x;
  ((u32*)&m)[t] = ((const u32*)&first)[t];
  if (t == 0) init(&bar, 1);
  FENCE_PROXY; __syncwarp();
  for (int i = 0; i < 2; ++i) {
    if (t == 0) {
      EDIT("global_address", i == 0 ? a : b);
      SIDE("global_dim", "b32", "0", "r", i == 0 ? 6 : 8);
      SIDE("global_dim", "b32", "1", "r", 3);
      SIDE("global_stride", "b64", "0", "l", i == 0 ? 32ull : 64ull);
    }
    MEET;
    RELEASE;
    ACQUIRE;
    if (t == 0) { expect(&bar, 128); tile2(s, w, 0, 0, &bar); }
    wait(&bar, i);
    o[(blockIdx.x * 2 + i) * 32 + t] = s[t];
    FENCE_PROXY; __syncwarp();
  }
}
// Edits a map where it lies in global memory.
#ifndef THERE
#define THERE asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory"); asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(w) : "memory")
#endif
K there(const __grid_constant__ Map first, Map* w, const float* a, float* o) {
  __shared__ __align__(128) float s[32]; __shared__ u64 bar; int t = threadIdx.x;
  if (t == 0) {
    *w = first; init(&bar, 1); FENCE_PROXY;
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(w), "l"(a) : "memory");
    THERE;
    expect(&bar, 128); tile2(s, w, 0, 0, &bar);
  }
  __syncwarp();
  wait(&bar, 0);
  o[t] = s[t];
}
)";

ptx::TensorMap plane(std::uint64_t address) {
  ptx::TensorMap map;
  map.address = address;
  map.type = ptx::Type::f32;
  map.rank = 2;
  map.dims = {8, 4, 1, 1, 1};
  map.pitch = {32};
  map.box = {8, 4, 1, 1, 1};
  return map;
}

std::vector<float> counted(int n, float from) {
  std::vector<float> out(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = from + static_cast<float>(i);
  return out;
}

std::string grouped(const std::string& source, std::vector<float>* out = nullptr) {
  Device d;
  const auto a = d.input("a", counted(64, 1)), b = d.input("b", counted(64, 100));
  const auto w = d.output("work", 2 * 128), o = d.output("o", 4 * 32 * 4);
  const auto report = d.run(module_of_cuda(source), "grouped", {2}, {32}, 0,
                            plane(d.memory.address(a)), P{w}, P{a}, P{b}, P{o});
  if (out != nullptr) *out = d.values<float>(o);
  return faults_of(report);
}

}  // namespace

TEST_CASE("maps edited in shared memory and released to global memory", "[tensormap]") {
  std::vector<float> o;
  REQUIRE(grouped(text, &o) == "");
  for (int i = 0; i < 128; ++i) {
    const int x = i % 8, y = i / 8 % 4, second = i / 32 % 2;
    const bool inside = y < 3 && x < (second != 0 ? 8 : 6);
    const float first = second != 0 ? 100.0f : 1.0f;
    const float value = first + static_cast<float>(y * (second != 0 ? 16 : 8) + x);
    REQUIRE(o[static_cast<std::size_t>(i)] == (inside ? value : 0.0f));
  }
}

TEST_CASE("an edited map without its fences is a race by name", "[tensormap]") {
  const std::string unfenced = grouped("#define ACQUIRE\n" + text);
  CHECK(unfenced.find("run.race: has the asynchronous proxy use the tensor map") == 0);
  CHECK(unfenced.find("without fence.proxy.tensormap::generic.acquire") != std::string::npos);
  const std::string plain = grouped(
      "#define RELEASE ((volatile u32*)w)[t] = ((volatile u32*)&m)[t]; __syncwarp()\n" + text);
  CHECK(plain.find("run.race") == 0);
  CHECK(plain.find("without a tensormap::generic.release") != std::string::npos);
  // Copied by lanes that the editing one is not ordered before.
  CHECK(grouped("#define MEET\n" + text).find("run.race: reads m") == 0);
  // Edited again after it was acquired.
  const std::string again = grouped(
      "#define ACQUIRE if (i == 0) asm volatile(\"fence.proxy.tensormap::generic.acquire."
      "gpu [%0], 128;\" ::\"l\"(w) : \"memory\")\n" +
      text);
  CHECK(again.find("without fence.proxy.tensormap::generic.acquire") != std::string::npos);
  // Acquired by a lane that is not the one that copies, nothing ordering them.
  CHECK(grouped("#define ACQUIRE if (t == 5) asm volatile(\"fence.proxy.tensormap::generic.acquire."
                "gpu [%0], 128;\" ::\"l\"(w) : \"memory\")\n" +
                text)
            .find("run.race") == 0);
  CHECK(grouped("#define ACQUIRE if (t == 5) asm volatile(\"fence.proxy.tensormap::generic.acquire."
                "gpu [%0], 128;\" ::\"l\"(w) : \"memory\"); __syncwarp()\n" +
                text) == "");
}

TEST_CASE("maps edited in global memory", "[tensormap]") {
  const auto run = [](const std::string& source) {
    Device d;
    const auto a = d.input("a", counted(32, 1)), w = d.output("w", 128), o = d.output("o", 128);
    const auto report = d.run(module_of_cuda(source), "there", {1}, {32}, 0,
                              plane(d.memory.address(a) + 1024), P{w}, P{a}, P{o});
    if (report.faults.empty()) CHECK(d.values<float>(o) == counted(32, 1));
    return faults_of(report);
  };
  CHECK(run(text) == "");
  const std::string acquire =
      "asm volatile(\"fence.proxy.tensormap::generic.acquire.gpu [%0], 128;\" ::\"l\"(w) : "
      "\"memory\")\n";
  CHECK(run("#define THERE " + acquire + text).find("without a tensormap::generic.release") !=
        std::string::npos);
  CHECK(run("#define THERE asm volatile(\"fence.proxy.tensormap::generic.release.gpu;\" ::: "
            "\"memory\")\n" +
            text)
            .find("without fence.proxy.tensormap::generic.acquire") != std::string::npos);
}

TEST_CASE("fields of a map are replaced in its bytes", "[tensormap]") {
  using F = ptx::MapField;
  struct Row {
    F field;
    std::uint32_t ordinal;
    std::uint64_t value;
    void (*change)(ptx::TensorMap&);  // null: refused
  };
  using M = ptx::TensorMap;
  const Row rows[] = {
      {F::global_address, 0, 0x20000, [](M& m) { m.address = 0x20000; }},
      {F::global_address, 0, 0x20008, nullptr},
      {F::rank, 0, 2, [](M& m) { m.rank = 3; }},
      {F::rank, 0, 5, nullptr},
      {F::box_dim, 1, 256, [](M& m) { m.box[1] = 256; }},
      {F::box_dim, 1, 257, nullptr},
      {F::box_dim, 5, 1, nullptr},
      {F::global_dim, 4, 77, [](M& m) { m.dims[4] = 77; }},
      {F::global_dim, 0, 0, nullptr},
      {F::global_stride, 3, 4096, [](M& m) { m.pitch[3] = 4096; }},
      {F::global_stride, 4, 4096, nullptr},
      {F::global_stride, 0, 40, nullptr},
      {F::element_stride, 1, 8, [](M& m) { m.step[1] = 8; }},
      {F::element_stride, 1, 9, nullptr},
      {F::elemtype, 0, 10, [](M& m) { m.type = ptx::Type::bf16; }},
      {F::elemtype, 0, 9, [](M& m) { m.type = ptx::Type::f64; }},
      {F::elemtype, 0, 11, nullptr},
      {F::interleave_layout, 0, 0, [](M&) {}},
      {F::interleave_layout, 0, 1, nullptr},
      {F::swizzle_mode, 0, 0, [](M& m) { m.swizzle = 0; }},
      {F::swizzle_mode, 0, 1, [](M& m) { m.swizzle = 32; }},
      {F::swizzle_mode, 0, 3, [](M& m) { m.swizzle = 128; }},
      {F::swizzle_mode, 0, 4, nullptr},
      {F::fill_mode, 0, 1, [](M& m) { m.fill_nan = true; }},
      {F::fill_mode, 0, 2, nullptr},
      {F::swizzle_atomicity, 0, 0, nullptr},
  };
  for (const Row& row : rows) {
    INFO("field " << static_cast<int>(row.field) << " to " << row.value);
    ptx::TensorMap want = plane(0x10000);
    auto bytes = ptx::encode(want);
    const auto before = bytes;
    const std::string why = ptx::replace_field(bytes, row.field, row.ordinal, row.value);
    CHECK((why == "") == (row.change != nullptr));
    if (row.change != nullptr) row.change(want);
    CHECK(bytes == (row.change == nullptr ? before : ptx::encode(want)));
  }
  std::vector<std::uint8_t> nothing(128, 0);
  CHECK(ptx::replace_field(nothing, F::rank, 0, 1) == "no tensor map");
}
