#include <cupilot/result.hpp>

#include <memory>

#include "catch.hpp"

using namespace cupilot;

TEST_CASE("a result holds a value or an error with its context", "[result]") {
  Result<int> good = 3;
  REQUIRE(good);
  CHECK(*good == 3);

  Result<int> bad = Error{ErrorCode::usage, "m=0: not positive", "give a size of at least 1"};
  REQUIRE_FALSE(bad);
  const Error told = std::move(bad.error()).while_doing("reading the task");
  CHECK(told.message == "reading the task: m=0: not positive");
  CHECK(told.code == ErrorCode::usage);
  CHECK(told.hint == "give a size of at least 1");
}

TEST_CASE("an attempt tells a refused candidate from a failed machine", "[result]") {
  Attempt<std::unique_ptr<int>> value = std::make_unique<int>(4);
  REQUIRE(value);
  const std::unique_ptr<int> taken = std::move(*std::move(value));
  CHECK(*taken == 4);

  const Attempt<int> refused =
      Rejected{Stage::gate, "gate.state", "writes a module variable", "line 3"};
  CHECK_FALSE(refused);
  CHECK(refused.is_rejected());
  CHECK_FALSE(refused.is_error());

  const Attempt<int> failed = Error{ErrorCode::toolchain, "libnvrtc.so.13: not found", ""};
  CHECK(failed.is_error());
  CHECK(failed.error().code == ErrorCode::toolchain);
}

TEST_CASE("a void result", "[result]") {
  Result<void> done;
  CHECK(done);
  Result<void> failed = Error{};
  CHECK_FALSE(failed);
}
