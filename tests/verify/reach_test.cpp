// Runs that are chosen by what the runs before them executed.
#include "verify/reach.hpp"

#include <set>

#include "catch.hpp"
#include "verify/plans.hpp"

namespace cupilot {
namespace {

EntryCoverage covered(std::uint32_t times, std::uint32_t rounds) {
  return {"gemm", {{10, 3}, {11, times}}, {{12, rounds}}};
}

TEST_CASE("all is covered once every instruction ran and every loop turned back twice") {
  CHECK(covers_all({}));
  for (const auto& [times, rounds, all] :
       {std::tuple{1u, 2u, true}, {0u, 2u, false}, {1u, 1u, false}, {1u, 0u, false}}) {
    const EntryCoverage one = covered(times, rounds);
    CHECK(covers_all({&one, 1}) == all);
  }
}

TEST_CASE("coverage of several runs adds up") {
  std::vector<EntryCoverage> sum;
  const EntryCoverage first = covered(0, 2), second = covered(1, 0);
  add_coverage(sum, {&first, 1});
  add_coverage(sum, {&second, 1});
  REQUIRE(sum.size() == 1);
  CHECK(covers_all(sum));
}

std::vector<Case> run_all(Reach& reach, const EntryCoverage& seen) {
  std::vector<Case> cases;
  while (auto next = reach.next({&seen, 1})) {
    cases.push_back(*next);
    if (cases.size() > 100) break;
  }
  return cases;
}

TEST_CASE("sides of branches in loops that few rounds took are met at other remainders") {
  const Task task = gemm_of(256, 192, 320);
  const KernelSource source = tiled_gemm();
  const std::vector<Case> met = {{.workload = task.time_shapes.front(), .content = {.seed = 9}}};
  const auto cases_of = [&](std::uint32_t times, std::uint32_t rounds, ProofLevel level) {
    Reach reach(task, source, DeviceSpec{}, level, met);
    return run_all(reach, covered(times, rounds));
  };
  CHECK(cases_of(3, 2, ProofLevel::finalist).empty());          // in the third round, too
  for (const Case& one : cases_of(2, 0, ProofLevel::finalist))  // no loop turns
    CHECK(one.workload.sizes.at("k") != 80);
  CHECK(cases_of(2, 2, ProofLevel::elite).empty());
  const std::vector<Case> cases = cases_of(2, 2, ProofLevel::finalist);
  REQUIRE_FALSE(cases.empty());
  const auto& first = cases.front().workload.sizes;
  CHECK(first.at("k") == 80);  // a quarter of what is summed over, all else at its largest
  CHECK(first.at("m") == 256);
  CHECK(first.at("n") == 192);
}

TEST_CASE("sizes grow axis by axis until all is covered or paid for") {
  const Task task = gemm_of(4096, 512, 8192);
  const KernelSource source = tiled_gemm();
  const std::vector<Case> met = {
      {.workload = {{{"m", 100}, {"n", 90}, {"k", 70}, {"batch", 1}}, 1}, .content = {.seed = 9}}};
  const auto reach_of = [&](ProofLevel level) {
    return Reach(task, source, DeviceSpec{}, level, met);
  };
  Reach whole = reach_of(ProofLevel::finalist);
  const EntryCoverage all = covered(1, 2), part = covered(0, 2);
  CHECK_FALSE(whole.next({&all, 1}));
  CHECK_FALSE(whole.next({}));
  Reach some = reach_of(ProofLevel::finalist);
  const std::vector<Case> cases = run_all(some, part);
  REQUIRE(cases.size() >= 3);
  CHECK(cases.size() < 30);
  for (const Case& one : cases) {
    int grown = 0;
    for (const auto& [axis, size] : one.workload.sizes)
      grown += size > met[0].workload.sizes.at(axis) ? 1 : 0;
    CHECK(grown == 1);
    CHECK(one.content.seed == 9);
  }
  const auto reaches = [&](const char* axis, std::int64_t least) {
    return std::any_of(cases.begin(), cases.end(),
                       [&](const Case& one) { return one.workload.sizes.at(axis) >= least; });
  };
  CHECK(reaches("m", 401));
  CHECK(reaches("k", 281));
  CHECK(reaches("n", 361));
  Reach none = reach_of(ProofLevel::candidate);
  CHECK_FALSE(none.next({&part, 1}));
}

TEST_CASE("sizes that the code compares with for equality are met whatever else is covered") {
  const Task task = gemm_of(4096, 512, 8192);
  const KernelSource source = tiled_gemm();
  const EntryCoverage all = covered(1, 2);
  const auto met_by = [&](const char* ptx, ProofLevel level) {
    Reach reach(task, source, DeviceSpec{}, level, {}, ptx);
    std::vector<std::int64_t> sizes;
    for (const Case& one : run_all(reach, all)) sizes.push_back(one.workload.sizes.at("m"));
    return std::set<std::int64_t>(sizes.begin(), sizes.end());
  };
  const char* const equal = "\tsetp.ne.s32 \t%p1, %r2, 177;\n\tsetp.eq.s64 %p2, %rd1, 9999;\n";
  CHECK(met_by(equal, ProofLevel::finalist).count(177) == 1);
  CHECK(met_by(equal, ProofLevel::finalist).count(9999) == 0);  // beyond what the task names
  CHECK(met_by(equal, ProofLevel::candidate).empty());
  for (const char* none : {"setp.lt.s32 %p1, %r2, 177;", "setp.eq.f32 %p1, %f1, 0f43310000;",
                           "setp.eq.s32 %p1, %r1, %r177;", "setp.eq.s32 %p1, %r1, 0;"})
    CHECK(met_by(none, ProofLevel::finalist).empty());
}

TEST_CASE("sizes that the text names are met whatever smaller runs executed") {
  const Task task = gemm_of(4096, 1, 8);
  const EntryCoverage all = covered(1, 2);
  CaseReport ran;
  ran.what.workload = {{{"m", 10}, {"n", 1}, {"k", 8}, {"batch", 1}}, 1};
  ran.counts[Counter::warp_instructions].value = 1e7;
  KernelSource source = tiled_gemm();
  source.plan.launches[0].grid = {"4"};
  Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, {},
              "\tsetp.ne.s32 \t%p1, %r2, 177;\n", true, {&ran, 1});
  std::set<std::int64_t> sizes;
  for (const Case& one : run_all(reach, all)) sizes.insert(one.workload.sizes.at("m"));
  CHECK(sizes.count(177) == 1);
}

// A plan whose third argument is k.
std::string compares(const char* statement) {
  return std::string(".visible .entry gemm(\n)\n{\nld.param.u32 %r1, [gemm_param_3];\n") +
         statement + "\n}\n";
}

TEST_CASE("sizes that arguments are compared with are met beyond the task's, along their axis") {
  Task task = gemm_of(64, 32, 128);
  task.check_shapes.clear();
  const KernelSource source = tiled_gemm();
  const EntryCoverage all = covered(3, 2);
  const auto sizes_by = [&](const std::string& ptx) {
    Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, {}, ptx);
    std::set<std::int64_t> sizes;
    for (const Case& one : run_all(reach, all)) {
      CHECK(one.workload.sizes.at("m") <= 64);
      CHECK(one.workload.sizes.at("batch") == 1);
      sizes.insert(one.workload.sizes.at("k"));
    }
    CHECK(reach.left_out({&all, 1}).empty());
    return sizes;
  };
  CHECK(sizes_by(compares("setp.ne.s32 %p1, %r1, 1025;")) == std::set<std::int64_t>{1025});
  CHECK(sizes_by(compares("setp.gt.s32 %p1, %r1, 700;")) == std::set<std::int64_t>{700, 701});
  CHECK(sizes_by(compares("setp.ne.s32 %p1, %r1, 4194305;")).empty());  // farther than any runs
}

