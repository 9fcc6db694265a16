// Memory traffic and divergence, instruction by instruction.
#include <algorithm>
#include <map>
#include <set>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"

namespace {

using cupilot::Counter;
using support::Device;
using P = Device::Pointer;

// Line by line, so that each kind of traffic has a source line of its own.
const char* text = R"(extern "C" __global__ void k(const float* a, float* o) {
  __shared__ float s[32 * 32];
  const int t = threadIdx.x;
  const float x = a[blockIdx.x * 256 + t * 8];
  s[t * 32] = x;
  __syncwarp();
  float r = s[t * 32 + 0];
  if (t & 1) {
    r = a[t] / r;
  }
  o[blockIdx.x * 32 + t] = r;
}
)";

struct Line {
  std::uint64_t warps = 0;
  cupilot::ptx::LineTraffic traffic;
};

std::map<std::uint32_t, Line> by_source_line(const cupilot::ptx::Module& module,
                                             const cupilot::ptx::Report& report) {
  std::map<std::uint32_t, Line> lines;
  for (const cupilot::ptx::LineCount& count : report.lines) {
    const auto& instruction = module.functions[count.function].instructions[count.instruction];
    Line& line = lines[instruction.source_line];
    line.warps += count.warps;
    line.traffic.requests += count.traffic.requests;
    line.traffic.sectors += count.traffic.sectors;
    line.traffic.wavefronts += count.traffic.wavefronts;
    line.traffic.conflicts += count.traffic.conflicts;
    line.traffic.divergences += count.traffic.divergences;
  }
  return lines;
}

cupilot::ptx::Report report_of(bool by_instruction) {
  Device d;
  d.options.by_instruction = by_instruction;
  const auto a = d.input("a", std::vector<float>(1024, 2.0f)), o = d.output("o", 4 * 32 * 4);
  return d.run(support::module_of_cuda(text), "k", {4}, {32}, 0, P{a}, P{o});
}

}  // namespace

TEST_CASE("each instruction's traffic stands at its source line", "[by_instruction]") {
  const auto report = report_of(true);
  REQUIRE(report.faults.empty());
  auto lines = by_source_line(*support::module_of_cuda(text), report);
  struct Row {
    std::uint32_t line;
    std::uint64_t requests, sectors, wavefronts, conflicts, divergences;
  };
  const Row rows[] = {{4, 4, 4 * 32, 0, 0, 0},       // a stride of 32 bytes: a sector a lane
                      {5, 0, 0, 4 * 32, 4 * 31, 0},  // a stride of 32 words: all lanes in one bank
                      {7, 0, 0, 4 * 32, 4 * 31, 0},  // the same, read
                      {11, 4, 4 * 4, 0, 0, 0}};      // side by side: four sectors
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const cupilot::ptx::LineTraffic& seen = lines[row.line].traffic;
    CHECK(seen.requests == row.requests);
    CHECK(seen.sectors == row.sectors);
    CHECK(seen.wavefronts == row.wavefronts);
    CHECK(seen.conflicts == row.conflicts);
  }
}

TEST_CASE("traffic by instruction adds up to the counters", "[by_instruction]") {
  const auto report = report_of(true);
  REQUIRE(report.faults.empty());
  const auto of = [&](Counter counter) {
    return static_cast<std::uint64_t>(report.counts[counter].value);
  };
  Line sum;
  for (const auto& [line, seen] : by_source_line(*support::module_of_cuda(text), report)) {
    sum.warps += seen.warps;
    sum.traffic.requests += seen.traffic.requests;
    sum.traffic.sectors += seen.traffic.sectors;
    sum.traffic.wavefronts += seen.traffic.wavefronts;
    sum.traffic.conflicts += seen.traffic.conflicts;
    sum.traffic.divergences += seen.traffic.divergences;
  }
  CHECK(sum.warps == of(Counter::warp_instructions));
  CHECK(sum.traffic.requests ==
        of(Counter::global_load_requests) + of(Counter::global_store_requests));
  CHECK(sum.traffic.sectors ==
        of(Counter::global_load_sectors) + of(Counter::global_store_sectors));
  CHECK(sum.traffic.wavefronts ==
        of(Counter::shared_load_wavefronts) + of(Counter::shared_store_wavefronts));
  CHECK(sum.traffic.conflicts == of(Counter::shared_conflicts));
  CHECK(sum.traffic.divergences == of(Counter::divergent_branches));
}

