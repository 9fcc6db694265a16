// Activations and other functions of one element.
#include <algorithm>
#include <cmath>

#include "problem.hpp"

namespace cupilot::coverage {
namespace {

Reference each(double (*function)(double)) {
  return [function](const Problem& p) {
    Values y = p.in("x");
    for (double& v : y) v = function(v);
    return y;
  };
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu_by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double selu(double x) {
  return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x));
}

Values scaled(const Problem& p) {
  Values y = p.in("x");
  for (double& v : y) v *= p.in("s").at(0);
  return y;
}

Values added(const Problem& p) {
  Values y = p.in("a");
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += p.in("b").at(i);
  return y;
}

}  // namespace

const References& elementwise_references() {
  static const References table = {
      {"identity", each([](double x) { return x; })},
      {"doubled", each([](double x) { return 2 * x; })},
      {"squared", each([](double x) { return x * x; })},
      {"relu", each([](double x) { return std::max(x, 0.0); })},
      {"leaky_relu", each([](double x) { return x > 0 ? x : 0.01 * x; })},
      {"sigmoid", each(sigmoid)},
      {"tanh", each([](double x) { return std::tanh(x); })},
      {"swish", each([](double x) { return x * sigmoid(x); })},
      {"gelu", each([](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); })},
      {"gelu_by_tanh", each(gelu_by_tanh)},
      {"selu", each(selu)},
      {"hardsigmoid", each([](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); })},
      {"softplus", each([](double x) { return x > 20 ? x : std::log1p(std::exp(x)); })},
      {"softsign", each([](double x) { return x / (1 + std::abs(x)); })},
      {"elu", each([](double x) { return x > 0 ? x : std::expm1(x); })},
      {"hardtanh", each([](double x) { return std::clamp(x, -1.0, 1.0); })},
      {"scaled", scaled},
      {"added", added},
  };
  return table;
}

}  // namespace cupilot::coverage
