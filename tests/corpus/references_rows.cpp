// Functions of rows and of other lines of a tensor: x is outer x mid x inner (either outer part 1
// when absent), lines run along mid.
#include <algorithm>
#include <cmath>
#include <limits>

#include "problem.hpp"

namespace cupilot::coverage {
namespace {

struct Lines {
  Index outer, mid, inner;
  explicit Lines(const Problem& p)
      : outer(p.size_or("outer", 1)), mid(p.size("mid")), inner(p.size_or("inner", 1)) {}
  Index count() const { return outer * inner; }
  std::size_t at(Index line, Index i) const {
    return static_cast<std::size_t>((line / inner * mid + i) * inner + line % inner);
  }
};

// One value a line.
Reference fold(double start, double (*step)(double, double), bool mean = false) {
  return [=](const Problem& p) {
    const Lines lines(p);
    Values y(static_cast<std::size_t>(lines.count()), start);
    for (Index l = 0; l < lines.count(); ++l) {
      double& sum = y[static_cast<std::size_t>(l)];
      for (Index i = 0; i < lines.mid; ++i) sum = step(sum, p.in("x")[lines.at(l, i)]);
      if (mean) sum /= static_cast<double>(lines.mid);
    }
    return y;
  };
}

// The first place of the extreme; `sign` -1 for the least.
Reference place_of(double sign) {
  return [sign](const Problem& p) {
    const Lines lines(p);
    Values y(static_cast<std::size_t>(lines.count()), 0);
    for (Index l = 0; l < lines.count(); ++l) {
      double& best = y[static_cast<std::size_t>(l)];
      for (Index i = 1; i < lines.mid; ++i) {
        if (sign * p.in("x")[lines.at(l, i)] >
            sign * p.in("x")[lines.at(l, static_cast<Index>(best))])
          best = static_cast<double>(i);
      }
    }
    return y;
  };
}

// A function of each whole line.
Reference line_by_line(void (*function)(Values& line)) {
  return [function](const Problem& p) {
    const Lines lines(p);
    Values y = p.in("x"), line(static_cast<std::size_t>(lines.mid));
    for (Index l = 0; l < lines.count(); ++l) {
      for (Index i = 0; i < lines.mid; ++i) line[static_cast<std::size_t>(i)] = y[lines.at(l, i)];
      function(line);
      for (Index i = 0; i < lines.mid; ++i) y[lines.at(l, i)] = line[static_cast<std::size_t>(i)];
    }
    return y;
  };
}

template <class F>
double sum_of(const Values& line, F term) {
  double sum = 0;
  for (const double v : line) sum += term(v);
  return sum;
}

void softmax(Values& line) {
  const double most = *std::max_element(line.begin(), line.end());
  const double sum = sum_of(line, [&](double v) { return std::exp(v - most); });
  for (double& v : line) v = std::exp(v - most) / sum;
}
void log_softmax(Values& line) {
  const double most = *std::max_element(line.begin(), line.end());
  const double log_sum = std::log(sum_of(line, [&](double v) { return std::exp(v - most); }));
  for (double& v : line) v -= most + log_sum;
}
void normalise(Values& line) {
  const auto n = static_cast<double>(line.size());
  const double mean = sum_of(line, [](double v) { return v; }) / n;
  const double variance = sum_of(line, [&](double v) { return (v - mean) * (v - mean); }) / n;
  for (double& v : line) v = (v - mean) / std::sqrt(variance + 1e-5);
}
void root_mean_square(Values& line) {
  const double mean =
      sum_of(line, [](double v) { return v * v; }) / static_cast<double>(line.size());
  for (double& v : line) v /= std::sqrt(mean + 1e-5);
}
void by_l1(Values& line) {
  const double mean =
      sum_of(line, [](double v) { return std::abs(v); }) / static_cast<double>(line.size());
  for (double& v : line) v /= mean;
}
void by_l2(Values& line) {
  const double norm = std::sqrt(sum_of(line, [](double v) { return v * v; }));
  for (double& v : line) v /= norm;
}

void cumsum(Values& line) {
  double sum = 0;
  for (double& v : line) v = sum += v;
}
void cumsum_exclusive(Values& line) {
  double sum = 0;
  for (double& v : line) std::swap(v, sum), sum += v;
}
void cumsum_reverse(Values& line) {
  std::reverse(line.begin(), line.end());
  cumsum(line);
  std::reverse(line.begin(), line.end());
}
void cumprod(Values& line) {
  double product = 1;
  for (double& v : line) v = product *= v;
}

Values masked_cumsum(const Problem& p) {
  Problem masked = p;
  for (std::size_t i = 0; i < masked.inputs["x"].size(); ++i)
    masked.inputs["x"][i] *= p.in("mask")[i] != 0 ? 1 : 0;
  return line_by_line(cumsum)(masked);
}

// Normalised over all elements of a channel: x is outer x channels x inner, lines are the channels.
Values batchnorm(const Problem& p) {
  const Index outer = p.size("outer"), channels = p.size("channels"), inner = p.size("inner");
  Values y = p.in("x");
  for (Index c = 0; c < channels; ++c) {
    Values line;
    const auto at = [&](Index o, Index i) {
      return static_cast<std::size_t>((o * channels + c) * inner + i);
    };
    for (Index o = 0; o < outer; ++o) {
      for (Index i = 0; i < inner; ++i) line.push_back(y[at(o, i)]);
    }
    normalise(line);
    for (Index o = 0; o < outer; ++o) {
      for (Index i = 0; i < inner; ++i) y[at(o, i)] = line[static_cast<std::size_t>(o * inner + i)];
    }
  }
  return y;
}

// The mean (or sum) over elements or rows of a loss.
Values mse(const Problem& p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.in("x").size(); ++i)
    sum += std::pow(p.in("x")[i] - p.in("t")[i], 2);
  return {sum / static_cast<double>(p.in("x").size())};
}
Values huber(const Problem& p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.in("x").size(); ++i) {
    const double d = std::abs(p.in("x")[i] - p.in("t")[i]);
    sum += d < 1 ? 0.5 * d * d : d - 0.5;
  }
  return {sum / static_cast<double>(p.in("x").size())};
}
Values hinge(const Problem& p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.in("x").size(); ++i) {
    sum += std::max(0.0, 1 - p.in("x")[i] * p.in("t")[i % p.in("t").size()]);
  }
  return {sum / static_cast<double>(p.in("x").size())};
}
Values cross_entropy(const Problem& p) {
  const Values logs = line_by_line(log_softmax)(p);
  const Lines lines(p);
  double sum = 0;
  for (Index l = 0; l < lines.count(); ++l)
    sum -= logs[lines.at(l, static_cast<Index>(p.in("t")[static_cast<std::size_t>(l)]))];
  return {sum / static_cast<double>(lines.count())};
}
// Mean over rows of the sum of t (log t - log x).
Values kl_divergence(const Problem& p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.in("x").size(); ++i) {
    const double t = p.in("t")[i];
    if (t > 0) sum += t * (std::log(t) - std::log(p.in("x")[i]));
  }
  return {sum / static_cast<double>(Lines(p).count())};
}
Values cosine(const Problem& p) {
  const Lines lines(p);
  double sum = 0;
  for (Index l = 0; l < lines.count(); ++l) {
    double xt = 0, xx = 0, tt = 0;
    for (Index i = 0; i < lines.mid; ++i) {
      const double x = p.in("x")[lines.at(l, i)], t = p.in("t")[lines.at(l, i)];
      xt += x * t, xx += x * x, tt += t * t;
    }
    sum += 1 - xt / std::sqrt(xx * tt);
  }
  return {sum / static_cast<double>(lines.count())};
}
Values triplet(const Problem& p) {
  const Lines lines(p);
  double sum = 0;
  for (Index l = 0; l < lines.count(); ++l) {
    double near = 0, far = 0;
    for (Index i = 0; i < lines.mid; ++i) {
      near += std::pow(p.in("x")[lines.at(l, i)] - p.in("t")[lines.at(l, i)] + 1e-6, 2);
      far += std::pow(p.in("x")[lines.at(l, i)] - p.in("u")[lines.at(l, i)] + 1e-6, 2);
    }
    sum += std::max(0.0, std::sqrt(near) - std::sqrt(far) + 1);
  }
  return {sum / static_cast<double>(lines.count())};
}

