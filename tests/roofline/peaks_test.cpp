#include <cupilot/parts/peaks.hpp>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "catch.hpp"

namespace cupilot {
namespace {

// A file of its own, gone at the end.
struct OwnFile {
  std::string folder =
      std::filesystem::temp_directory_path() / ("cupilot-peaks-" + std::to_string(getpid()));
  std::string path = folder + "/deep/peaks.json";
  ~OwnFile() { std::filesystem::remove_all(folder); }
  void write(const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
};

Peaks some(const std::string& identity, double bf16) {
  Peaks peaks;
  peaks.device = "NVIDIA H200";
  peaks.identity = identity;
  peaks.measured = true;
  peaks.ceilings = {{"dram copy", "B/s", 4.2e12, {4.1e12, 4.2e12, 4.3e12}, "a kernel"},
                    {"dram read", "B/s", 4.6e12, {4.6e12}, "a kernel"},
                    {"bf16", "op/s", bf16, {bf16}, "cuBLASLt"},
                    {"fp8", "op/s", 1.4e15, {}, "the device's data, not measured"}};
  peaks.conditions = {"SM clock 1980 MHz before"};
  return peaks;
}

double sustained(const DeviceSpec& device, Precision precision) {
  return device.sustained_flops[static_cast<std::size_t>(precision)];
}

TEST_CASE("Measured peaks take the place of a datasheet's sustained rates, and of nothing else",
          "[peaks]") {
  const DeviceSpec before = *chip("h200");
  const DeviceSpec after =
      with_peaks(before, some("GPU-1 driver 13000", 780e12), "/data/peaks.json");
  CHECK(after.dram_sustained == Approx(4.4e12));
  CHECK(sustained(after, Precision::bf16) == 780e12);
  CHECK(sustained(after, Precision::bf16x3) == 260e12);
  CHECK(sustained(after, Precision::fp8) ==
        sustained(before, Precision::fp8));  // its row was not measured
  CHECK(sustained(after, Precision::fp32_strict) == sustained(before, Precision::fp32_strict));
  CHECK(after.ceilings.find("/data/peaks.json") != std::string::npos);
  // Floors rest on these.
  CHECK(after.dram_bytes_per_s == before.dram_bytes_per_s);
  const bool same_peaks = after.peak_flops == before.peak_flops;
  CHECK(same_peaks);

  Peaks unmeasured = some("virtual:h200", 780e12);
  unmeasured.measured = false;
  CHECK(with_peaks(before, unmeasured, "x").ceilings.empty());
  CHECK(sustained(with_peaks(before, unmeasured, "x"), Precision::bf16) ==
        sustained(before, Precision::bf16));
}

TEST_CASE("A device that was never measured has its datasheet's row, marked so", "[peaks]") {
  for (const std::string& name : known_chips()) {
    INFO(name);
    const DeviceSpec device = *chip(name);
    const Peaks peaks = datasheet_peaks(device, "virtual:" + name);
    CHECK_FALSE(peaks.measured);
    CHECK(peaks.source == device.source);
    REQUIRE(find_ceiling(peaks, "dram copy") != nullptr);
    CHECK(find_ceiling(peaks, "dram copy")->value == device.dram_bytes_per_s);
    CHECK((find_ceiling(peaks, "fp8") != nullptr) ==
          (device.peak_flops[static_cast<std::size_t>(Precision::fp8)] > 0));  // no row of zero
    for (const Ceiling& ceiling : peaks.ceilings)
      CHECK((ceiling.value > 0 && ceiling.repeats.empty()));
  }
}

TEST_CASE("The spread of a ceiling is that of its repeats", "[peaks]") {
  CHECK(spread({"x", "B/s", 100, {99, 100, 101}, ""}) == Approx(0.02));
  CHECK(spread({"x", "B/s", 100, {100}, ""}) == 0);
  CHECK(spread({}) == 0);
}

TEST_CASE("A file keeps one row a device and driver", "[peaks]") {
  const OwnFile file;
  CHECK_FALSE(load_peaks(file.path, "GPU-1 driver 13000")->has_value());
  REQUIRE(save_peaks(some("GPU-1 driver 13000", 700e12), file.path));
  REQUIRE(save_peaks(some("GPU-2 driver 13000", 650e12), file.path));
  REQUIRE(save_peaks(some("GPU-1 driver 13000", 780e12), file.path));
  const auto first = load_peaks(file.path, "GPU-1 driver 13000"),
             second = load_peaks(file.path, "GPU-2 driver 13000");
  REQUIRE((first && *first && second && *second));
  CHECK(find_ceiling(**first, "bf16")->value == 780e12);
  CHECK(find_ceiling(**second, "bf16")->value == 650e12);
  const bool same_repeats =
      find_ceiling(**first, "dram copy")->repeats == std::vector<double>{4.1e12, 4.2e12, 4.3e12};
  CHECK(same_repeats);
  CHECK((*first)->conditions.size() == 1);
  CHECK_FALSE(load_peaks(file.path, "GPU-1 driver 12080")
                  ->has_value());  // another driver is another device
}

TEST_CASE("A file that is none is told by name, and not written over", "[peaks]") {
  const char* const bad[] = {
      "",
      "[]",
      "{\"format\":\"other\"}",
      "{\"format\":\"cupilot-peaks\",\"version\":2,\"devices\":[]}",
      "{\"format\":\"cupilot-peaks\",\"version\":1,\"devices\":{}}",
      "{\"format\":\"cupilot-peaks\",\"version\":1,\"devices\":[{\"identity\":\"a\"}]}",
      "{\"format\":\"cupilot-peaks\",\"version\":1,\"devices\":[7]}"};
  for (const char* text : bad) {
    INFO(text);
    const OwnFile file;
    file.write(text);
    const auto loaded = load_peaks(file.path, "a");
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().code == ErrorCode::usage);
    CHECK(loaded.error().message.find(file.path) != std::string::npos);
  }
  const OwnFile file;
  file.write("{\"format\":\"other\"}");
  CHECK_FALSE(save_peaks(some("a", 1), file.path));
}

}  // namespace
}  // namespace cupilot
