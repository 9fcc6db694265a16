// Where shared variables lie: apart here, one after another on a device, and aligned alike.
#include "ptx/machine/shared_layout.hpp"

#include "catch.hpp"
#include "ptx/machine/machine.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;

namespace {

struct Declared {
  std::uint64_t bytes;
  std::uint32_t align;
};

ptx::SharedLayout layout_of(const std::vector<Declared>& declared, std::uint32_t extern_align) {
  std::vector<ptx::Variable> variables(declared.size());
  std::vector<const ptx::Variable*> named;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    variables[i].bytes = declared[i].bytes;
    variables[i].align = declared[i].align;
    named.push_back(&variables[i]);
  }
  return ptx::shared_layout(named, extern_align);
}

}  // namespace

TEST_CASE("shared variables lie apart, as aligned as on a device", "[shared]") {
  struct Row {
    std::vector<Declared> declared;
    std::uint32_t extern_align;
    std::uint32_t variables, dynamic_at;  // on a device
    std::size_t gaps;
    std::uint32_t wide = 1024;
  };
  const Row rows[] = {
      {{}, 16, 0, 0, 0},
      {{}, 1024, 0, 0, 0},
      {{{512, 4}}, 16, 512, 512, 1},
      {{{5, 1}, {8, 8}}, 16, 16, 16, 2},
      {{{64, 8}, {4096, 1024}, {4, 4}}, 128, 5124, 5248, 3},
      {{{4096, 1024}, {16, 16}}, 1024, 4112, 5120, 2},
      {std::vector<Declared>(24, {100, 4}), 16, 2400, 2400, 24},
      {std::vector<Declared>(25, {100, 4}), 16, 2500, 2512, 25, 128},
      {std::vector<Declared>(192, {8, 8}), 16, 1536, 1536, 192, 128},
      {std::vector<Declared>(193, {8, 8}), 16, 1544, 1552, 0},
      {std::vector<Declared>(30, {1000, 1024}), 16, 30696, 30704, 0},
  };
  for (const Row& row : rows) {
    INFO(row.declared.size() << " variables, extern aligned to " << row.extern_align);
    const ptx::SharedLayout layout = layout_of(row.declared, row.extern_align);
    CHECK(layout.device.variables == row.variables);
    CHECK(layout.device.dynamic_at == row.dynamic_at);
    CHECK(layout.gaps.size() == row.gaps);
    std::uint64_t device_end = 0;
    for (std::size_t i = 0; i < row.declared.size(); ++i) {
      const Declared& one = row.declared[i];
      const std::uint64_t at = layout.address[i] - ptx::shared_base;
      device_end = (device_end + one.align - 1) / one.align * one.align;
      CHECK(layout.address[i] % one.align == 0);
      CHECK(at % row.wide == device_end % row.wide);
      if (i > 0 && row.gaps != 0)
        CHECK(at - (layout.address[i - 1] - ptx::shared_base + row.declared[i - 1].bytes) >=
              row.wide);
      if (i > 0 && row.gaps != 0) CHECK(at - layout.gaps[i - 1].moved == device_end);
      device_end += one.bytes;
    }
    CHECK((ptx::shared_base + layout.here.dynamic_at) % row.extern_align == 0);
    CHECK(layout.here.bytes(0) == layout.here.variables);
    CHECK(layout.device.bytes(100) == row.dynamic_at + 100);
  }
}

TEST_CASE("a kernel is told the shared memory that a device would give it", "[shared]") {
  const auto module = module_of_cuda(R"(
extern "C" __global__ void sizes(unsigned* o, int n) {
  __shared__ volatile unsigned left[30], right[40]; extern volatile __shared__ unsigned rest[];
  left[n] = 1; right[n] = 2; rest[n] = 3;
  asm("mov.u32 %0, %%total_smem_size;" : "=r"(o[0])); asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(o[1]));
  o[2] = left[n] + right[n] + rest[n];
})");
  for (const std::uint32_t dynamic : {4u, 256u}) {
    Device d;
    const auto io = d.output("o", 12);
    REQUIRE(faults_of(d.run(module, "sizes", {1}, {1}, dynamic, Device::Pointer{io}, 0)) == "");
    const auto o = d.values<std::uint32_t>(io);
    CHECK(o[0] == 288 + dynamic);
    CHECK(o[1] == dynamic);
    CHECK(o[2] == 6);
  }
}

TEST_CASE("shared variables beyond any device's memory are refused, what alignment leaves out too",
          "[shared]") {
  const auto program_of = [](int count, std::uint64_t bytes) {
    std::string declared, named;
    for (int i = 0; i < count; ++i) {
      const std::string name = "v" + std::to_string(i);
      declared += ".shared .align 4096 .b8 " + name + "[" + std::to_string(bytes) + "];\n";
      named += "  mov.u32 %r1, " + name + ";\n";
    }
    return ptx::make_program(
        module_of(".version 8.0\n.target sm_90a\n.address_size 64\n" + declared +
                  ".visible .entry k()\n{\n  .reg .b32 %r<2>;\n" + named + "  ret;\n}\n"),
        "k");
  };
  CHECK(program_of(4000, 1));
  for (const auto& [count, bytes] : {std::pair{5000, 1}, {2, 16 << 20}}) {
    const auto refused = program_of(count, static_cast<std::uint64_t>(bytes));
    REQUIRE(refused.is_error());
    CHECK(refused.error().message == "static shared memory passes 16 MiB");
  }
}
