#include <cupilot/cupilot.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

constexpr const char* words = "gemm m=512 n=256 k=128 dtype=fp32";

struct Search {
  cupilot_task* task = cupilot_task_from_words(words, nullptr);
  cupilot_evolution* evolution = nullptr;
  explicit Search(std::uint64_t seed = 1) {
    cupilot_options options{};
    options.size = sizeof options;
    options.seed = seed;
    options.max_evaluations = 40;
    evolution = cupilot_begin(task, "h200", &options, nullptr);
    REQUIRE(evolution != nullptr);
  }
  ~Search() {
    cupilot_evolution_free(evolution);
    cupilot_task_free(task);
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // 0 when the search is over.
  std::uint64_t ask() const {
    cupilot_job* job = nullptr;
    if (cupilot_ask(evolution, &job, nullptr) != CUPILOT_JOB) return 0;
    const std::uint64_t id = cupilot_job_id(job);
    cupilot_job_free(job);
    return id;
  }
};

// Answers everything; "" or the saved text at the end.
std::string finish(cupilot_evolution* evolution) {
  cupilot_job* job = nullptr;
  while (cupilot_ask(evolution, &job, nullptr) == CUPILOT_JOB) {
    const double us = 30 + static_cast<double>(cupilot_job_constant(job, "BLOCK_M", 8));
    CHECK(cupilot_tell(evolution, cupilot_job_id(job), us, nullptr, nullptr) == CUPILOT_TAKEN);
    cupilot_job_free(job);
  }
  char* saved = cupilot_save(evolution, nullptr);
  std::string text = saved != nullptr ? saved : "";
  cupilot_free_text(saved);
  return text;
}

}  // namespace

TEST_CASE("every function takes null") {
  cupilot_error error{};
  const auto refused = [&] {
    const bool told =
        error.code == 2 && std::strstr(error.message, "is null") != nullptr && error.hint[0] != 0;
    error = {};
    return told;
  };
  cupilot_task* task = cupilot_task_from_words(words, &error);
  REQUIRE(task != nullptr);
  CHECK((cupilot_task_from_words(nullptr, &error) == nullptr && refused()));
  CHECK((cupilot_task_from_json(nullptr, &error) == nullptr && refused()));
  CHECK((cupilot_begin(nullptr, "h200", nullptr, &error) == nullptr && refused()));
  CHECK((cupilot_begin(task, nullptr, nullptr, &error) == nullptr && refused()));
  CHECK((cupilot_evolve(nullptr, "auto", nullptr, &error) == nullptr && refused()));
  CHECK((cupilot_evolve(task, nullptr, nullptr, &error) == nullptr && refused()));
  cupilot_job* job = nullptr;
  CHECK((cupilot_ask(nullptr, &job, &error) == CUPILOT_ERROR && refused()));
  const Search search;
  CHECK((cupilot_ask(search.evolution, nullptr, &error) == CUPILOT_ERROR && refused()));
  CHECK((cupilot_tell(nullptr, 1, 1, nullptr, &error) == CUPILOT_ERROR && refused()));
  CHECK((cupilot_reject(nullptr, 1, "run.hang", nullptr, &error) == CUPILOT_ERROR && refused()));
  CHECK((cupilot_save(nullptr, &error) == nullptr && refused()));
  CHECK((cupilot_load(nullptr, &error) == nullptr && refused()));
  CHECK((cupilot_job_of(nullptr, 1, &error) == nullptr && refused()));
  CHECK(cupilot_forget(nullptr, 1) == CUPILOT_ERROR);
  CHECK(cupilot_open(nullptr, nullptr, 9) == 0);
  CHECK(cupilot_best(nullptr, nullptr) == 0);
  CHECK(cupilot_job_id(nullptr) == 0);
  CHECK(cupilot_job_constant(nullptr, "x", 3) == 3);
  CHECK(cupilot_job_launches(nullptr, 0) == 0);
  CHECK(cupilot_job_launch(nullptr, 0, 0, nullptr) == CUPILOT_ERROR);
  for (const auto text :
       {cupilot_job_source, cupilot_job_strategy, cupilot_job_plan, cupilot_job_description}) {
    CHECK(std::string(text(nullptr)).empty());
  }
  for (const auto text :
       {cupilot_report_source, cupilot_report_description, cupilot_report_provenance}) {
    CHECK(std::string(text(nullptr)).empty());
  }
  CHECK(cupilot_report_time_us(nullptr) == 0);
  CHECK(cupilot_report_evaluations(nullptr) == 0);
  CHECK(cupilot_report_baseline_us(nullptr, "plain") == 0);
  // Without an error to fill, the answer is the same.
  CHECK(cupilot_task_from_words(nullptr, nullptr) == nullptr);
  cupilot_free_text(nullptr);
  cupilot_job_free(nullptr);
  cupilot_report_free(nullptr);
  cupilot_evolution_free(nullptr);
  cupilot_task_free(task);
  cupilot_task_free(nullptr);
}

