// A device in a host's own context, on a driver that holds things and launches nothing
// (fake_libcuda.cpp).
#include "backend/cuda/in_process.hpp"

#include <dlfcn.h>

#include <thread>

#include <cupilot/in_process.hpp>
#include <cupilot/parts/resolved_plan.hpp>

#include "support/reached.hpp"

using namespace cupilot;

namespace {

const auto context = reinterpret_cast<CUcontext>(0x10);
const auto stream = reinterpret_cast<CUstream>(0x20), stranger = reinterpret_cast<CUstream>(0x21);

// The driver that the tests of this file share: the loader finds it under the real one's name from
// then on.
struct FakeDriver {
  template <class Function>
  Function* find(const char* name) const {
    auto* found = reinterpret_cast<Function*>(dlsym(handle, name));
    if (found == nullptr) FAIL(name);
    return found;
  }
  explicit FakeDriver(std::uint64_t probe = probe_value()) {
    if (handle == nullptr) FAIL(dlerror());
    find<void(std::uint64_t)>("fake_begin")(probe);
  }
  std::string wrong() const { return find<const char*()>("fake_wrong")(); }
  std::string launched() const { return find<const char*()>("fake_launched")(); }
  std::size_t held() const { return find<std::size_t()>("fake_held")(); }
  std::size_t depth() const { return find<std::size_t()>("fake_depth")(); }
  void* handle = dlopen(CUPILOT_FAKE_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
};

std::unique_ptr<InProcessDevice> open_trusted() {
  auto device = InProcessDevice::open(context, stream);
  if (!device) FAIL(device.error().message);
  const auto trusted = (*device)->trust({1});
  if (!trusted) FAIL(trusted.error().message);
  const auto judging = (*device)->judge_by({2});
  if (!judging) FAIL(judging.error().message);
  return std::move(*device);
}

RunOrder order_of(const char* entry, VisitTiming timing = {}) {
  RunOrder order;
  order.image = "image";
  order.launches.emplace_back();
  order.launches[0].name = order.launches[0].entry = entry;
  order.timing = timing;
  return order;
}

std::string outcome(InProcessDevice& device, const RunOrder& order) {
  const auto ran = device.run({"image", {1}, {order.launches[0].entry}, {}}, order, 5);
  if (!ran) return ran.error().message;
  if (const auto* fault = std::get_if<RunnerFault>(&*ran)) return fault->code;
  return std::to_string(std::get<DeviceRun>(*ran).answer.event_us.size()) + " times";
}

}  // namespace

TEST_CASE("without a driver in this process there is no context to be a guest in") {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr)
    return;  // an earlier test's, or a GPU's
  const auto opened = open_in_process(context, stream);
  REQUIRE(!opened);
  CHECK(opened.error().code == ErrorCode::no_device);
}

TEST_CASE("handles that cannot be worked with are refused by name") {
  const FakeDriver driver;
  struct Row {
    CUcontext context;
    CUstream stream;
    const char* word;
  };
  for (const Row& row :
       {Row{nullptr, stream, "no context"}, Row{context, nullptr, "default stream"},
        Row{context, CU_STREAM_LEGACY, "default stream"},
        Row{context, CU_STREAM_PER_THREAD, "default stream"},
        Row{context, stranger, "another context"}}) {
    const auto opened = open_in_process(row.context, row.stream);
    CAPTURE(row.word);
    REQUIRE(!opened);
    CHECK(opened.error().code == ErrorCode::usage);
    CHECK(opened.error().message.find(row.word) != std::string::npos);
  }
  CHECK(driver.held() == 0);
}