TEST_CASE("values that the code compares with for equality are in the content of a run each") {
  const Task task = gemm_of(64, 32, 128);
  const KernelSource source = tiled_gemm();
  const EntryCoverage all = covered(3, 2);
  const std::vector<Case> met = {{.workload = task.time_shapes.front(), .content = {.seed = 9}}};
  const auto held = [&](ProofLevel level) {
    Reach reach(task, source, DeviceSpec{}, level, met,
                "setp.eq.f32 %p1, %f1, 0f40700000;\nsetp.neu.f32 %p1, %f1, 0f40700000;\n"
                "setp.eq.f32 %p1, %f1, 0f41000000;\n");
    std::set<double> values;
    for (const Case& one : run_all(reach, all)) {
      CHECK(one.content.kind == ContentKind::ordinary);
      CHECK(values.insert(one.content.held).second);
    }
    return values;
  };
  CHECK(held(ProofLevel::finalist) == std::set<double>{3.75, 8});
  CHECK(held(ProofLevel::elite).empty());
}

TEST_CASE("a size that the code names and that is too dear is left out by name") {
  const Task task = gemm_of(64, 32, 1 << 20);
  KernelSource source = tiled_gemm();
  source.plan.launches[0].grid = {"k"};
  const EntryCoverage all = covered(1, 2);
  Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, {},
              compares("setp.ne.s32 %p1, %r1, 900001;"));
  CHECK(run_all(reach, all).empty());
  const auto left = reach.left_out({&all, 1});
  REQUIRE(left.size() == 1);
  CHECK(left[0].what.workload.sizes.at("k") == 900001);
  CHECK(left[0].named);
  CHECK_FALSE(left[0].begun);
  CHECK(left[0].asked_by == "PTX line 5, which compares with 900001");
}

