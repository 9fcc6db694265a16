#include "backend/oracle/inputs.hpp"

#include "catch.hpp"
#include "support/gemm.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

TEST_CASE("a tensor that several threads fill holds what one would write", "[virtual][threads]") {
  // A: 3 * 2^20 elements and some, which no number of threads divides.
  GemmSpec spec;
  spec.m = 1021;
  spec.k = 3083;
  spec.n = 1;
  const auto task = gemm_task(spec);
  REQUIRE(task);
  const Workload& shape = task->time_shapes.front();
  for (const ContentKind kind :
       {ContentKind::ordinary, ContentKind::probe, ContentKind::integers}) {
    const Content content{.seed = 7, .kind = kind};
    VirtualInputs inputs(64 << 20);
    const auto made = inputs.get(TaskRef(*task), 0, shape, content);
    const auto params = fill_params(*task, 0, shape, content);
    REQUIRE(made);
    REQUIRE(params);
    TensorBytes wanted((*made)->size());
    fill(*params, wanted);
    const bool same = **made == wanted;  // a failure must not print millions of bytes
    CHECK(same);
  }
}

}  // namespace
}  // namespace cupilot
