#include <unistd.h>

#include <filesystem>
#include <thread>

#include <cupilot/wisdom.hpp>

#include "catch.hpp"
#include "support/gemm.hpp"
#include "wisdom/base64.hpp"

using namespace cupilot;

namespace {

Wisdom small_wisdom() {
  WisdomEntry entry;
  entry.task = *gemm_task({.m = 8, .n = 8, .k = 8});
  entry.task_words = {"gemm"};
  entry.device = "virtual:h200";
  entry.device_label = "NVIDIA H200";
  entry.compute_major = 9;
  entry.fallback = 0;
  WisdomKernel kernel{"gemm_1", "", "plain"};
  kernel.source.text = "// a \"kernel\"\n";
  kernel.source.constants = {{"TILE", 8}};
  kernel.source.plan.launches = {{"main", "gemm", When::run, {"cdiv(m,8)"}, {256}}};
  kernel.image = {0x7f, 'E', 'L', 'F', 0};
  kernel.entries = {{"gemm", "_Z4gemm"}};
  kernel.kernel_id = kernel_id(kernel.source);
  entry.kernels = {kernel};
  entry.shapes = {{entry.task.time_shapes[0], {4.25}, {{"plain", 9.5, Provenance::modelled}}}};
  return {{entry}};
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("a wisdom file reads back as it was", "[wisdom]") {
  const std::string text = wisdom_to_json(small_wisdom());
  const auto read = wisdom_from_json(text, "w.json");
  REQUIRE(read);
  CHECK(wisdom_to_json(*read) == text);
  const WisdomKernel& kernel = read->entries[0].kernels[0];
  CHECK(kernel.image == small_wisdom().entries[0].kernels[0].image);
  CHECK(kernel.source.plan.launches[0].grid[0].text == "cdiv(m,8)");
  CHECK(read->entries[0].shapes[0].times_us == std::vector<double>{4.25});
}

TEST_CASE("no wisdom file holds a task with the program's own judge", "[wisdom]") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("judged-" + std::to_string(::getpid()))).string();
  REQUIRE(remember_in(path, small_wisdom().entries[0]));
  Wisdom judged = small_wisdom();
  judged.entries[0].task.tensors.back().check = {
      .kind = CheckKind::custom, .of = "mine 1", .judge = [](auto&&...) { return ""; }};
  for (const auto& refused : {remember_in(path, judged.entries[0]), save_wisdom(judged, path)}) {
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::usage);
    CHECK(refused.error().message.find("whose judge is the program's own") != std::string::npos);
    CHECK_FALSE(refused.error().hint.empty());
  }
  const auto kept = load_wisdom(path);
  REQUIRE(kept);
  CHECK(kept->entries.size() == 1);
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".lock");
}

TEST_CASE("a damaged wisdom file is refused with the field", "[wisdom]") {
  const std::string whole = wisdom_to_json(small_wisdom());
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"\"version\": 2", "\"version\": 3", "version: is 3; this program reads 2"},
      {"\"version\": 2", "\"version\": 1",
       "version: is 1; this program reads 2 (1 has no digests of its cubins)"},
      {"\"name\": \"gemm_1\"", "\"name\": \"gemm 1\"",
       "entries[0].kernels[0].name: 'gemm 1' is no identifier"},
      {"\"cubin\": \"f0", "\"cubin\": \"?0", "entries[0].kernels[0].cubin: is no base64"},
      {"\"fallback\": 0", "\"fallback\": 1", "entries[0].fallback: 1 is none of the 1 kernels"},
      {"4.25", "4.25, 3", "entries[0].shapes[0].times_us: has 2 times for 1 kernels"},
      {"4.25", "\"fast\"",
       "entries[0].shapes[0].times_us: holds something that is no time in microseconds"},
      {"\"modelled\"", "\"imagined\"", "entries[0].provenance"},
      {"\"arch\"", "\"arc\"", "entries[0].kernels[0].arc"},
      {"\"language\": \"cuda\"", "\"language\": \"c\"", "entries[0].kernels[0].language"},
  };
  for (const auto& [what, by, message] : rows) {
    const auto read = wisdom_from_json(replaced(whole, what, by), "w.json");
    INFO(by);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::usage);
    CHECK(read.error().message.find(message) != std::string::npos);
  }
}