TEST_CASE("a case that did not end is left out by name, with what asked for it") {
  const Task task = gemm_of(4096, 512, 8192);
  const KernelSource source = tiled_gemm();
  const std::vector<Case> met = {
      {.workload = {{{"m", 100}, {"n", 90}, {"k", 70}, {"batch", 1}}, 1}, .content = {.seed = 9}}};
  Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, met);
  const EntryCoverage part = covered(0, 2), all = covered(1, 2);
  const auto first = reach.next({&part, 1});
  REQUIRE(first);
  reach.give_up("it passed its budget");
  const auto left = reach.left_out({&all, 1});
  REQUIRE(left.size() == 1);
  CHECK(left[0].what.workload == first->workload);
  CHECK(left[0].begun);
  CHECK(left[0].asked_by == "PTX line 11, which no case reached");
  CHECK(left[0].reason == "it passed its budget");
}

TEST_CASE("sizes at which coverage might grow and that cannot be paid are left out by name") {
  const Task task = gemm_of(4'000'000, 8, 8);
  KernelSource source = tiled_gemm();
  source.plan.launches[0].grid = {"m"};
  source.plan.launches[0].block = {64};
  const std::vector<Case> met = {
      {.workload = {{{"m", 10}, {"n", 8}, {"k", 8}, {"batch", 1}}, 1}, .content = {.seed = 9}}};
  Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, met);
  const EntryCoverage part = covered(1, 1), all = covered(1, 2);
  const auto ran = run_all(reach, part);
  const auto left = reach.left_out({&part, 1});
  REQUIRE(left.size() == 1);
  for (const Case& one : ran)
    CHECK(one.workload.sizes.at("m") < left[0].what.workload.sizes.at("m"));
  CHECK(left[0].asked_by == "a third round of the loop that ends at PTX line 12");
  CHECK(reach.left_out({&all, 1}).empty());
}

