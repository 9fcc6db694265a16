#include <unistd.h>

#include <cupilot/backend.hpp>

#include "catch.hpp"

using namespace cupilot;

TEST_CASE("device names that name nothing are usage errors") {
  for (const char* name : {"", "cuda:x", "cuda:-1", "cuda:1x", "gpu", "recorded",
                           "recorded:", "fake:", "opencl:0", "virtual:h201"}) {
    const auto opened = open_backend(name);
    CAPTURE(name);
    REQUIRE(!opened);
    CHECK(opened.error().code == ErrorCode::usage);
    CHECK(!opened.error().message.empty());
  }
}

TEST_CASE("a CUDA device that is not there is named", "[threads]") {
  const auto opened = open_backend("cuda:1023");
  REQUIRE(!opened);
  CHECK(opened.error().code == ErrorCode::no_device);
  CHECK(opened.error().message.find("cuda:1023") != std::string::npos);
}

TEST_CASE("auto is never an error where NVRTC is", "[threads]") {
  const auto opened = open_backend("auto");
  REQUIRE(opened);
  if ((*opened)->provenance() == Provenance::modelled) {
    REQUIRE(!(*opened)->traits().notices.empty());
    CHECK((*opened)->traits().notices[0].find("virtual:h200") != std::string::npos);
  }
}

TEST_CASE("the first cuDNN that can be opened is found") {
  const auto found = [](std::vector<std::string> names) {
    BackendOptions options;
    options.cudnn = std::move(names);
    const std::vector<Finding> all = examine_machine(options);
    const auto one = std::find_if(all.begin(), all.end(),
                                  [](const Finding& finding) { return finding.name == "cudnn"; });
    REQUIRE(one != all.end());
    return *one;
  };
  const Finding there = found({"libcudnn-that-is-nowhere.so.9", CUPILOT_FAKE_CUDNN});
  CHECK(there.present);
  CHECK(there.detail == CUPILOT_FAKE_CUDNN);
  const Finding missing = found({"libcudnn-that-is-nowhere.so.9"});
  CHECK_FALSE(missing.present);
  CHECK_THAT(missing.detail, Catch::Contains("not found: libcudnn-that-is-nowhere.so.9"));
}

TEST_CASE("every lack has a cost and everything present a detail") {
  const std::vector<Finding> found = examine_machine();
  for (const char* name : {"worker", "nvrtc", "landlock", "seccomp", "rlimits", "libcuda", "gpu",
                           "cublaslt", "cudnn", "cupti"}) {
    CAPTURE(name);
    bool there = false;
    for (const Finding& finding : found) {
      if (finding.name != name) continue;
      there = true;
      CHECK(!finding.detail.empty());
      CHECK(finding.cost.empty() == finding.present);
    }
    CHECK(there);
  }
  BackendOptions nowhere;
  nowhere.worker_path = "/nowhere/cupilot-worker";
  const std::vector<Finding> without = examine_machine(nowhere);
  REQUIRE(without.size() == 3);
  CHECK(without[0].name == "interpreter");
  CHECK(without[0].present);
  CHECK(without[1].name == "chips");
  CHECK(without[1].present);
  CHECK(without[2].name == "worker");
  CHECK(!without[2].present);
}
