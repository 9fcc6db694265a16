#include <cmath>

#include <cupilot/parts/suite.hpp>

#include "catch.hpp"

using namespace cupilot;

namespace {

// A champion of 10 us whose contestants took `times` times as long, within 2 %.
SuiteRow solved(const std::string& id, const std::vector<std::pair<std::string, double>>& times) {
  SuiteRow row;
  row.id = id;
  row.family = "softmax";
  row.proved = "fp32-strict";
  row.ended = true;
  row.time_us = 10;
  row.floor_us = 8;
  row.datasheet_floor_us = 6;
  for (const auto& [name, ratio] : times)
    row.times.push_back({name, 10 * ratio, ratio, 0.98 * ratio, 1.02 * ratio, ""});
  return row;
}

const SuiteMean& mean(const SuiteReport& report, const std::string& against,
                      const std::string& group = "all") {
  for (const SuiteMean& one : report.means) {
    if (one.against == against && one.group == group) return one;
  }
  FAIL("no mean against " << against << " of " << group);
  return report.means.front();
}

}  // namespace

TEST_CASE("means are over tasks with a time, and one without a champion counts as one") {
  SuiteReport report;
  report.rows = {solved("1", {{"torch", 4}}), solved("2", {{"torch", 1}}),
                 solved("3", {{"torch", 0.5}}), solved("4", {{"plain", 9}})};
  SuiteRow failed;
  failed.ended = true;
  failed.error = "no champion";
  report.rows.push_back(failed);
  report.rows.push_back({});  // has not ended
  summarise(report);
  CHECK(report.ended == 5);
  CHECK(report.solved == 4);
  const SuiteMean& torch = mean(report, "torch");
  CHECK(torch.tasks == 4);
  CHECK(torch.geometric == Approx(std::pow(4 * 0.5, 0.25)));
  CHECK(torch.low == Approx(std::pow(4 * 0.5 * std::pow(0.98, 3), 0.25)));
  CHECK(torch.arithmetic == Approx((4 + 1 + 0.5 + 1) / 4));
  CHECK(torch.faster == 1);
  CHECK(torch.slower == 1);
  CHECK(torch.undecided == 2);
  CHECK(mean(report, "plain").tasks == 2);
}

TEST_CASE("a row beside another counts in its own groups alone") {
  SuiteReport report;
  SuiteRow faster = solved("1@fp32-emulated", {{"torch", 6}});
  faster.precision = faster.proved = "fp32-emulated";
  faster.time_us = 5;
  SuiteRow slower = solved("2@fp32-emulated", {{"torch", 1}});
  slower.precision = slower.proved = "fp32-emulated";
  slower.time_us = 20;
  SuiteRow rescuing = solved("3@fp32-emulated", {{"torch", 5}});
  rescuing.precision = rescuing.proved = "fp32-emulated";
  SuiteRow failed = solved("3", {});
  failed.error = "no champion";
  SuiteRow waiting;
  waiting.id = "4";
  SuiteRow early = solved("4@fp32-emulated", {{"torch", 100}});
  early.precision = "fp32-emulated";
  early.ended = false;
  report.rows = {solved("1", {{"torch", 3}}),
                 faster,
                 solved("2", {{"torch", 2}}),
                 slower,
                 failed,
                 rescuing,
                 waiting,
                 early};
  summarise(report);
  CHECK(report.tasks == 4);
  CHECK(report.ended == 3);
  CHECK(report.solved == 2);
  CHECK(mean(report, "torch").geometric == Approx(std::cbrt(3 * 2 * 1)));
  CHECK(mean(report, "torch", "class fp32-strict").tasks == 3);
  const SuiteMean& beside = mean(report, "torch", "beside in fp32-emulated");
  CHECK(beside.tasks == 3);
  CHECK(beside.geometric == Approx(std::cbrt(6 * 1 * 5)));
  const SuiteMean& best = mean(report, "torch", "all, the faster class");
  CHECK(best.tasks == 3);
  CHECK(best.geometric == Approx(std::cbrt(6 * 2 * 5)));
  CHECK(stands_beside(report.rows[0]).empty());
  // A contestant that no row of a group was timed against gives that group no mean.
  report.rows[1].times.push_back({"cublaslt", 20, 2, 1.9, 2.1, ""});
  summarise(report);
  CHECK(mean(report, "cublaslt", "beside in fp32-emulated").tasks == 1);
  for (const SuiteMean& one : report.means) CHECK(one.tasks > 0);
  CHECK(stands_beside(report.rows[1]) == "1");
}