TEST_CASE(
    "a guest works in the host's context and stream, from any thread, and takes everything with it",
    "[threads]") {
  const FakeDriver driver;
  {
    const auto device = open_trusted();
    CHECK(device->hello().confinement.rfind("unconfined", 0) == 0);
    CHECK(device->hello().sharing == Sharing::own);
    std::thread([&] {
      REQUIRE(device->lease(100, true));
      CHECK(outcome(*device, order_of("k")) == "0 times");
      CHECK(driver.depth() == 0);
    }).join();
    CHECK(outcome(*device, order_of("k", {VisitTiming::Mode::timed, 3, true})) == "3 times");
    CHECK(driver.launched().find("scrub_shared k ") != std::string::npos);
    CHECK(driver.launched().find("flush_l2") != std::string::npos);
    CHECK(driver.depth() == 0);
    CHECK(driver.held() > 0);
  }
  CHECK(driver.held() == 0);
  CHECK(driver.wrong() == "");
}

TEST_CASE("launches are replayed as a graph, and one after another where none is captured") {
  struct Row {
    CUresult capture;
    bool runs, apart;
    std::size_t launches;  // of k: while capturing, and at each replay that has no graph
  };
  const Row row = GENERATE(values<Row>({{CUDA_SUCCESS, true, false, 1},
                                        {CUDA_ERROR_NOT_SUPPORTED, true, true, 4},
                                        {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, true, true, 4},
                                        {CUDA_ERROR_OUT_OF_MEMORY, false, false, 1}}));
  CAPTURE(static_cast<int>(row.capture));
  const FakeDriver driver;
  const auto device = open_trusted();
  driver.find<void(CUresult)>("fake_capture")(row.capture);
  RunOrder order = order_of("k", {VisitTiming::Mode::timed, 3, true});
  const auto ran = device->run({"image", {1}, {"k"}, {}}, order, 5);
  REQUIRE(ran);
  const auto* done = std::get_if<DeviceRun>(&*ran);
  REQUIRE((done != nullptr) == row.runs);
  if (done != nullptr) {
    CHECK(done->answer.apart == row.apart);
    CHECK(done->answer.event_us.size() == 3);
  }
  const std::string launched = " " + driver.launched();
  std::size_t count = 0;
  for (std::size_t at = launched.find(" k "); at != std::string::npos;
       at = launched.find(" k ", at + 1))
    ++count;
  CHECK(count == row.launches);
}

TEST_CASE("textures and surfaces are made for a run, copied around its launches and freed") {
  const FakeDriver driver;
  {
    const auto device = open_trusted();
    const auto region = device->lease(4096, true, Fence::start);
    REQUIRE(region);
    RunOrder order = order_of("handles");
    WireTexture plane, line, surface;
    plane.region = line.region = surface.region = *region;
    plane.memory = line.memory = 0;
    plane.memory = static_cast<int>(TextureMemory::array);
    plane.type = static_cast<int>(TextureType::u8);
    plane.channels = 4, plane.rank = 2, plane.normalized_read = plane.linear = true;
    plane.sides[0] = 8, plane.sides[1] = 4, plane.layers = 3, plane.pitch = 32;
    plane.normalized = true, plane.address = static_cast<int>(TextureAddress::mirror);
    line.region.offset += 4;
    line.region.bytes -= 4;
    line.type = static_cast<int>(TextureType::s32);
    line.sides[0] = 100, line.pitch = 400;
    surface.surface = true, surface.memory = static_cast<int>(TextureMemory::array);
    surface.type = static_cast<int>(TextureType::f32);
    surface.rank = 2, surface.sides[0] = 16, surface.sides[1] = 2, surface.pitch = 64;
    order.textures = {plane, line, surface};
    for (int i = 0; i < 3; ++i)
      order.launches[0].args.push_back({WireArgument::Kind::texture, {}, i, {}, 0, {}});
    const std::string before = driver.launched();
    CHECK(outcome(*device, order) == "0 times");
    const std::string said = driver.launched().substr(before.size());
    INFO(said);
    // Layered: flag 1. A surface's: 2. Normalized coordinates 2, mirrored 2; read as integers 1.
    CHECK(said.find("array:8x4x3:1 flags:2:1:2 object:0 flags:1:0:1 object:2 array:16x2x0:2 "
                    "object:0 ") != std::string::npos);
    CHECK(said.find("in:32x4x3 copy:400 in:64x2x1 handles out:64x2x1 ") != std::string::npos);
    order.textures[1].sides[0] = 1024;
    CHECK(outcome(*device, order) != "0 times");
    order.textures[1].sides[0] = 100, order.textures[1].type = 9;
    CHECK(outcome(*device, order) != "0 times");
  }
  CHECK(driver.held() == 0);
  CHECK(driver.wrong() == "");
}

