// What larger programs are made of: sorting, transforms, generators, optimizers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>

#include "problem.hpp"

namespace cupilot::coverage {
namespace {

std::size_t extent(const Problem& p, const char* name) {
  return static_cast<std::size_t>(p.size(name));
}

// Nibbles of a byte are two weights, less 8; of 8 in a row those at 0..3 are the low halves of
// bytes in order of shifts.
Values gemv_int4(const Problem& p) {
  const std::size_t m = extent(p, "m"), k = extent(p, "k");
  Values y(m, 0);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      const std::size_t nibble =
          j % 8;  // nibbles of a little-endian word from the least significant
      const auto byte = static_cast<unsigned>(p.in("w")[(i * k + j / 8 * 8) / 2 + nibble / 2]);
      const double weight = static_cast<double>(nibble % 2 == 0 ? byte & 15 : byte >> 4) - 8;
      y[i] += weight * p.in("s")[(i * k + j) / 32] * p.in("x")[j];
    }
  }
  return y;
}

Values rope(const Problem& p) {
  const std::size_t depth = extent(p, "inner");
  Values y = p.in("x");
  for (std::size_t i = 0; i < y.size(); i += 2) {
    const double angle =
        static_cast<double>(i / depth) *
        std::pow(10000.0, -static_cast<double>(i % depth) / static_cast<double>(depth));
    const std::complex<double> turned =
        std::complex<double>(y[i], y[i + 1]) * std::polar(1.0, angle);
    y[i] = turned.real(), y[i + 1] = turned.imag();
  }
  return y;
}

// Philox 4x32-10 (Salmon et al., 2011) with key (1234, 5678); a quarter of the elements is dropped.
Values dropout_philox(const Problem& p) {
  Values y = p.in("x");
  for (std::size_t i = 0; i < y.size(); i += 4) {
    std::uint32_t c[4] = {static_cast<std::uint32_t>(i / 4), 0, 0, 0}, key[2] = {1234, 5678};
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53u} * c[0],
                          b = std::uint64_t{0xCD9E8D57u} * c[2];
      const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
      const std::uint32_t next[4] = {high(b) ^ c[1] ^ key[0], static_cast<std::uint32_t>(b),
                                     high(a) ^ c[3] ^ key[1], static_cast<std::uint32_t>(a)};
      std::copy(next, next + 4, c);
      key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u;
    }
    for (std::size_t j = 0; j < 4; ++j) y[i + j] = c[j] >= 0x40000000u ? y[i + j] / 0.75 : 0;
  }
  return y;
}

Values sorted(const Problem& p) {
  Values y = p.in("x");
  for (auto row = y.begin(); row != y.end(); row += p.size("mid"))
    std::sort(row, row + p.size("mid"));
  return y;
}

Values top_k(const Problem& p) {
  Values rows = sorted(p), y;
  for (Index r = 0; r < p.size("outer"); ++r) {
    for (Index i = 0; i < p.size("top"); ++i)
      y.push_back(rows[static_cast<std::size_t>((r + 1) * p.size("mid") - 1 - i)]);
  }
  return y;
}

Values embedding_bag(const Problem& p) {
  const std::size_t depth = extent(p, "depth"), per_bag = extent(p, "per_bag");
  Values y(extent(p, "bags") * depth, 0);
  for (std::size_t i = 0; i < p.in("rows_of").size(); ++i) {
    const auto row = static_cast<std::size_t>(p.in("rows_of")[i]);
    for (std::size_t d = 0; d < depth; ++d)
      y[i / per_bag * depth + d] += p.in("table")[row * depth + d];
  }
  return y;
}

Values fourier(const Problem& p) {
  const std::size_t n = extent(p, "mid");
  Values y(p.in("x").size());
  for (std::size_t at = 0; at < y.size() / 2; ++at) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double* x = &p.in("x")[2 * (at / n * n + i)];
      sum += std::complex<double>(x[0], x[1]) *
             std::polar(1.0, -2 * M_PI * static_cast<double>(at % n * i) / static_cast<double>(n));
    }
    y[2 * at] = sum.real(), y[2 * at + 1] = sum.imag();
  }
  return y;
}

Values gravity(const Problem& p) {
  const Values& x = p.in("x");
  Values y(extent(p, "n") * 3, 0);
  for (std::size_t i = 0; i < extent(p, "n"); ++i) {
    for (std::size_t j = 0; j < extent(p, "n"); ++j) {
      double distance = 1e-2;
      for (std::size_t d = 0; d < 3; ++d) distance += std::pow(x[4 * j + d] - x[4 * i + d], 2);
      for (std::size_t d = 0; d < 3; ++d)
        y[3 * i + d] += x[4 * j + 3] * (x[4 * j + d] - x[4 * i + d]) / std::pow(distance, 1.5);
    }
  }
  return y;
}

Values jacobi_ring(const Problem& p) {
  Values y = p.in("x");
  for (int step = 0; step < 4; ++step) {
    const Values from = y;
    const std::size_t n = y.size();
    for (std::size_t i = 0; i < n; ++i)
      y[i] = 0.25 * from[(i + n - 1) % n] + 0.5 * from[i] + 0.25 * from[(i + 1) % n];
  }
  return y;
}

