// The gemm reference text compiled as host C++, for any `real`, against hand-written Inputs of the
// generated shape.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/gemm.hpp"
#include "task/content.hpp"
#include "trusted/tracked.cuh"

namespace cupilot::host_gemm {

// A gemm with its inputs filled on the host.
struct Problem {
  Task task;
  Workload shape;
  std::vector<FillParams> params;
  std::vector<std::vector<std::byte>> memory;  // by tensor; outputs stay empty

  Problem(const GemmSpec& spec, Content content)
      : task(*gemm_task(spec)), shape(task.time_shapes[0]) {
    for (std::size_t i = 0; i < task.tensors.size(); ++i) {
      params.push_back(*fill_params(task, i, shape, content));
      memory.emplace_back();
      if (task.tensors[i].role == Role::out) continue;
      memory[i].resize(static_cast<std::size_t>(params[i].span * storage_bytes(params[i].type)));
      fill(params[i], memory[i]);
    }
  }
  double at(const char* name, long long index) const {
    for (std::size_t i = 0; i < task.tensors.size(); ++i) {
      if (task.tensors[i].name == name) return load_real(memory[i].data(), index, params[i].type);
    }
    return 0.0;
  }
  long long size(const char* axis) const { return shape.sizes.at(axis); }
  long long outputs() const { return size("batch") * size("m") * size("n"); }
};

template <class Real>
struct HostInputs {
  const Problem& problem;
  long long batch = problem.size("batch"), m = problem.size("m"), n = problem.size("n"),
            k = problem.size("k");
  Real alpha = Real(problem.task.scalars[0].value), beta = Real(problem.task.scalars[1].value);
  // An element, which a reference's inputs hand out as such.
  Real element(const char* tensor, long long i) const {
    if constexpr (std::is_same_v<Real, tracked>) return Real(tracked_term(problem.at(tensor, i)));
    return Real(problem.at(tensor, i));
  }
  Real A(long long i) const { return element("A", i); }
  Real B(long long i) const { return element("B", i); }
  Real C(long long i) const { return element("C", i); }
  Real bias(long long i) const { return element("bias", i); }
};

#define __device__ inline
#define CUPILOT_GEMM_VARIANT(name, number, trans_a, trans_b, has_alpha, has_c, has_bias, act) \
  namespace name {                                                                            \
  using real = number;                                                                        \
  constexpr int TRANS_A = trans_a, TRANS_B = trans_b, HAS_ALPHA = has_alpha, HAS_C = has_c,   \
                HAS_BIAS = has_bias, ACT = act;

CUPILOT_GEMM_VARIANT(nn_double, double, 0, 0, 0, 0, 0, 0)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(nn_float, float, 0, 0, 0, 0, 0, 0)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(nn_tracked, tracked, 0, 0, 0, 0, 0, 0)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(tn_double, double, 1, 0, 0, 0, 0, 0)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(nt_double, double, 0, 1, 0, 0, 0, 0)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(tt_gelu_double, double, 1, 1, 1, 1, 1, 2)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(tt_gelu_float, float, 1, 1, 1, 1, 1, 2)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(tt_gelu_tracked, tracked, 1, 1, 1, 1, 1, 2)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(nn_silu_double, double, 0, 0, 0, 0, 0, 3)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(nn_silu_float, float, 0, 0, 0, 0, 0, 3)
#include "reference/matmul/gemm.cu"
}
CUPILOT_GEMM_VARIANT(nn_silu_tracked, tracked, 0, 0, 0, 0, 0, 3)
#include "reference/matmul/gemm.cu"
}
#undef CUPILOT_GEMM_VARIANT
#undef __device__

}  // namespace cupilot::host_gemm