TEST_CASE("sizes go beyond the task's own while a loop's third round is not taken") {
  const Task task = gemm_of(64, 32, 128);
  const KernelSource source = tiled_gemm();
  const std::vector<Case> met = {{.workload = task.time_shapes.front(), .content = {.seed = 9}}};
  const auto most = [&](std::uint32_t rounds, ProofLevel level) {
    Reach reach(task, source, DeviceSpec{}, level, met);
    std::map<std::string, std::int64_t> most;
    for (const Case& one : run_all(reach, covered(3, rounds))) {
      for (const auto& [axis, size] : one.workload.sizes) most[axis] = std::max(most[axis], size);
    }
    return most;
  };
  auto grown = most(1, ProofLevel::finalist);
  CHECK(grown["k"] >= 4 * 128 + 1);
  CHECK(grown["m"] >= 4 * 64 + 1);
  CHECK(grown["batch"] == 1);  // the task has no such axis
  CHECK(most(2, ProofLevel::finalist).empty());
  CHECK(most(1, ProofLevel::elite).empty());
}

TEST_CASE("axes do not grow beyond the warps that can be begun") {
  Task task = gemm_of(4'000'000, 8, 8);
  KernelSource source = tiled_gemm();
  source.plan.launches[0].grid = {"m"};
  source.plan.launches[0].block = {64};
  const std::vector<Case> met = {
      {.workload = {{{"m", 10}, {"n", 8}, {"k", 8}, {"batch", 1}}, 1}, .content = {.seed = 9}}};
  Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, met);
  std::int64_t most = 0;
  for (const Case& one : run_all(reach, covered(0, 2)))
    most = std::max(most, one.workload.sizes.at("m"));
  CHECK(most > 500);
  CHECK(most < 50'000);
}

TEST_CASE("axes do not grow beyond what smaller runs executed") {
  const Task task = gemm_of(100'000, 1, 8);
  KernelSource source = tiled_gemm();
  source.plan.launches[0].grid = {"4"};
  source.plan.launches[0].block = {1024};
  const Workload small{{{"m", 100}, {"n", 1}, {"k", 8}, {"batch", 1}}, 1};
  const std::vector<Case> met = {{.workload = small, .content = {.seed = 9}}};
  const auto most = [&](double instructions, int repeats) {
    CaseReport ran;
    ran.what.workload = small;
    ran.what.repeats = repeats;
    ran.counts[Counter::warp_instructions].value = instructions;
    Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, met, {}, true, {&ran, 1});
    std::int64_t most = 0;
    for (const Case& one : run_all(reach, covered(0, 2)))
      most = std::max(most, one.workload.sizes.at("m"));
    return most;
  };
  CHECK(most(0, 0) > 1'000);
  CHECK(most(1'000'000, 0) < 500);          // idle threads
  CHECK(most(1'000'000, 0) > 100);          // but what can be paid
  CHECK(most(1'000'000, 2) == most(0, 0));  // the sum of several launches
  Reach told(task, source, DeviceSpec{}, ProofLevel::finalist, met);
  CaseReport ran;
  ran.what.workload = small;
  ran.counts[Counter::warp_instructions].value = 5'000'000;
  told.tell({&ran, 1});
  for (const Case& one : run_all(told, covered(0, 2))) CHECK(one.workload.sizes.at("m") <= 100);
}

TEST_CASE("an axis met at one element stays there where two are too expensive") {
  Task task = gemm_of(64, 1, 8);
  KernelSource source = tiled_gemm();
  source.plan.launches[0].grid = {"1024 * m"};
  source.plan.launches[0].block = {1024};
  const Workload small{{{"m", 1}, {"n", 1}, {"k", 8}, {"batch", 1}}, 1};
  const std::vector<Case> met = {{.workload = small, .content = {.seed = 9}}};
  for (const double instructions : {0.0, 1e6, 1e9}) {
    CaseReport ran;
    ran.what.workload = small;
    ran.counts[Counter::warp_instructions].value = instructions;
    Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, met, {}, true, {&ran, 1});
    for (const Case& one : run_all(reach, covered(0, 2)))
      if (instructions > 1e6) CHECK(one.workload.sizes.at("m") == 1);
  }
}