TEST_CASE("a task apart counts as one, whatever it gained") {
  SuiteReport report;
  report.rows = {solved("1", {{"torch", 4}}), solved("2", {{"torch", 100}})};
  report.rows[1].apart = "its output is constant";
  summarise(report);
  const SuiteMean& torch = mean(report, "torch");
  CHECK(torch.tasks == 2);
  CHECK(torch.geometric == Approx(2));
  CHECK(torch.faster == 1);
}

TEST_CASE("faster means that the whole interval lies above 1.01") {
  struct Case {
    double low, high;
    int faster, slower, undecided;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{{1.02, 1.5, 1, 0, 0},
                                                       {1.009, 1.5, 0, 0, 1},
                                                       {0.8, 0.98, 0, 1, 0},
                                                       {0.8, 0.995, 0, 0, 1},
                                                       {0.5, 3, 0, 0, 1}}));
  SuiteReport report;
  report.rows = {solved("1", {{"torch", 1.2}})};
  report.rows[0].times[0].low = c.low;
  report.rows[0].times[0].high = c.high;
  summarise(report);
  const SuiteMean& torch = mean(report, "torch");
  CAPTURE(c.low, c.high);
  CHECK(torch.faster == c.faster);
  CHECK(torch.slower == c.slower);
  CHECK(torch.undecided == c.undecided);
}

TEST_CASE("the best of torch is the fastest that counts, without max-autotune") {
  SuiteReport report;
  report.rows = {solved("1", {{"plain", 0.1},
                              {"torch", 4},
                              {"torch-channels-last-bare", 1},
                              {"torch-max-autotune", 2},
                              {"torch-compile", 3}})};
  summarise(report);
  CHECK(mean(report, "best of torch").geometric == Approx(3));
  for (const SuiteMean& one : report.means) CHECK(one.against != "torch-channels-last-bare");
}

TEST_CASE("the five largest are left out of the second arithmetic mean") {
  SuiteReport report;
  for (int i = 1; i <= 7; ++i) report.rows.push_back(solved(std::to_string(i), {{"torch", i}}));
  summarise(report);
  CHECK(mean(report, "torch").arithmetic == Approx(4));
  CHECK(mean(report, "torch").arithmetic_without_largest == Approx(1.5));
}

TEST_CASE("classes and families have means of their own") {
  SuiteReport report;
  report.rows = {solved("1", {{"torch", 4}}), solved("2", {{"torch", 1}})};
  report.rows[1].proved = "tf32";
  report.rows[1].family = "convolution";
  summarise(report);
  CHECK(mean(report, "torch", "class tf32").geometric == Approx(1));
  CHECK(mean(report, "torch", "class fp32-strict").geometric == Approx(4));
  CHECK(mean(report, "torch", "family convolution").tasks == 1);
}

TEST_CASE("shares of the floor and the score against the speed of light") {
  SuiteRow row = solved("1", {{"torch", 3}});
  CHECK(floor_share(row) == Approx(0.8));
  CHECK(sol_score(row, "torch") == Approx(1 / (1 + (10.0 - 6) / (30 - 6))));
  CHECK(sol_score(row, "plain") == 0);
  row.time_us = 30;
  CHECK(sol_score(row, "torch") == Approx(0.5));
  SuiteReport report;
  report.rows = {solved("1", {}), solved("2", {}), solved("3", {})};
  report.rows[1].time_us = 16;
  report.rows[2].time_us = 80;
  summarise(report);
  CHECK(report.median_floor_share == Approx(0.5));
}