// q is heads x rows x depth, k and v heads x keys x depth; causal: row i sees keys up to i.
Values attention(const Problem& p) {
  const Index heads = p.size("heads"), rows = p.size("rows"), keys = p.size("keys"),
              depth = p.size("depth");
  const bool causal = p.size_or("causal", 0) != 0;
  Values y(static_cast<std::size_t>(heads * rows * depth), 0);
  for (Index h = 0; h < heads; ++h) {
    for (Index i = 0; i < rows; ++i) {
      Values score(static_cast<std::size_t>(causal ? std::min(keys, i + 1) : keys));
      const double* q = &p.in("q")[static_cast<std::size_t>((h * rows + i) * depth)];
      for (std::size_t j = 0; j < score.size(); ++j) {
        const double* k =
            &p.in("k")[(static_cast<std::size_t>(h * keys) + j) * static_cast<std::size_t>(depth)];
        for (Index d = 0; d < depth; ++d) score[j] += q[d] * k[d];
        score[j] /= std::sqrt(static_cast<double>(depth));
      }
      softmax(score);
      for (std::size_t j = 0; j < score.size(); ++j) {
        const double* v =
            &p.in("v")[(static_cast<std::size_t>(h * keys) + j) * static_cast<std::size_t>(depth)];
        for (Index d = 0; d < depth; ++d)
          y[static_cast<std::size_t>((h * rows + i) * depth + d)] += score[j] * v[d];
      }
    }
  }
  return y;
}

double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }

}  // namespace

const References& row_references() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  static const References table = {
      {"sum", fold(0, plus)},
      {"mean", fold(0, plus, true)},
      {"product", fold(1, times)},
      {"maximum", fold(-infinity, larger)},
      {"minimum", fold(infinity, smaller)},
      {"argmax", place_of(1)},
      {"argmin", place_of(-1)},
      {"softmax", line_by_line(softmax)},
      {"log_softmax", line_by_line(log_softmax)},
      {"normalised", line_by_line(normalise)},
      {"rmsnorm", line_by_line(root_mean_square)},
      {"l1norm", line_by_line(by_l1)},
      {"l2norm", line_by_line(by_l2)},
      {"batchnorm", batchnorm},
      {"cumsum", line_by_line(cumsum)},
      {"cumsum_exclusive", line_by_line(cumsum_exclusive)},
      {"cumsum_reverse", line_by_line(cumsum_reverse)},
      {"cumprod", line_by_line(cumprod)},
      {"masked_cumsum", masked_cumsum},
      {"mse", mse},
      {"huber", huber},
      {"hinge", hinge},
      {"cross_entropy", cross_entropy},
      {"kl_divergence", kl_divergence},
      {"cosine", cosine},
      {"triplet", triplet},
      {"attention", attention},
  };
  return table;
}

}  // namespace cupilot::coverage
