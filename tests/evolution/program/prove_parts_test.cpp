// Parts on a screen that cannot run them: the device proves them itself.
#include "catch.hpp"
#include "evolution/program/plain_program.hpp"
#include "support/graph.hpp"

namespace cupilot::testing {
namespace {

using support::graph_task;
using support::input;
using support::output;

// A screen at none of whose shapes a kernel's `require` holds, or that counts its runs.
class Screen final : public ForwardingDevice {
 public:
  explicit Screen(bool serves) : ForwardingDevice(opened()), serves_(serves) {}
  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    ++runs;
    auto report = ForwardingDevice::run(task, kernel, cases);
    if (report && !serves_) {
      for (CaseReport& one : report->cases) {
        one = {};
        one.not_for_this_shape = true;
      }
    }
    return report;
  }

  int runs = 0;

 private:
  static std::unique_ptr<Backend> opened() {
    auto device = open_backend("virtual:h200", kept_images());
    REQUIRE_OK(device);
    return std::move(*device);
  }
  bool serves_;
};

TEST_CASE("the device proves parts that its screen cannot run", "[search][threads]") {
  const auto task = graph_task(
      {input("x", {"rows", "k"}), input("w", {"n", "k"}), output("y", {"rows", "n"})},
      {{"dot", "linear", {"x", "w"}, {"h"}, {}}, {"act", "softmax", {"h"}, {"y"}, {{"dim", 1}}}},
      {{"rows", 24}, {"k", 32}, {"n", 48}});
  REQUIRE_OK(task);
  ProgramWriter writer(*task, {});
  const Strategy strategy = as_strategy(plain_program(*task, {{0}, {1}}));
  for (const bool serves : {true, false}) {
    INFO(serves);
    Screen screen(serves);
    const Pipe pipe{TaskRef(*task), &device(), &writer, 1, &screen};
    for (const ProofLevel level : {ProofLevel::candidate, ProofLevel::finalist}) {
      const auto refused = writer.prove_parts(pipe, strategy, level, 1);
      REQUIRE_OK(refused);
      CHECK(!refused->refused);
      CHECK_THAT(refused->proved, Catch::Contains("each of 2 parts is right"));
      const bool itself = refused->proved.find("could not run them") != std::string::npos;
      CHECK(itself == !serves);
    }
    CHECK(screen.runs == 2);
  }
}

}  // namespace
}  // namespace cupilot::testing