TEST_CASE("a grid that the task's sizes leave below its bound is met beyond it") {
  const Task task = gemm_of(1000, 8, 8);
  KernelSource source =
      tiled_gemm({{"BM", 16}, {"BN", 16}, {"BK", 8}, {"STAGES", 3}, {"SPLIT", 4}, {"GROUP", 8}});
  source.plan.launches[0].block = {128};
  const std::vector<Case> met = {
      {.workload = {{{"m", 1000}, {"n", 8}, {"k", 8}, {"batch", 1}}, 1}, .content = {.seed = 9}}};
  const auto most = [&](const char* grid, ProofLevel level) {
    source.plan.launches[0].grid = {grid};
    Reach reach(task, source, DeviceSpec{}, level, met);
    std::int64_t most = 0;
    for (const Case& one : run_all(reach, covered(0, 2))) {
      most = std::max(most, one.workload.sizes.at("m"));
      // An axis that the task does not have stays so.
      CHECK(one.workload.sizes.at("batch") == 1);
    }
    return most;
  };
  // A size at which each block takes a third item.
  CHECK(most("min(m, 2112)", ProofLevel::finalist) == 3 * 2112 + 1);
  CHECK(most("min(cdiv(m, 4), 600)", ProofLevel::finalist) == 3 * 2397 + 1);
  // Where that is too expensive a second one, some a second, or none.
  CHECK(most("min(m, 7000)", ProofLevel::finalist) == 2 * 7000 + 1);
  CHECK(most("min(m, 9500)", ProofLevel::finalist) == 9500 + 9500 / 8 + 1);
  CHECK(most("min(m, 60000)", ProofLevel::finalist) <= 4001);
  CHECK(most("min(m * batch, 2112)", ProofLevel::finalist) == 3 * 2112 + 1);
  CHECK(most("min(m, 2112)", ProofLevel::candidate) <= 1000);
  CHECK(most("min(m, 500)", ProofLevel::finalist) <= 4001);
  CHECK(most("m", ProofLevel::finalist) <= 4001);
}

TEST_CASE("where no time shape ran a size beyond a bounded grid takes no largest size's place") {
  const Task task = gemm_of(1000, 8, 8);
  KernelSource source = tiled_gemm();
  source.plan.launches[0].block = {128};
  source.plan.launches[0].grid = {"min(m, 2112)"};
  const std::vector<Case> met = {
      {.workload = {{{"m", 37}, {"n", 8}, {"k", 8}, {"batch", 1}}, 1}, .content = {.seed = 9}}};
  Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, met, {}, false);
  std::set<std::int64_t> sizes;
  for (const Case& one : run_all(reach, covered(1, 2))) sizes.insert(one.workload.sizes.at("m"));
  CHECK(sizes.count(1000) == 1);
}

TEST_CASE("where no time shape ran the largest sizes that can be paid for are met") {
  const Task task = gemm_of(4096, 512, 8192);
  const KernelSource source = tiled_gemm();
  const std::vector<Case> met = {
      {.workload = {{{"m", 100}, {"n", 90}, {"k", 70}, {"batch", 1}}, 1}, .content = {.seed = 9}}};
  Reach reach(task, source, DeviceSpec{}, ProofLevel::finalist, met, {}, false);
  const std::vector<Case> cases = run_all(reach, covered(1, 2));
  REQUIRE_FALSE(cases.empty());
  CHECK(cases.size() <= 3);
  std::int64_t most = 0;
  for (const Case& one : cases) most = std::max(most, one.workload.sizes.at("m"));
  CHECK(most > 1000);
  Reach candidate(task, source, DeviceSpec{}, ProofLevel::candidate, met, {}, false);
  CHECK(run_all(candidate, covered(1, 2)).empty());
}

}  // namespace
}  // namespace cupilot
