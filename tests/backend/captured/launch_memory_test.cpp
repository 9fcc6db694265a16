#include "backend/captured/launch_memory.hpp"

#include "backend/captured/folder.hpp"

using namespace cupilot;
using support::CaptureFolder;

namespace {

constexpr std::uint64_t at = 0x7abc00000000;

// Opens the folder's last launch, which outlives its memory.
struct Opened {
  explicit Opened(const CaptureFolder& folder)
      : capture(*read_capture(folder.path())),
        memory(LaunchMemory::make(capture, capture.launches.back())) {}
  Capture capture;
  Result<LaunchMemory> memory;
};

}  // namespace

TEST_CASE("buffers stand at their own addresses, named by their arguments", "[captured]") {
  CaptureFolder folder;
  folder.launch({"k", {at + 4096, at}, {{at + 4096, "other"}, {at, "content"}}});
  Opened opened(folder);
  Result<LaunchMemory>& memory = opened.memory;
  REQUIRE(memory);
  REQUIRE(memory->fill());
  REQUIRE(memory->device().size() == 2);
  CHECK(memory->device()[0].name == "argument 2");
  CHECK(memory->device().address(0) == at);
  CHECK(memory->device().address(1) == at + 4096);
  CHECK(memory->device().find(at + 4096, 5) != nullptr);
  CHECK(memory->device().find(at + 7, 1) == nullptr);
  CHECK(memory->device().data(1)[0] == 'o');
  CHECK(memory->missed().empty());
}

TEST_CASE("allocations that lie over each other or over a window are refused", "[captured]") {
  CaptureFolder over;
  over.launch({"k", {at}, {{at, "content"}, {at + 4, "content"}}});
  const Opened first(over);
  const Result<LaunchMemory>& two = first.memory;
  REQUIRE(!two);
  CHECK(two.error().code == ErrorCode::not_done);
  CaptureFolder window;
  window.launch({"k", {at}, {{0x7f0000001000, "content"}}});
  const Opened second(window);
  const Result<LaunchMemory>& inside = second.memory;
  REQUIRE(!inside);
  CHECK(inside.error().message.find("has a window") != std::string::npos);
}

TEST_CASE("a file that is shorter than its buffer is told", "[captured]") {
  CaptureFolder folder;
  folder.launch({"k", {at}, {{at, "content"}}});
  folder.file("launch-1/buffer-0.before", "cont");
  Opened opened(folder);
  Result<LaunchMemory>& memory = opened.memory;
  REQUIRE(memory);
  const Result<void> filled = memory->fill();
  REQUIRE(!filled);
  CHECK(filled.error().message.find("holds 4 bytes, the launch names 7") != std::string::npos);
}