TEST_CASE("text, plan, constants and cubin are held to the names that the file gives them",
          "[wisdom]") {
  const WisdomKernel kernel = small_wisdom().entries[0].kernels[0];
  const std::string whole = wisdom_to_json(small_wisdom());
  const std::string id = "entries[0].kernels[0].kernel: is " + kernel.kernel_id +
                         ", but text, plan and constants of kernel gemm_1 have the id ";
  const std::tuple<const char*, const char*, std::string> rows[] = {
      {"\"kernel\\\"", "\"Kernel\\\"", id},  // a letter of the text
      {"cdiv(m,8)", "cdiv(m,4)", id},        // of the plan
      {"\"TILE\": 8", "\"TILE\": 9", id},    // a constant
      {"\"language\": \"cuda\"", "\"language\": \"ptx\"", id},
      {"\"cubin\": \"f0", "\"cubin\": \"e0",
       "entries[0].kernels[0].cubin_sha256: is "},  // a bit of the cubin
      {"\"cubin_sha256\": \"", "\"cubin_sha256\": \"0",
       "but the cubin of kernel gemm_1 has the digest "},
  };
  for (const auto& [what, by, message] : rows) {
    const auto read = wisdom_from_json(replaced(whole, what, by), "w.json");
    INFO(by);
    REQUIRE_FALSE(read);
    INFO(read.error().message);
    CHECK(read.error().code == ErrorCode::usage);
    CHECK(read.error().message.find("w.json: ") == 0);
    CHECK(read.error().message.find(message) != std::string::npos);
    CHECK(read.error().hint.find("cupilot evolve") != std::string::npos);
  }
}

TEST_CASE("PTX, and a text of other bytes than UTF-8, are read back under an id of their own",
          "[wisdom]") {
  for (const auto& [language, text] :
       {std::pair{Language::ptx, ".version 9.0"}, std::pair{Language::cuda, "// a caf\xe9\n"}}) {
    Wisdom wisdom = small_wisdom();
    WisdomKernel& kernel = wisdom.entries[0].kernels[0];
    kernel.source.language = language;
    kernel.source.text = text;
    kernel.kernel_id = kernel_id(kernel.source);
    const auto read = wisdom_from_json(wisdom_to_json(wisdom), "w.json");
    INFO(text);
    REQUIRE(read);
    CHECK(read->entries[0].kernels[0].source.language == language);
  }
}

TEST_CASE("a newer portfolio of the same task and device replaces the older", "[wisdom]") {
  Wisdom wisdom = small_wisdom();
  WisdomEntry newer = wisdom.entries[0];
  newer.task.time_shapes = {{{{"batch", 1}, {"m", 16}, {"n", 16}, {"k", 16}}}};
  newer.regret = 0.5;
  remember(wisdom, newer);
  REQUIRE(wisdom.entries.size() == 1);
  CHECK(wisdom.entries[0].regret == 0.5);
  newer.device = "GPU-1";
  remember(wisdom, newer);
  newer.task.precision = Precision::tf32;
  remember(wisdom, newer);
  CHECK(wisdom.entries.size() == 3);
}

TEST_CASE("portfolios that end at once lose none of each other's entries", "[wisdom][threads]") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("cupilot-wisdom-" + std::to_string(getpid()));
  const std::string path = (folder / "made" / "wisdom.json").string();
  constexpr int writers = 8;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < writers; ++i) {
      threads.emplace_back([&, i] {
        WisdomEntry entry = small_wisdom().entries[0];
        entry.device = "device " + std::to_string(i);
        if (!remember_in(path, std::move(entry))) std::abort();
      });
    }
  }
  const auto wisdom = load_wisdom(path);
  REQUIRE(wisdom);
  CHECK(wisdom->entries.size() == writers);
  std::filesystem::remove_all(folder);
}

TEST_CASE("base64 of every length", "[wisdom]") {
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<std::uint8_t> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 37);
    const auto read = from_base64(to_base64(bytes));
    REQUIRE(read);
    CHECK(*read == bytes);
  }
  for (const char* bad : {"a", "ab=", "a?==", "=abc", "ab c"}) CHECK_FALSE(from_base64(bad));
}
