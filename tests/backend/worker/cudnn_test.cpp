// Convolutions of cuDNN: what a library that stands in for it is asked for.
#include "backend/worker/cudnn_convolution.hpp"

#include <cupilot/parts/dtype.hpp>

#include <dlfcn.h>

#include <algorithm>

#include "backend/worker/serve.hpp"
#include "catch.hpp"

namespace cupilot::testing {
namespace {

// The calls of the library that stands in, and what it was asked for.
const CudnnCalls& calls() {
  static const CudnnCalls opened = open_cudnn(CUPILOT_FAKE_CUDNN);
  return opened;
}
void* fake() { return dlopen(CUPILOT_FAKE_CUDNN, RTLD_NOW); }
std::string said() {
  return reinterpret_cast<const char* (*)()>(dlsym(fake(), "fake_cudnn_said"))();
}
int alive() { return reinterpret_cast<int (*)()>(dlsym(fake(), "fake_cudnn_alive"))(); }

ConvolutionOrder flat_order() {
  ConvolutionOrder order;
  order.type = static_cast<int>(DType::f32);
  order.batch = 2, order.channels = 6, order.outputs = 8, order.groups = 2;
  const std::int64_t size[] = {1, 5, 7}, window[] = {1, 3, 3}, places[] = {1, 3, 3};
  const std::int64_t stride[] = {1, 1, 2}, padding[] = {0, 0, 1}, dilation[] = {1, 1, 2};
  for (int d = 0; d < 3; ++d) {
    order.size[d] = size[d], order.window[d] = window[d], order.places[d] = places[d];
    order.stride[d] = stride[d], order.padding[d] = padding[d], order.dilation[d] = dilation[d];
  }
  return order;
}

CudnnConvolution::Operands operands() {
  const auto at = [](long place) { return reinterpret_cast<void*>(place); };
  return {at(10), at(20), at(30), at(40)};
}

TEST_CASE("a convolution of two dimensions is described and run") {
  REQUIRE(calls().missing.empty());
  said();
  {
    const CudnnConvolution convolution(calls(), flat_order());
    CHECK(said() ==
          "tensor 0\n of 2 6 5 7 / 210 35 7 1\n"
          "tensor 0\n of 2 8 3 3 / 72 9 3 1\n"
          "weight 0\n of 8 3 3 3\n"
          "convolution 1 0\n padding 0 1\n stride 1 2\n dilation 1 2\n"
          "groups 2\nmath 3\n");
    const auto found = convolution.algorithms(nullptr, 1 << 20);
    REQUIRE(found.size() == 2);  // one is refused
    CHECK(found[0].number == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
    CHECK(found[1].bytes == 4096);
    CHECK(convolution.algorithms(nullptr, 4095).size() == 1);  // one needs more
    convolution.run(nullptr, found[0], operands(), nullptr);
    CHECK(said() == "forward 1 16 10 20 40\n");
  }
  CHECK(alive() == 0);
}

TEST_CASE("a bias is added behind a convolution, in place") {
  ConvolutionOrder order = flat_order();
  order.bias.slot = 3;
  said();
  const CudnnConvolution convolution(calls(), order);
  CHECK_THAT(said(), Catch::Contains("tensor 0\n of 1 8 1 1 / 8 1 1 1\n"));
  convolution.run(nullptr, {1, 16}, operands(), nullptr);
  CHECK(said() == "forward 1 16 10 20 40\nadd 30 40\n");
}

TEST_CASE("a transposed convolution is a convolution's gradient of data") {
  ConvolutionOrder order = flat_order();
  order.transposed = true;
  said();
  const CudnnConvolution convolution(calls(), order);
  CHECK_THAT(said(), Catch::Contains("weight 0\n of 6 4 3 3\n"));
  const auto found = convolution.algorithms(nullptr, 1 << 20);
  REQUIRE(found.size() == 1);
  convolution.run(nullptr, found[0], operands(), nullptr);
  CHECK(said() == "backward 1 32 10 20 40\n");
}

TEST_CASE("a convolution of one or three dimensions has two or three") {
  ConvolutionOrder order = flat_order();
  order.size[1] = order.window[1] = order.places[1] = 1;
  said();
  { const CudnnConvolution line(calls(), order); }
  CHECK_THAT(said(), Catch::StartsWith("tensor 0\n of 2 6 1 7 / 42 7 7 1\n"));
  order.padding[0] = 1;  // places beyond the input are no flat convolution's
  order.places[0] = 3;
  { const CudnnConvolution deep(calls(), order); }
  CHECK_THAT(said(),
             Catch::Contains("of 2 8 3 1 3 / 72 9 3 3 1\n") && Catch::Contains("padding 1 0 1\n"));
}

TEST_CASE("the class of a convolution is its math, never a lower one") {
  const auto math = [](DType type, int compute) {
    ConvolutionOrder order = flat_order();
    order.type = static_cast<int>(type);
    order.compute = compute;
    said();
    { const CudnnConvolution convolution(calls(), order); }
    const std::string all = said();
    return all.substr(all.find("math"));
  };
  CHECK(math(DType::f32, LibraryOrder::full) == "math 3\n");
  CHECK(math(DType::f32, LibraryOrder::tf32) == "math 0\n");
  CHECK(math(DType::bf16, LibraryOrder::full) == "math 1\n");
  CHECK(math(DType::f16, LibraryOrder::full) == "math 1\n");
}

TEST_CASE("what the library does not take is refused, and nothing is left") {
  const int before = alive();
  ConvolutionOrder order = flat_order();
  order.type = static_cast<int>(DType::f64);
  CHECK_THROWS_AS(CudnnConvolution(calls(), order), OrderRefused);
  order = flat_order();
  order.batch = 1 << 26;
  CHECK_THROWS_AS(CudnnConvolution(calls(), order), OrderRefused);
  CHECK(alive() == before);
  try {
    calls().expect(static_cast<cudnnStatus_t>(3000), "trying");
    FAIL("no exception");
  } catch (const OrderRefused& refused) {
    CHECK(refused.what == "cuDNN: trying: CUDNN_STATUS_FAKE");
    CHECK(refused.code == 3000);
  }
}

TEST_CASE("a library that is missing, or is another one, says so") {
  CHECK_THAT(open_cudnn("").missing, Catch::Contains("CUPILOT_CUDNN"));
  CHECK_THAT(open_cudnn("/nowhere/libcudnn.so.9").missing,
             Catch::Contains("not found: /nowhere/libcudnn.so.9"));
  CHECK_THAT(open_cudnn("libc.so.6").missing, Catch::Contains("lacks cudnn"));
  const auto file = [](const std::vector<std::string>& names) {
    return cudnn_file(names, LibraryPlaces::loader);
  };
  CHECK(file({"libcudnn-that-is-nowhere.so.9"}).empty());
  CHECK(file({"libcudnn-that-is-nowhere.so.9", CUPILOT_FAKE_CUDNN}) == CUPILOT_FAKE_CUDNN);
}

TEST_CASE("a confined process may read the folders of cuDNN") {
  CHECK(cudnn_folders("").empty());
  const auto folders = cudnn_folders("/p/site-packages/nvidia/cudnn/lib/libcudnn.so.9");
  CHECK(folders.front() == "/p/site-packages/nvidia/cudnn/lib");
  CHECK(std::count(folders.begin(), folders.end(), "/p/site-packages/nvidia") > 0);
  const auto plain = cudnn_folders("/opt/cudnn/lib/libcudnn.so.9");
  CHECK(std::count(plain.begin(), plain.end(), "/opt/cudnn/lib") > 0);
  CHECK(std::count(plain.begin(), plain.end(), "/opt") == 0);
}

}  // namespace
}  // namespace cupilot::testing
