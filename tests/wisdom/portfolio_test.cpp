#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>

#include <cupilot/parts/host.hpp>
#include <cupilot/wisdom.hpp>

#include "catch.hpp"
#include "support/gemm.hpp"
#include "support/kept_images.hpp"

using namespace cupilot;
namespace fs = std::filesystem;

namespace {

struct Listener : SearchObserver {
  std::function<void(const std::string&)> heard;
  std::vector<std::string> notices;
  void on_notice(const std::string& notice) override {
    notices.push_back(notice);
    if (heard) heard(notice);
  }
};

Task small_task() {
  Task task = *gemm_task({.m = 16, .n = 16, .k = 16});
  task.time_shapes = {{{{"batch", 1}, {"m", 16}, {"n", 16}, {"k", 16}}, 1},
                      {{{"batch", 1}, {"m", 48}, {"n", 8}, {"k", 24}}, 3}};
  return task;
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("cupilot-portfolio-" + std::to_string(getpid()));
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
};

PortfolioOptions options_in(const Folder& folder, Listener& listener) {
  PortfolioOptions options;
  options.evolve.search.max_evaluations = 8;
  options.evolve.run_dir = folder.path.string();
  options.evolve.observer = &listener;
  options.evolve.device_name = "virtual:h200";
  options.evolve.task_words = {"gemm", "m=16", "n=16", "k=16"};
  return options;
}

std::vector<std::string> kernels_of(const WisdomEntry& entry) {
  std::vector<std::string> ids;
  for (const WisdomKernel& kernel : entry.kernels) ids.push_back(kernel.kernel_id);
  return ids;
}

// The error of a portfolio that is cancelled before it begins.
Error cancelled_error(const Task& task) {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const Folder folder;
  std::atomic<bool> cancel{true};
  Listener listener;
  PortfolioOptions options = options_in(folder, listener);
  options.evolve.cancel = &cancel;
  const auto entry = evolve_portfolio(task, **backend, options);
  REQUIRE_FALSE(entry);
  CHECK(listener.notices.empty());
  return entry.error();
}

}  // namespace

TEST_CASE("a cancelled portfolio proves no fallback", "[wisdom]") {
  CHECK(cancelled_error(small_task()).message.ends_with("stopped before it ended"));
}

TEST_CASE("a portfolio looks at the files of its task first", "[wisdom]") {
  Task task = small_task();
  task.tensors[0].fill = {.kind = FillKind::file,
                          .file = {"nowhere.bin", 0, 4, std::string(64, 'e')}};
  const Error error = cancelled_error(task);
  CHECK(error.code == ErrorCode::usage);
  CHECK(error.message.find("4 bytes are no storage of tensor 'A'") != std::string::npos);
}

TEST_CASE("a portfolio serves each of its shapes, and goes on where it was stopped",
          "[wisdom][search]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const Task task = small_task();
  const Folder folder;

  // Stopped as the second shape begins: the first search is kept.
  std::atomic<bool> cancel{false};
  Listener stopping;
  stopping.heard = [&](const std::string& notice) {
    cancel = cancel || notice.starts_with("shape 2 of 2");
  };
  PortfolioOptions options = options_in(folder, stopping);
  options.evolve.cancel = &cancel;
  const auto stopped = evolve_portfolio(task, **backend, options);
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::budget);
  CHECK(stopped.error().message.find(
            "shape 2 of 2: batch=1 k=24 m=48 n=8 ended without a kernel") != std::string::npos);

  Listener listener;
  options = options_in(folder, listener);
  const auto entry = evolve_portfolio(task, **backend, options);
  REQUIRE(entry);
  CHECK(std::isfinite(entry->regret));
  REQUIRE(entry->shapes.size() == 2);
  for (const WisdomShape& shape : entry->shapes) {
    REQUIRE(shape.times_us.size() == entry->kernels.size());
    CHECK(*std::max_element(shape.times_us.begin(), shape.times_us.end()) > 0);
  }
  REQUIRE(entry->fallback >= 0);
  CHECK(entry->kernels[static_cast<std::size_t>(entry->fallback)].source.plan.require.empty());

  // Shares of the budget go by weight, the words name the shape once.
  const auto first = read_run((folder.path / "shape-1").string()),
             second = read_run((folder.path / "shape-2").string());
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->report.evaluations == 2);
  CHECK(second->report.evaluations == 6);

  // Once more: nothing is searched again.
  const auto again = evolve_portfolio(task, **backend, options);
  REQUIRE(again);
  CHECK(kernels_of(*again) == kernels_of(*entry));

  Task other = task;
  other.time_shapes[0].sizes["m"] = 17;
  const auto refused = evolve_portfolio(other, **backend, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("shape-1 holds the search of another task") !=
        std::string::npos);
}

TEST_CASE("a shape that had its share of the time is not searched again", "[wisdom][search]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const Task task = small_task();
  const Folder folder;
  Listener listener;
  PortfolioOptions options = options_in(folder, listener);
  options.evolve.search.max_evaluations = 40;
  options.evolve.search.initial = 4;
  options.evolve.stop = [](std::span<const Progress>) { return std::string("time spent"); };
  const auto entry = evolve_portfolio(task, **backend, options);
  if (!entry) FAIL(entry.error().message);
  const auto evaluations = [&](int shape) {
    const auto run = read_run((folder.path / ("shape-" + std::to_string(shape))).string());
    REQUIRE(run);
    CHECK(run->report.stopped == "time spent");
    return run->report.evaluations;
  };
  const std::vector<std::int64_t> before = {evaluations(1), evaluations(2)};
  options.evolve.stop = nullptr;
  options.evolve.max_seconds = 20;
  REQUIRE(evolve_portfolio(task, **backend, options));
  CHECK(evaluations(1) == before[0]);
  CHECK(evaluations(2) == before[1]);
}