TEST_CASE("mistakes are told with reason and next step") {
  cupilot_error error{};
  const auto told = [&](const char* reason) {
    INFO(error.message);
    const bool found = std::strstr(error.message, reason) != nullptr;
    error = {};
    return found;
  };
  CHECK((cupilot_task_from_words("", &error) == nullptr && told("no task given")));
  CHECK((cupilot_task_from_words("gemm mm=3", &error) == nullptr && told("mm")));
  CHECK((cupilot_task_from_words("/nowhere/task.json", &error) == nullptr &&
         told("/nowhere/task.json")));
  CHECK((cupilot_task_from_json("{", &error) == nullptr && error.code == 2));
  const Search search;
  CHECK((cupilot_begin(search.task, "h2000", nullptr, &error) == nullptr && told("h2000")));
  CHECK((cupilot_evolve(search.task, "gpu", nullptr, &error) == nullptr && told("gpu")));
  CHECK((cupilot_load("not json", &error) == nullptr && told("cannot be read")));
  cupilot_options options{};
  CHECK((cupilot_begin(search.task, "h200", &options, &error) == nullptr && told("size")));
  options.size = sizeof options;
  options.plain_us = NAN;
  CHECK((cupilot_begin(search.task, "h200", &options, &error) == nullptr && told("no number")));
  options.plain_us = 0;
  options.max_evaluations = -1;
  CHECK((cupilot_begin(search.task, "h200", &options, &error) == nullptr && told("count")));
}

TEST_CASE("a shorter struct of options is an older caller's") {
  const Search search;
  cupilot_options options{};
  options.size = offsetof(cupilot_options, max_evaluations);
  options.max_evaluations = -1;  // beyond what this caller knows
  cupilot_evolution* evolution = cupilot_begin(search.task, "h200", &options, nullptr);
  CHECK(evolution != nullptr);
  cupilot_evolution_free(evolution);
}

TEST_CASE("answers are named through the C ABI as through C++") {
  const Search search;
  cupilot_error error{};
  const std::uint64_t first = search.ask(), second = search.ask(), third = search.ask(),
                      fourth = search.ask();
  REQUIRE(fourth == 4);
  CHECK(cupilot_tell(search.evolution, first, 100, "a", &error) == CUPILOT_TAKEN);
  CHECK(cupilot_tell(search.evolution, first, 100, "a", &error) == CUPILOT_AGAIN);
  CHECK(cupilot_forget(search.evolution, second) == CUPILOT_TAKEN);
  CHECK(cupilot_tell(search.evolution, second, 100, "a", &error) == CUPILOT_LATE);
  CHECK(cupilot_tell(search.evolution, 77, 100, "a", &error) == CUPILOT_UNKNOWN);
  for (const double us :
       {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY), 1e18}) {
    CHECK(cupilot_tell(search.evolution, third, us, nullptr, &error) == CUPILOT_ERROR);
    CHECK(error.code == 2);
  }
  CHECK(cupilot_tell(search.evolution, third, 1e-3, nullptr, &error) == CUPILOT_REFUSED);
  CHECK(std::string(error.message).find("floor.impossible") == 0);
  CHECK(cupilot_reject(search.evolution, fourth, "no.such", "", &error) == CUPILOT_ERROR);
  CHECK(cupilot_reject(search.evolution, fourth, "run.hang", "ten seconds", &error) ==
        CUPILOT_TAKEN);
  CHECK(cupilot_open(search.evolution, nullptr, 0) == 0);
  double us = 0;
  CHECK(cupilot_best(search.evolution, &us) == first);
  CHECK(us == 100);
}

TEST_CASE("a saved search continues through the C ABI") {
  const Search whole, broken;
  const std::string last = finish(whole.evolution);
  CHECK_FALSE(last.empty());
  for (int i = 0; i < 5; ++i) REQUIRE(broken.ask() != 0);
  char* saved = cupilot_save(broken.evolution, nullptr);
  cupilot_evolution* loaded = cupilot_load(saved, nullptr);
  REQUIRE(loaded != nullptr);
  std::vector<std::uint64_t> ids(9);
  REQUIRE(cupilot_open(loaded, ids.data(), ids.size()) == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    cupilot_job* job = cupilot_job_of(loaded, ids[i], nullptr);
    REQUIRE(job != nullptr);
    const double us = 30 + static_cast<double>(cupilot_job_constant(job, "BLOCK_M", 8));
    CHECK(cupilot_tell(loaded, cupilot_job_id(job), us, nullptr, nullptr) == CUPILOT_TAKEN);
    cupilot_job_free(job);
  }
  CHECK((finish(loaded) == last));
  cupilot_free_text(saved);
  cupilot_evolution_free(loaded);
}

TEST_CASE("a job holds the kernel and its launches in numbers") {
  const Search search;
  cupilot_job* job = nullptr;
  for (std::uint64_t id = search.ask(); id != 0; id = search.ask()) {
    job = cupilot_job_of(search.evolution, id, nullptr);
    REQUIRE(job != nullptr);
    if (cupilot_job_launches(job, 0) > 0) break;
    cupilot_job_free(job);
  }
  REQUIRE(job != nullptr);
  cupilot_launch launch{};
  REQUIRE(cupilot_job_launch(job, 0, 0, &launch) == 0);
  CHECK(launch.grid[0] > 0);
  CHECK(launch.block[0] >= 32);
  const std::string source = cupilot_job_source(job);
  CHECK(source.find("__global__") != std::string::npos);
  CHECK(std::string(cupilot_job_plan(job)).find(launch.entry) != std::string::npos);
  CHECK(cupilot_job_strategy(job)[0] == '{');
  CHECK(cupilot_job_constant(job, "BLOCK_M", -1) >= 4);
  CHECK(cupilot_job_constant(job, "block_m", -1) == -1);
  CHECK(cupilot_job_launch(job, 0, 99, &launch) == CUPILOT_ERROR);
  CHECK(cupilot_job_launch(job, 7, 0, &launch) == CUPILOT_ERROR);
  cupilot_job_free(job);
}

TEST_CASE("the library says its version and ABI") {
  CHECK(std::string(cupilot_version()) == "0.1.0");
  CHECK(cupilot_abi() == CUPILOT_ABI);
}
