// Whole searches through the C ABI: stopped, continued, with tunables of the caller's own.
#include <cupilot/cupilot.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "catch.hpp"

namespace {

constexpr const char* device = "fake:tests/data/landscapes/small.json";

struct Searched {
  cupilot_report* report = nullptr;
  cupilot_error error{};
  ~Searched() { cupilot_report_free(report); }
  std::string said() const { return error.message; }
  std::string found() const {
    return report == nullptr ? "nothing"
                             : cupilot_report_description(report) +
                                   std::to_string(cupilot_report_time_us(report));
  }
};

struct Caller {
  cupilot_task* task = cupilot_task_from_words("gemm m=64 n=64 k=64", nullptr);
  cupilot_stop* stop = cupilot_stop_new();
  cupilot_options options{};
  std::string folder = (std::filesystem::temp_directory_path() / "cupilot-capi-run").string();
  Caller() {
    std::filesystem::remove_all(folder);
    options.size = sizeof options;
    options.max_evaluations = 60;
  }
  ~Caller() {
    cupilot_stop_free(stop);
    cupilot_task_free(task);
    std::filesystem::remove_all(folder);
  }
  void evolve(Searched& into) { into.report = cupilot_evolve(task, device, &options, &into.error); }
};

}  // namespace

TEST_CASE("a search that was stopped is continued, and finds what it would have found") {
  Caller caller;
  Searched whole, stopped, resumed;
  caller.evolve(whole);
  REQUIRE(whole.report != nullptr);

  caller.options.run_dir = caller.folder.c_str();
  caller.options.stop = caller.stop;
  std::thread(cupilot_request_stop, caller.stop).join();
  caller.evolve(stopped);
  CHECK(stopped.report == nullptr);
  CHECK(stopped.error.code == 7);
  CHECK(stopped.said().find("stopped as asked") != std::string::npos);
  CHECK(std::string(stopped.error.hint).find(caller.folder) != std::string::npos);

  resumed.report = cupilot_resume(caller.folder.c_str(), nullptr, nullptr, &resumed.error);
  CAPTURE(resumed.said());
  CHECK(resumed.found() == whole.found());
}

TEST_CASE("a finished run goes on under a new limit") {
  Caller caller;
  Searched short_run, same, longer;
  caller.options.max_evaluations = 30;
  caller.options.run_dir = caller.folder.c_str();
  caller.evolve(short_run);
  REQUIRE(short_run.report != nullptr);
  same.report = cupilot_resume(caller.folder.c_str(), device, nullptr, &same.error);
  CHECK(same.found() == short_run.found());
  caller.options.max_evaluations = 60;
  longer.report = cupilot_resume(caller.folder.c_str(), nullptr, &caller.options, &longer.error);
  REQUIRE(longer.report != nullptr);
  CHECK(cupilot_report_evaluations(short_run.report) == 30);
  CHECK(cupilot_report_evaluations(same.report) == 30);
  CHECK(cupilot_report_evaluations(longer.report) == 60);
}

TEST_CASE("what a run cannot be continued with is named") {
  Searched none;
  none.report = cupilot_resume(nullptr, nullptr, nullptr, &none.error);
  CHECK(none.said() == "run_dir is null");
  none.report = cupilot_resume("/nowhere", nullptr, nullptr, &none.error);
  CHECK(none.said().find("/nowhere") != std::string::npos);
  cupilot_request_stop(nullptr);
  cupilot_stop_free(nullptr);
}

TEST_CASE("a context of the caller's must be one") {
  const Caller caller;
  Searched none;
  none.report = cupilot_evolve_in_process(caller.task, nullptr, nullptr, nullptr, &none.error);
  CHECK(none.error.code == 2);
  CHECK(none.said() == "no context was given");
}

TEST_CASE("tunables of the caller's own are searched, and missed by name") {
  const Caller caller;
  cupilot_error error{};
  cupilot_task* task = cupilot_task_from_words("tests/data/softmax/task.json", &error);
  REQUIRE(task != nullptr);
  cupilot_options options{};
  options.size = sizeof options;
  const char* paths[] = {"tests/data/softmax/softmax_tunable.cu", "/nowhere.cu", nullptr};
  options.tunables = paths;
  options.tunable_count = 1;
  cupilot_evolution* evolution = cupilot_begin(task, "h200", &options, &error);
  CAPTURE(error.message);
  REQUIRE(evolution != nullptr);
  cupilot_job* job = nullptr;
  REQUIRE(cupilot_ask(evolution, &job, &error) == CUPILOT_JOB);
  CHECK(std::strstr(cupilot_job_source(job), "softmax") != nullptr);
  cupilot_job_free(job);
  cupilot_evolution_free(evolution);
  options.tunable_count = 2;
  CHECK(cupilot_begin(task, "h200", &options, &error) == nullptr);
  CHECK(std::strstr(error.message, "/nowhere.cu") != nullptr);
  options.tunable_count = 3;
  CHECK(cupilot_begin(task, "h200", &options, &error) == nullptr);
  CHECK(std::strstr(error.message, "is null") != nullptr);
  options.tunables = nullptr;
  CHECK(cupilot_begin(task, "h200", &options, &error) == nullptr);
  cupilot_task_free(task);
}
