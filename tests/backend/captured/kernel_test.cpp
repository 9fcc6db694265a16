// Captured launches as kernels with plans.
#include <cupilot/parts/capture.hpp>

#include <fmt/format.h>

#include "backend/captured/folder.hpp"
#include "backend/captured/one_entry.hpp"

using namespace cupilot;
using support::bytes_of;
using support::CaptureFolder;

namespace {

constexpr std::uint64_t first = 0x700000000000, second = 0x700000010000, third = 0x700000020000;

// A task of inputs `in` and outputs `out`, each of n = 100 floats.
Task task_of(const std::vector<std::string>& in, const std::vector<std::string>& out) {
  Task task;
  task.name = "own";
  task.axes = {{.name = "n"}};
  const auto add = [&](const std::string& name, Role role) {
    Tensor tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.shape = {"n"};
    task.tensors.push_back(tensor);
  };
  for (const std::string& name : in) add(name, Role::in);
  for (const std::string& name : out) add(name, Role::out);
  task.time_shapes = {{.sizes = {{"n", 100}}}};
  return task;
}

const std::string zeros = bytes_of(std::vector<float>(100, 0.0f));
const std::string ones = bytes_of(std::vector<float>(100, 1.0f));

Result<CapturedKernel> made(const CaptureFolder& folder, const Task& task,
                            const std::vector<std::string>& bound = {}) {
  const auto capture = read_capture(folder.path());
  REQUIRE(capture);
  return captured_kernel(*capture, capture->launches.back(), task, bound);
}

}  // namespace

TEST_CASE("outputs are the pointers whose memory a launch changed, wherever they stand") {
  CaptureFolder folder;
  folder.module("ptx", support::read(support::data + "guest.ptx"));
  folder.launch({.entry = "twice",
                 .arguments = {first, second, third, 100},
                 .buffers = {{first, zeros, ones}, {second, ones, ones}, {third, ones, ones}}});
  const auto kernel = made(folder, task_of({"x", "w"}, {"y"}));
  REQUIRE(kernel);
  CHECK(kernel->says == "arg0 is y, arg1 is x, arg2 is w");
  const LaunchPlan& plan = kernel->source.plan;
  REQUIRE(plan.launches.size() == 1);
  CHECK(launch_plan_to_json(plan) ==
        R"({"require":["n == 100"],"launches":[{"entry":"twice","grid":[4,1,1],)"
        R"("block":[32,1,1],"args":["y","x","w",{"i32":100}]}]})");
  CHECK(kernel->source.text.find(".entry twice(") != std::string::npos);
  CHECK(kernel->source.text.find(".entry wrong(") == std::string::npos);
}

TEST_CASE("pointers that no tensor takes become buffers of the plan") {
  CaptureFolder folder;
  folder.module("ptx", support::read(support::data + "guest.ptx"));
  folder.launch({.entry = "twice",
                 .arguments = {first, second, third, 100},
                 .buffers = {{first, ones, ones}, {second, zeros, ones}, {third, zeros, ones}}});
  const auto unclear = made(folder, task_of({"x"}, {"y"}));
  REQUIRE_FALSE(unclear);
  CHECK(unclear.error().message.find("its pointers arg0, arg1 (changed), arg2 (changed) do not "
                                     "tell which are the tensors x, y of task own") !=
        std::string::npos);
  const auto kernel = made(folder, task_of({"x"}, {"y"}), {"x=arg0", "y=arg2"});
  REQUIRE(kernel);
  CHECK(kernel->says == "arg0 is x, arg1 is scratch, arg2 is y");
  REQUIRE(kernel->source.plan.buffers.size() == 1);
  CHECK(kernel->source.plan.buffers[0].content == BufferContent::zeroed);
  CHECK(kernel->source.plan.buffers[0].bytes == Expr(400));
}

TEST_CASE("structs by value, numbers of each size and the task's scalars become arguments") {
  CaptureFolder folder;
  folder.module("ptx", support::read(support::data + "guest.ptx"));
  folder.launch({.entry = "twice",
                 .arguments = {first, second, 100},
                 .buffers = {{first, ones, ones}, {second, zeros, ones}}});
  auto capture = read_capture(folder.path());
  REQUIRE(capture);
  CapturedLaunch& launch = capture->launches.back();
  // {pointer, pointer, -2, 0}, 1.5f, two bytes.
  launch.parameters = {0, 24, 24, 4, 28, 2};
  launch.arguments.assign(30, 0);
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(launch.arguments.data() + at, &value, sizeof value);
  };
  put(0, first), put(8, second), put(16, -2), put(24, 1.5f), put(28, std::uint16_t{0xffff});
  Task task = task_of({"x"}, {"y"});
  task.scalars = {{.name = "alpha", .type = DType::f32}};
  const auto kernel = captured_kernel(*capture, launch, task, {"alpha=arg1"});
  REQUIRE(kernel);
  CHECK(kernel->says == "arg0 is x, arg0+8 is y, arg1 is alpha");
  CHECK(launch_plan_to_json(kernel->source.plan)
            .find(R"("args":[{"bytes":24,"fields":[{"at":0,"value":"x"},{"at":8,"value":"y"},)"
                  R"({"at":16,"value":{"i32":"-2"}}]},"alpha",{"i16":65535}])") !=
        std::string::npos);
  CHECK_FALSE(captured_kernel(*capture, launch, task, {"alpha=arg2"}));
  const auto large = captured_kernel(*capture, launch, task, {"y=arg0", "x=arg0+8"});
  REQUIRE(large);
  CHECK(large->says == "arg0 is y, arg0+8 is x");
}

TEST_CASE("machine code and launches of several shapes are no baselines") {
  CaptureFolder folder;
  folder.module("cubin",
                "\x7f"
                "ELF");
  folder.launch({.entry = "twice",
                 .arguments = {first, second, 100},
                 .buffers = {{first, ones, ones}, {second, zeros, ones}}});
  const auto code = made(folder, task_of({"x"}, {"y"}));
  REQUIRE_FALSE(code);
  CHECK(code.error().code == ErrorCode::not_done);
  Task many = task_of({"x"}, {"y"});
  many.time_shapes.push_back({.sizes = {{"n", 8}}});
  const auto shapes = made(folder, many);
  REQUIRE_FALSE(shapes);
  CHECK(shapes.error().code == ErrorCode::usage);
}

TEST_CASE("a module's text is cut to one kernel") {
  const std::string text =
      ".version 8.0\n// .entry other( {\n.global .u32 word = {1};\n.func (.reg .u32 r) f() { "
      "{ ret; } }\n.visible .entry one(.param .u64 p)\n.maxntid 32, 1, 1\n{ .loc 1 \"}\"; ret; "
      "}\n.weak .entry two() { /* } */ ret; }\n.section .debug_str { info: .b8 1 }\n.entry three() "
      "{ ret; }";
  const std::string cut = with_one_entry(text, "one");
  CHECK(cut.find("entry one(") != std::string::npos);
  CHECK(cut.find("f() { { ret; } }") != std::string::npos);
  CHECK(cut.find("word = {1};") != std::string::npos);
  for (const char* gone : {"entry two", "entry three", ".weak", "debug_str"})
    CHECK(cut.find(gone) == std::string::npos);
  CHECK(with_one_entry(text, "three").find("maxntid") == std::string::npos);
}
