#include "roofline/stalls.hpp"

#include <algorithm>
#include <limits>

#include "catch.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN(),
                 endless = std::numeric_limits<double>::infinity();

using Spent = std::vector<std::pair<Stall, double>>;

WarpCycles counted(double resident, const Spent& spent) {
  WarpCycles warps;
  warps.resident = resident;
  for (const auto& [stall, cycles] : spent) warps[stall] = cycles;
  return warps;
}

double share(const std::vector<Bottleneck>& all, Resource resource) {
  for (const Bottleneck& pressure : all) {
    if (pressure.resource == resource) return pressure.share;
  }
  return 0;
}

}  // namespace

TEST_CASE("shares of the warps' cycles, most first; counts that cannot be say nothing",
          "[stalls]") {
  struct Row {
    const char* what;
    double resident;
    Spent spent;
    std::vector<std::pair<Stall, double>> shares;
  };
  const Row rows[] = {
      {"two reasons",
       200,
       {{Stall::barrier, 20}, {Stall::selected, 100}},
       {{Stall::selected, 0.5}, {Stall::barrier, 0.1}}},
      {"as many cycles as there were", 100, {{Stall::wait, 100}}, {{Stall::wait, 1}}},
      {"a little more: passes differ",
       100,
       {{Stall::wait, 84}, {Stall::gmma, 21}},
       {{Stall::wait, 0.8}, {Stall::gmma, 0.2}}},
      {"many more", 100, {{Stall::wait, 84}, {Stall::gmma, 42}}, {}},
      {"not counted", 0, {}, {}},
      {"cycles of no warp", 0, {{Stall::wait, 10}}, {}},
      {"below nothing", -1, {{Stall::wait, 10}}, {}},
      {"a reason below nothing", 100, {{Stall::wait, -1}, {Stall::gmma, 10}}, {}},
      {"no number of cycles", no_number, {{Stall::wait, 10}}, {}},
      {"endless cycles", endless, {{Stall::wait, 10}}, {}},
      {"no number at a reason", 100, {{Stall::wait, no_number}, {Stall::gmma, 10}}, {}},
      {"endless reason", 100, {{Stall::wait, endless}}, {}},
      {"resident, and no reason known", 100, {}, {}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const auto shares = stall_shares(counted(row.resident, row.spent));
    REQUIRE(shares.size() == row.shares.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      CHECK(shares[i].stall == row.shares[i].first);
      CHECK(shares[i].share == Approx(row.shares[i].second));
    }
  }
}

TEST_CASE("a sentence says what most of the waiting is for", "[stalls]") {
  struct Row {
    std::vector<StallShare> stalls;
    const char* sentence;
    const char* advice;
  };
  const Row rows[] = {
      {{{Stall::long_scoreboard, 0.41},
        {Stall::wait, 0.2},
        {Stall::selected, 0.12},
        {Stall::barrier, 0.1},
        {Stall::membar, 0.09}},
       "Warps waited 41% of their cycles for global loads (long scoreboard), 20% for the last "
       "instruction (wait), 10% for "
       "the rest of their block (barrier); they issued in 12%.",
       " The first asks for earlier loads or more at once."},
      {{{Stall::not_selected, 0.5},
        {Stall::selected, 0.25},
        {Stall::sleeping, 0.2},
        {Stall::misc, 0.05}},
       "Warps waited 20% of their cycles asleep (sleeping); they issued in 25%.",
       ""},
      {{{Stall::not_selected, 0.6}, {Stall::selected, 0.37}, {Stall::wait, 0.03}},
       "",
       " The first asks for independent instructions."},
      {{}, "", ""},
  };
  for (const Row& row : rows) {
    CHECK(stall_sentence(row.stalls) == row.sentence);
    CHECK(stall_advice(row.stalls) == row.advice);
  }
}

TEST_CASE("the longest sentence fits a prompt's line", "[stalls]") {
  const auto count = static_cast<int>(stall_count);
  std::size_t longest = 0;
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      for (int c = 0; c < count; ++c) {
        if (a == b || b == c || a == c) continue;
        const std::vector<StallShare> all = {{static_cast<Stall>(a), 0.34},
                                             {static_cast<Stall>(b), 0.33},
                                             {static_cast<Stall>(c), 0.32},
                                             {Stall::selected, 0.01}};
        longest = std::max(longest, stall_sentence(all).size() + stall_advice(all).size());
      }
    }
  }
  CHECK(longest > 150);
  CHECK(longest <= 240);
}

