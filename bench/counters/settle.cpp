// How rates move in the first seconds of a kernel that runs back to back.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "hardware.hpp"
#include "launcher.hpp"

namespace counters {
namespace {

using nlohmann::json;

constexpr double window_seconds = 0.05, watched_seconds = 4, rest_seconds = 1;
constexpr int places = 6;

struct Row {
  const char* entry;
  std::int64_t bytes, rounds;
  int blocks_per_sm, threads;
  bool wgmma = false;
};

constexpr Row at_the_limit[] = {{"mma_bf16", 1 << 30, 20'000, 2, 512},
                                {"mma_tf32", 1 << 30, 20'000, 2, 512},
                                {"wgmma_bf16", 1 << 30, 20'000, 1, 256, true},
                                {"wgmma_tf32", 1 << 30, 20'000, 1, 256, true}};
constexpr Row around_l2 = {"read_around", 16 << 20, 500, 2, 512};

Shape shape_of(const Row& row, int sms) {
  return {row.bytes, row.rounds, sms * row.blocks_per_sm, row.threads, row.wgmma ? 227 << 10 : 0};
}

// Launches in each window, by the time of one; nothing is waited for within a window.
json windows(Launcher& launcher, const Row& row, const Shape& shape, double seconds) {
  Stopwatch watch;
  launcher.launch(row.entry, shape);
  watch.lap();
  launcher.launch(row.entry, shape);
  const int count = std::max(1, static_cast<int>(window_seconds / watch.lap()));
  json rates = json::array();
  for (double passed = 0; passed < seconds;) {
    const double took = launcher.burst(row.entry, shape, count);
    rates.push_back(json::array({passed, count / took}));
    passed += took;
  }
  return rates;
}

json watched(const std::vector<std::uint8_t>& image, int sms) {
  json out{{"rate", "[seconds since the first launch, launches a second]"}};
  Launcher launcher(image);
  for (const Row& row : at_the_limit) {
    std::this_thread::sleep_for(std::chrono::duration<double>(rest_seconds));
    out["kernels"].push_back(
        {{"kernel", row.entry},
         {"rates", windows(launcher, row, shape_of(row, sms), watched_seconds)}});
    std::cerr << out["kernels"].back().dump() << "\n";
  }
  for (int place = 0; place < places; ++place) {
    out["l2_by_place"].push_back(
        windows(launcher, around_l2, shape_of(around_l2, sms), 4 * window_seconds));
    launcher.move(around_l2.bytes);
  }
  std::cerr << out["l2_by_place"].dump() << "\n";
  return out;
}

}  // namespace

int watch_settling(CompilePool& pool, const std::string& path) {
  if (!driver().reason.empty()) {
    std::cerr << driver().reason << "\n";
    return 3;
  }
  try {
    const auto image = image_with(pool, "");
    if (!image) {
      std::cerr << image.error().message << "\n";
      return 1;
    }
    int sms = 0;
    take_context(sms);
    std::ofstream(path) << watched(*image, sms).dump(1) << "\n";
    return 0;
  } catch (const CudaFailure& failure) {
    std::cerr << failure.what << ": " << driver().describe(failure.code) << "\n";
    return 1;
  }
}

}  // namespace counters
