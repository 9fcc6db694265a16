// What each operator makes of a small text, and that nothing outside code is touched.
#include "operators.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "campaign.hpp"
#include "catch.hpp"

namespace cupilot::mutation {
namespace {

const std::string kernel = R"(// A comment with a[i] < b and __syncthreads();
constexpr int WIDTH = 64;  // 63 + 1

__global__ void sum(const float* x, float* y, int n) {
  __shared__ float part[64];
  float total = 0.0f;
  for (int i = threadIdx.x; i < n; i += 64) total += x[i];
  asm volatile("// %0 + 1" ::"r"(n + 1));
  part[threadIdx.x] = total * 2;
  __syncthreads();
  if (threadIdx.x < 32) y[blockIdx.x] = part[0] + 3;
}
)";

// The lines that a mutant of `name` changes, without blanks around them.
std::set<std::string> changed(const std::string& name) {
  const auto all = operators();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Operator& o) { return name == o.name; });
  REQUIRE(found != all.end());
  std::set<std::string> lines;
  for (const Site& site : found->sites(SourceText(kernel))) {
    const std::string text = apply(kernel, site);
    const std::size_t at = static_cast<std::size_t>(
        std::mismatch(kernel.begin(), kernel.end(), text.begin()).first - kernel.begin());
    const std::size_t begin = text.rfind('\n', at) + 1;
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    lines.insert(line.substr(line.find_first_not_of(' ')));
  }
  return lines;
}

}  // namespace

TEST_CASE("each operator makes the faults it names, and no others", "[mutation]") {
  const std::map<std::string, std::set<std::string>> wanted = {
      {"drop_barrier", {";"}},
      {"relax_guard", {"if (threadIdx.x <= 32) y[blockIdx.x] = part[0] + 3;"}},
      {"drop_last", {"if (threadIdx.x < -1 + 32) y[blockIdx.x] = part[0] + 3;"}},
      {"loop_bound",
       {"for (int i = threadIdx.x; i < 1 + n; i += 64) total += x[i];",
        "for (int i = threadIdx.x; i < -1 + n; i += 64) total += x[i];"}},
      {"same_thread",
       {"for (int i = (threadIdx.x / 2); i < n; i += 64) total += x[i];",
        "part[(threadIdx.x / 2)] = total * 2;",
        "if ((threadIdx.x / 2) < 32) y[blockIdx.x] = part[0] + 3;"}},
      {"plus_to_minus",
       {"for (int i = threadIdx.x; i < n; i += 64) total -= x[i];",
        "if (threadIdx.x < 32) y[blockIdx.x] = part[0] - 3;"}},
      {"shifted_index",
       {"for (int i = threadIdx.x; i < n; i += 64) total += x[1 + i];",
        "part[1 + threadIdx.x] = total * 2;",
        "if (threadIdx.x < 32) y[1 + blockIdx.x] = part[0] + 3;",
        "if (threadIdx.x < 32) y[blockIdx.x] = part[1 + 0] + 3;"}},
      {"wrong_stride",
       {"part[threadIdx.x] = total * (2 + 1);",
        "for (int i = threadIdx.x; i < n; i += 1 + 64) total += x[i];"}},
      {"drop_store", {";", "if (threadIdx.x < 32) ;"}},
      {"constant_off_by_one",
       {"part[threadIdx.x] = total * 3;", "if (threadIdx.x < 32) y[blockIdx.x] = part[0] + 4;"}},
      {"wrong_start",
       {"float total = 1;", "for (int i = 1 + threadIdx.x; i < n; i += 64) total += x[i];"}},
      {"write_input",
       {"__global__ void sum(const float* x, float* y, int n) { if (threadIdx.x == 0) *(volatile "
        "char*)x = *(const volatile "
        "char*)x;"}},
      {"read_output",
       {"if (threadIdx.x < 32) { (void)*(volatile char*)&(y[blockIdx.x]); y[blockIdx.x] = part[0] "
        "+ 3; }"}},
  };
  for (const auto& [name, lines] : wanted) {
    INFO(name);
    CHECK(changed(name) == lines);
  }
  CHECK(operators().size() == wanted.size() + 1);
}

TEST_CASE("lost bits pass a sum's and a store's new value through a narrower number",
          "[mutation]") {
  const Operator& last = operators().back();
  REQUIRE(std::string(last.name) == "lost_bits");
  std::vector<std::string> texts;
  for (const Site& site : last.sites(SourceText(kernel))) texts.push_back(apply(kernel, site));
  REQUIRE(texts.size() == 3);
  CHECK(texts[0].find("total += mutant_narrow(x[i]);") != std::string::npos);
  CHECK(texts[1].find("part[threadIdx.x] = mutant_narrow(total * 2);") != std::string::npos);
  CHECK(texts[2].find("y[blockIdx.x] = mutant_narrow(part[0] + 3);") != std::string::npos);
}

TEST_CASE("the campaign has 350 mutants, no two alike, and argues few away", "[mutation]") {
  const auto campaign = read_campaign(CUPILOT_SOURCE_DIR "/tests/mutation/campaign.json");
  REQUIRE(campaign);
  CHECK(campaign->kernels.size() == 25);
  CHECK(campaign->equivalent.size() <= 5);
  const auto all = mutants(*campaign, CUPILOT_SOURCE_DIR "/tests/hostile/honest", 1, false);
  REQUIRE(all);
  CHECK(all->size() == 350);
  std::set<std::string> texts;
  for (const Mutant& mutant : *all) texts.insert(mutant.kernel + mutant.source.text);
  CHECK(texts.size() == 350);
  const auto again = mutants(*campaign, CUPILOT_SOURCE_DIR "/tests/hostile/honest", 1, false);
  REQUIRE(again);
  for (std::size_t i = 0; i < all->size(); ++i)
    CHECK((*all)[i].source.text == (*again)[i].source.text);
}

TEST_CASE("a kernel without a place for an operator is named", "[mutation]") {
  Campaign campaign;
  campaign.kernels = {"axpy_simple.cu"};
  const auto none = mutants(campaign, CUPILOT_SOURCE_DIR "/tests/hostile/honest", 1, false);
  REQUIRE(!none);
  CHECK(none.error().message.find("axpy_simple.cu has no place for drop_barrier") !=
        std::string::npos);
  campaign.kernels = {"absent.cu"};
  CHECK(!mutants(campaign, CUPILOT_SOURCE_DIR "/tests/hostile/honest", 1, false));
  CHECK(!read_campaign("/nowhere.json"));
}

}  // namespace cupilot::mutation