TEST_CASE("unexplained time goes to what warps wait for", "[stalls]") {
  struct Row {
    const char* what;
    std::vector<StallShare> stalls;
    double latency, shared, issue, tensor, occupancy;
  };
  const Row rows[] = {
      {"nothing counted", {}, 0.6, 0.1, 0.1, 0.2, 0},
      {"warps hardly waited",
       {{Stall::selected, 0.9}, {Stall::short_scoreboard, 0.04}},
       0.6,
       0.1,
       0.1,
       0.2,
       0},
      {"for loads alone",
       {{Stall::long_scoreboard, 0.5}, {Stall::not_selected, 0.3}},
       0.6,
       0.1,
       0.1,
       0.2,
       0},
      {"for shared memory, mostly",
       {{Stall::short_scoreboard, 0.3},
        {Stall::mio_throttle, 0.15},
        {Stall::long_scoreboard, 0.15}},
       0.15,
       0.55,
       0.1,
       0.2,
       0},
      {"for the busier pipe",
       {{Stall::math_pipe_throttle, 0.3}, {Stall::gmma, 0.3}},
       0,
       0.1,
       0.1,
       0.8,
       0},
      {"in equal parts", {{Stall::barrier, 0.2}, {Stall::wait, 0.2}}, 0.3, 0.1, 0.25, 0.2, 0.15},
      {"for what nothing is known to help",
       {{Stall::misc, 0.2}, {Stall::short_scoreboard, 0.2}},
       0.3,
       0.4,
       0.1,
       0.2,
       0},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    std::vector<Bottleneck> all = {{Resource::latency, 0.6},
                                   {Resource::tensor_pipe, 0.2},
                                   {Resource::shared, 0.1},
                                   {Resource::issue, 0.1},
                                   {Resource::fp_pipe, 0.05}};
    CHECK(deal_waiting(all, row.stalls) ==
          (row.stalls.empty() || row.stalls[0].stall == Stall::selected ? 0 : 0.6));
    CHECK(share(all, Resource::latency) == Approx(row.latency).margin(1e-12));
    CHECK(share(all, Resource::shared) == Approx(row.shared));
    CHECK(share(all, Resource::issue) == Approx(row.issue));
    CHECK(share(all, Resource::tensor_pipe) == Approx(row.tensor));
    CHECK(share(all, Resource::occupancy) == Approx(row.occupancy));
    CHECK(share(all, Resource::fp_pipe) == Approx(0.05));
  }
  std::vector<Bottleneck> none = {{Resource::dram, 0.9}};
  deal_waiting(none, {{Stall::short_scoreboard, 0.9}});
  CHECK(none.size() == 1);
  std::vector<Bottleneck> full = {{Resource::latency, 0.9}, {Resource::shared, 0.8}};
  deal_waiting(full, {{Stall::short_scoreboard, 0.9}});
  CHECK(share(full, Resource::shared) == 1);
}

TEST_CASE("a verdict tells of stalls where they were counted, and only there", "[stalls]") {
  const Task task = *gemm_task({.m = 512, .n = 512, .k = 512});
  const auto judged = [&](const WarpCycles& warps, double bytes = 0) {
    Measurement measurement;
    measurement.provenance = Provenance::measured;
    measurement.time_us = 200;
    measurement.counts.source = CounterSource::counters;
    measurement.counts[Counter::issue_slots] = {1e6, 1e6, 1e6, CountHow::exact};
    measurement.counts[Counter::dram_read_bytes] = {bytes, bytes, bytes, CountHow::exact};
    const auto verdict = judge(task, task.time_shapes[0], *chip("h200"), measurement, warps);
    if (!verdict) FAIL(verdict.error().message);
    return *verdict;
  };
  const auto told = [](const Verdict& verdict) {
    std::size_t sentences = 0;
    for (const std::string& sentence : verdict.digest)
      sentences += sentence.find("Warps waited") == 0 ? 1 : 0;
    return sentences;
  };
  const Verdict before = judged({});
  CHECK(before.binding == Resource::latency);
  CHECK(before.stalls.empty());
  CHECK(told(before) == 0);

  WarpCycles warps = counted(
      1000,
      {{Stall::short_scoreboard, 700}, {Stall::long_scoreboard, 100}, {Stall::selected, 200}});
  const Verdict after = judged(warps);
  CHECK(after.binding == Resource::shared);
  CHECK(after.stalls.front().stall == Stall::short_scoreboard);
  CHECK(told(after) == 1);
  CHECK(share(after.bottlenecks, Resource::shared) ==
        Approx(0.875 * share(before.bottlenecks, Resource::latency)).epsilon(0.01));
  for (std::size_t i = 1; i < after.bottlenecks.size(); ++i)
    CHECK(after.bottlenecks[i].share <= after.bottlenecks[i - 1].share);

  // Of a kernel that memory keeps busy the numbers are told, but nothing is asked for.
  const Verdict busy = judged(warps, 0.97 * 200e-6 * chip("h200")->dram_sustained);
  CHECK(busy.binding == Resource::dram);
  CHECK(told(busy) == 1);
  const auto asks = [](const Verdict& verdict) {
    return std::any_of(
        verdict.digest.begin(), verdict.digest.end(),
        [](const std::string& sentence) { return sentence.find("asks for") != std::string::npos; });
  };
  CHECK(asks(after));
  CHECK_FALSE(asks(busy));

  warps[Stall::selected] = 400;  // more cycles than there were
  const Verdict wrong = judged(warps);
  CHECK(wrong.stalls.empty());
  CHECK(wrong.digest == before.digest);
  CHECK(wrong.binding == before.binding);
}