Values hamming(const Problem& p) {
  const std::size_t rows = extent(p, "rows"), bytes = extent(p, "words") * 8;
  Values y(rows * rows, 0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t b = 0; b < bytes; ++b) {
      const auto byte = [&](std::size_t row) {
        return static_cast<unsigned>(p.in("x")[row * bytes + b]);
      };
      y[i] += std::popcount(byte(i / rows) ^ byte(i % rows));
    }
  }
  return y;
}

// The factor of x x^T + n I.
Values cholesky(const Problem& p) {
  const std::size_t n = extent(p, "n");
  Values y(p.in("x").size(), 0);
  for (std::size_t z = 0; z < y.size(); z += n * n) {
    const double* x = &p.in("x")[z];
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = i == j ? static_cast<double>(n) : 0;
        for (std::size_t q = 0; q < n; ++q) sum += x[i * n + q] * x[j * n + q];
        for (std::size_t q = 0; q < j; ++q) sum -= y[z + i * n + q] * y[z + j * n + q];
        y[z + i * n + j] = i == j ? std::sqrt(sum) : sum / y[z + j * n + j];
      }
    }
  }
  return y;
}

Values adam_first(const Problem& p) {
  Values m = p.in("m");
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = 0.9 * m[i] + 0.1 * p.in("g")[i];
  return m;
}
Values adam_second(const Problem& p) {
  Values v = p.in("v");
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = 0.999 * v[i] + 0.001 * p.in("g")[i] * p.in("g")[i];
  return v;
}
Values adam_parameter(const Problem& p) {
  const Values m = adam_first(p), v = adam_second(p);
  Values y = p.in("p");
  for (std::size_t i = 0; i < y.size(); ++i) y[i] -= 1e-3 * m[i] / (std::sqrt(v[i]) + 1e-8);
  return y;
}

Values activation_by_row(const Problem& p) {
  Values y = p.in("x");
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t kind = i / extent(p, "mid") % 3;
    y[i] = kind == 0 ? std::max(y[i], 0.0) : kind == 1 ? y[i] * y[i] : y[i] / (1 + std::abs(y[i]));
  }
  return y;
}

Values blurred(const Problem& p) {
  constexpr double weights[] = {0.0625, 0.25, 0.375, 0.25, 0.0625};
  const Index h = p.size("h"), w = p.size("w");
  Values y(p.in("x").size(), 0);
  for (Index i = 0; i < h * w; ++i) {
    for (Index t = 0; t < 25; ++t) {
      const Index row = std::clamp<Index>(i / w + t / 5 - 2, 0, h - 1),
                  col = std::clamp<Index>(i % w + t % 5 - 2, 0, w - 1);
      y[static_cast<std::size_t>(i)] +=
          weights[t / 5] * weights[t % 5] * p.in("x")[static_cast<std::size_t>(row * w + col)];
    }
  }
  return y;
}

// The low 40 bits of the product modulo 2^61 - 1.
Values modular_product(const Problem& p) {
  Values y;
  for (std::size_t i = 0; i < p.in("a").size(); ++i) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(p.in("a")[i]) * static_cast<Wide>(p.in("b")[i]);
    y.push_back(static_cast<double>(static_cast<std::uint64_t>(product % ((1ull << 61) - 1)) &
                                    ((1ull << 40) - 1)));
  }
  return y;
}

Values upsampled(const Problem& p) {
  const Index n = p.size("n"), h = p.size("h"), w = p.size("w");
  Values y;
  for (Index at = 0; at < n * 4 * h * w; ++at) {
    const double fy = std::max(0.0, (static_cast<double>(at / (2 * w) % (2 * h)) + 0.5) / 2 - 0.5);
    const double fx = std::max(0.0, (static_cast<double>(at % (2 * w)) + 0.5) / 2 - 0.5);
    const auto x0 = static_cast<Index>(fx), y0 = static_cast<Index>(fy);
    const auto pixel = [&](Index row, Index col) {
      const Index inside = std::min(row, h - 1) * w + std::min(col, w - 1);
      return p.in("x")[static_cast<std::size_t>(at / (4 * h * w) * h * w + inside)];
    };
    const double ax = fx - static_cast<double>(x0), ay = fy - static_cast<double>(y0);
    y.push_back((1 - ay) * ((1 - ax) * pixel(y0, x0) + ax * pixel(y0, x0 + 1)) +
                ay * ((1 - ax) * pixel(y0 + 1, x0) + ax * pixel(y0 + 1, x0 + 1)));
  }
  return y;
}

}  // namespace

const References& applied_references() {
  static const References table = {
      {"gemv_int4", gemv_int4},
      {"rope", rope},
      {"dropout_philox", dropout_philox},
      {"sorted", sorted},
      {"top_k", top_k},
      {"embedding_bag", embedding_bag},
      {"fourier", fourier},
      {"gravity", gravity},
      {"jacobi_ring", jacobi_ring},
      {"hamming", hamming},
      {"cholesky", cholesky},
      {"adam_first", adam_first},
      {"adam_second", adam_second},
      {"adam_parameter", adam_parameter},
      {"activation_by_row", activation_by_row},
      {"blurred", blurred},
      {"modular_product", modular_product},
      {"upsampled", upsampled},
  };
  return table;
}

}  // namespace cupilot::coverage
