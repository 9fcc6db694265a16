// Products of matrices: a is batch x m x k (trans_a: batch x k x m), b is batch x k x n (trans_b:
// batch x n x k); a tensor without the batch's elements is shared by all.
#include <algorithm>
#include <cmath>

#include "problem.hpp"

namespace cupilot::coverage {
namespace {

Values matmul(const Problem& p) {
  const Index batch = p.size_or("batch", 1), m = p.size("m"), n = p.size_or("n", 1),
              k = p.size("k");
  const bool ta = p.size_or("trans_a", 0) != 0, tb = p.size_or("trans_b", 0) != 0;
  const Values &a = p.in("a"), &b = p.in("b");
  const bool shared_a = static_cast<Index>(a.size()) < batch * m * k,
             shared_b = static_cast<Index>(b.size()) < batch * k * n;
  Values d(static_cast<std::size_t>(batch * m * n));
  for (Index z = 0; z < batch; ++z) {
    const double* az = a.data() + (shared_a ? 0 : z * m * k);
    const double* bz = b.data() + (shared_b ? 0 : z * k * n);
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < n; ++j) {
        double sum = 0;
        for (Index q = 0; q < k; ++q)
          sum += az[ta ? q * m + i : i * k + q] * bz[tb ? j * k + q : q * n + j];
        d[static_cast<std::size_t>((z * m + i) * n + j)] = sum;
      }
    }
  }
  return d;
}

Values matmul_bias_relu(const Problem& p) {
  Values d = matmul(p);
  const Values& bias = p.in("bias");
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = std::max(0.0, d[i] + bias[i % bias.size()]);
  return d;
}

// diag(a) b
Values diagonal(const Problem& p) {
  Values d = p.in("b");
  const auto n = static_cast<std::size_t>(p.size("n"));
  for (std::size_t i = 0; i < d.size(); ++i) d[i] *= p.in("a")[i / n];
  return d;
}

// Of every four columns of a the kept two stand at places 0 and 2 in even rows, 1 and 3 in odd
// ones; b is n x k.
Values two_of_four(const Problem& p) {
  const Index m = p.size("m"), n = p.size("n"), k = p.size("k");
  Values d(static_cast<std::size_t>(m * n), 0);
  for (Index i = 0; i < m; ++i) {
    for (Index h = 0; h < k / 2; ++h) {
      const double a = p.in("a")[static_cast<std::size_t>(i * k / 2 + h)];
      const Index q = h * 2 + i % 2;
      for (Index j = 0; j < n; ++j)
        d[static_cast<std::size_t>(i * n + j)] +=
            a * p.in("b")[static_cast<std::size_t>(j * k + q)];
    }
  }
  return d;
}

}  // namespace

const References& matmul_references() {
  static const References table = {
      {"matmul", matmul},
      {"matmul_bias_relu", matmul_bias_relu},
      {"diagonal", diagonal},
      {"two_of_four", two_of_four},
  };
  return table;
}

}  // namespace cupilot::coverage