TEST_CASE("nobody pays for traffic by instruction who did not ask", "[by_instruction]") {
  for (const auto& count : report_of(false).lines) {
    const auto& t = count.traffic;
    CHECK(t.requests + t.sectors + t.wavefronts + t.conflicts + t.divergences == 0);
    CHECK(count.warps > 0);
  }
}

TEST_CASE("lines that blocks load are noted for whoever asks, in the order of the loads",
          "[by_instruction]") {
  // Copies by cp.async and plain loads; a stretch that both blocks read, and one of each block's.
  const char* loads = R"(extern "C" __global__ void k(const float* a, const float* b, float* o) {
    __shared__ float s[32];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::
      "r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x)), "l"(b + threadIdx.x));
    asm volatile("cp.async.wait_all;");
    float sum = s[threadIdx.x];
    for (int i = 0; i < 256; ++i) sum += a[(blockIdx.x * 256 + i) * 32 + threadIdx.x];
    o[blockIdx.x * 32 + threadIdx.x] = sum;
  })";
  const auto loaded = [&](std::vector<std::uint64_t> blocks, bool note) {
    Device d;
    d.options.note_loads = note;
    d.options.blocks = std::move(blocks);
    const auto a = d.input("a", std::vector<float>(2 * 256 * 32, 1.0f)),
               b = d.input("b", std::vector<float>(32, 1.0f)), o = d.output("o", 2 * 32 * 4);
    const auto report = d.run(support::module_of_cuda(loads), "k", {2}, {32}, 0, P{a}, P{b}, P{o});
    REQUIRE(report.faults.empty());
    return report.loaded;
  };
  CHECK(loaded({0}, false).empty());
  const auto first = loaded({0}, true), second = loaded({1}, true), both = loaded({0, 1}, true);
  CHECK(std::is_sorted(first.end() - 16, first.end()));
  auto joined = first;
  joined.insert(joined.end(), second.begin(), second.end());
  CHECK(both == joined);
  // One line of eight is drawn of 256 of each block's own, and maybe the one that they share.
  CHECK((first.size() >= 16 && first.size() <= 48));
  CHECK((second.size() >= 16 && second.size() <= 48));
  CHECK(std::set<std::uint64_t>(both.begin(), both.end()).size() + 1 >= both.size());
}

TEST_CASE("sectors of lines that blocks store to are noted for whoever asks", "[by_instruction]") {
  // Rows of 256 floats; of each a block writes 48 or 64, words one by one or four at once.
  struct Row {
    const char* text;
    int columns;
    bool whole;  // lines
  };
  const Row row =
      GENERATE(Row{"for (int i = threadIdx.x; i < n; i += 32) o[at + i] = 1.0f;", 64, true},
               Row{"for (int i = threadIdx.x; i < n; i += 32) o[at + i] = 1.0f;", 48, false},
               Row{"if (4 * threadIdx.x < n) *(float4*)(o + at + 4 * threadIdx.x) = {1, 1, 1, 1};",
                   64, true},
               Row{"if (4 * threadIdx.x < n) *(float4*)(o + at + 4 * threadIdx.x) = {1, 1, 1, 1};",
                   48, false});
  const std::string text = std::string(
                               "extern \"C\" __global__ void k(float* o, int n) {"
                               "  for (int r = 0; r < 64; ++r) {"
                               "    const int at = r * 256 + blockIdx.x * n;") +
                           row.text + "}}";
  Device d;
  d.options.note_stores = true;
  d.options.blocks = {1};
  const auto o = d.output("o", 64 * 256 * 4);
  const auto report =
      d.run(support::module_of_cuda(text.c_str()), "k", {4}, {32}, 0, P{o}, row.columns);
  REQUIRE(report.faults.empty());
  REQUIRE_FALSE(report.stored.empty());
  std::map<std::uint64_t, std::uint64_t> lines;
  for (const std::uint64_t noted : report.stored) lines[noted / 16] |= noted % 16;
  std::size_t full = 0;
  for (const auto& [line, sectors] : lines) full += sectors == 15 ? 1 : 0;
  INFO(row.text << row.columns << " " << full << " of " << lines.size());
  CHECK((full == lines.size()) == row.whole);
  CHECK(full > 0);
}