TEST_CASE("memory is leased once, and had again after its release") {
  const FakeDriver driver;
  const auto device = open_trusted();
  const auto first = device->lease(1000, true, Fence::start),
             second = device->lease(1000, false, Fence::end);
  REQUIRE((first && second));
  CHECK(first->slot != second->slot);
  CHECK(first->offset == 0);
  CHECK((second->offset > 0 && second->offset % 256 == 0));
  const std::size_t held = driver.held();
  device->release_all();
  const auto again = device->lease(1000, true);
  REQUIRE(again);
  CHECK(again->slot == first->slot);
  CHECK(driver.held() == held);
}

TEST_CASE("a file's bytes are given once, and again to a judge that began anew") {
  const FakeDriver driver;
  {
    const auto device = open_trusted();
    const std::vector<float> values(1000, 0.5f);
    FillParams recipe{};
    recipe.type = storage_f32;
    recipe.kind = fill_file;
    recipe.rank = 1;
    recipe.extents[0] = recipe.elements = recipe.span = recipe.given_count = 1000;
    recipe.strides[0] = recipe.line = recipe.line_stride = 1;
    recipe.given = values.data();
    recipe.given_key = 7;
    const auto region = device->lease(4000, true);
    REQUIRE(region);
    const std::string order =
        pack(PrepareOrder{{{true, FillState::poison, false, *region, recipe}}, {}});
    const auto unknown = device->judge(DeviceMessage::prepare, order);
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().message.find("that was not given") != std::string::npos);
    const std::size_t held = driver.held();
    const auto given = device->give(recipe);
    if (!given) FAIL(given.error().message);
    FillParams again = recipe;
    again.given = nullptr;  // is not looked at
    REQUIRE(device->give(again));
    CHECK(driver.held() == held + 1);
    CHECK(device->judge(DeviceMessage::prepare, order));
    CHECK(driver.launched().find("fill_tensor") != std::string::npos);
    REQUIRE(device->renew());
    REQUIRE(device->give(recipe));
    const auto anew = device->lease(4000, true);
    REQUIRE(anew);
    CHECK(device->judge(DeviceMessage::prepare,
                        pack(PrepareOrder{{{true, FillState::poison, false, *anew, recipe}}, {}})));
    CHECK_FALSE(device->judge(DeviceMessage::give, pack(GiveOrder{8, 4000, 8, "late"})));
  }
  CHECK(driver.held() == 0);
  CHECK(driver.wrong() == "");
}

TEST_CASE("a fault ends the context: the kernel is told of, then every order is an error") {
  const FakeDriver driver;
  const auto device = open_trusted();
  testing::expect_code(outcome(*device, order_of("fault")), "run.out_of_bounds");
  for (const std::string& said :
       {outcome(*device, order_of("k")), device->judge(DeviceMessage::probe, "").error().message,
        device->lease(1, true).error().message, device->renew().error().message}) {
    CHECK(said.find("the host's context is lost") != std::string::npos);
  }
}

TEST_CASE("a device whose known kernel gives another answer is not used") {
  const FakeDriver driver(probe_value() + 1);
  auto device = InProcessDevice::open(context, stream);
  REQUIRE(device);
  const auto trusted = (*device)->trust({1});
  REQUIRE(!trusted);
  CHECK(trusted.error().message.find("another answer") != std::string::npos);
}

TEST_CASE("renewing gives everything back and has it anew") {
  const FakeDriver driver;
  const auto device = open_trusted();
  REQUIRE(device->lease(1, true));
  const std::string before = driver.launched();
  REQUIRE(device->renew());
  CHECK(driver.launched().find("probe_known", before.size()) != std::string::npos);
  CHECK(outcome(*device, order_of("k")) == "0 times");
  CHECK(driver.wrong() == "");
}
