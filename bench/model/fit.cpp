// Fits the weights of a template's model (model.json) to recorded times.
//
//   model_fit [--only NAME,NAME…] TEMPLATE LANDSCAPE_DIR…    prints the fitted "weights" and the
//   errors; --only: weights that may move, default: all
//   model_fit --pairs TEMPLATE LANDSCAPE_DIR…    prints each kernel's measured and expected time
//
// Takes the strategies that the template realises and that are within 3 times the fastest of their
// landscape, and moves one weight after another, by steps that shrink, to the least mean error in
// octaves. Errors are printed with the weights as they ship, fitted to all, and, for each
// landscape, fitted to all others.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <cupilot/family.hpp>

#include "kernel/template_choice.hpp"
#include "kernel/tunable_values.hpp"
#include "landscapes.hpp"
#include "predict/model.hpp"
#include "scores.hpp"

using namespace cupilot;

namespace {

constexpr double slowest = 3;     // times the fastest of a landscape
constexpr double most_error = 2;  // octaves: errors beyond count as that large
constexpr double steps[] = {2.0, 1.5, 1.25, 1.1, 1.04};
constexpr double pull =
    0.005;  // octaves of error that an octave from the shipped weight has to save
constexpr double ordering_share = 0.5;  // of the error that is fitted
constexpr double enough = 20;           // kernels with which a landscape counts in full

using Weights = std::map<std::string, std::int64_t>;

struct Sample {
  std::vector<std::int64_t> values;  // of the template's parameters
  double time_us = 0;
};

// A landscape's kernels of the template.
struct Subject {
  const Landscape* from = nullptr;
  Tunable tunable;
  std::vector<Sample> samples;
};

std::optional<Subject> subject_of(const Landscape& landscape, const std::string& name) {
  const auto templates = templates_of(builtin_families(), landscape.task);
  const auto found = std::find_if(templates.begin(), templates.end(), [&](const Tunable& one) {
    return one.name == name && serves(one, landscape.task);
  });
  if (found == templates.end() || !found->model) return std::nullopt;
  double best = std::numeric_limits<double>::infinity();
  for (const Row& row : landscape.rows) best = std::min(best, row.time_us);
  Subject subject{&landscape, *found, {}};
  for (const Row& row : landscape.rows) {
    if (row.template_name != name || row.time_us > slowest * best) continue;
    const auto constants = constants_for(*found, landscape.task, row.strategy);
    if (constants) subject.samples.push_back({values_of(*found, *constants), row.time_us});
  }
  if (subject.samples.empty()) return std::nullopt;
  return subject;
}

// Expected against measured times; kernels without a forecast are left out.
std::vector<Pair> pairs_of(const Subject& subject, const Weights& weights) {
  Tunable tunable = subject.tunable;
  tunable.model->weights = weights;
  const Task& task = subject.from->task;
  const ModelProgram program(tunable, task, task.time_shapes.front(), subject.from->device);
  std::vector<Pair> pairs;
  for (const Sample& sample : subject.samples) {
    const auto forecast = program.forecast(sample.values);
    if (forecast) pairs.push_back({sample.time_us, forecast->us, 0});
  }
  return pairs;
}

double mean_distance(const std::vector<double>& octaves, double from) {
  double sum = 0;
  for (const double one : octaves) sum += std::min(most_error, std::abs(one - from));
  return octaves.empty() ? most_error : sum / static_cast<double>(octaves.size());
}

// The mean error in octaves; `ordering`: about its median, which is all that the order of a
// template's kernels depends on.
double error_of(const Subject& subject, const Weights& weights, double ordering = 0) {
  std::vector<double> octaves;
  for (const Pair& pair : pairs_of(subject, weights))
    octaves.push_back(std::log2(pair.measured_us / pair.expected_us));
  const double error = mean_distance(octaves, 0);
  if (ordering == 0 || octaves.empty()) return error;
  const auto middle = octaves.begin() + static_cast<std::ptrdiff_t>(octaves.size() / 2);
  std::nth_element(octaves.begin(), middle, octaves.end());
  return (1 - ordering) * error + ordering * mean_distance(octaves, *middle);
}

// Landscapes with enough kernels count alike.
double error_of(const std::vector<const Subject*>& subjects, const Weights& weights,
                double ordering = 0) {
  double sum = 0, all = 0;
  for (const Subject* subject : subjects) {
    const double share = std::min(1.0, static_cast<double>(subject->samples.size()) / enough);
    sum += share * error_of(*subject, weights, ordering);
    all += share;
  }
  return sum / all;
}

// The error, and what weights far from the shipped ones have to earn: few kernels tell little of
// some of them.
double cost_of(const std::vector<const Subject*>& subjects, const Weights& weights,
               const Weights& shipped) {
  double cost = error_of(subjects, weights, ordering_share);
  for (const auto& [name, value] : weights)
    cost += pull *
            std::abs(std::log2(static_cast<double>(value) / static_cast<double>(shipped.at(name))));
  return cost;
}

// `only`: names in commas; empty: all.
bool may_move(const std::string& name, const std::string& only) {
  return only.empty() || ("," + only + ",").find("," + name + ",") != std::string::npos;
}

Weights fitted(const std::vector<const Subject*>& subjects, const Weights& shipped,
               const std::string& only) {
  Weights weights = shipped;
  double best = cost_of(subjects, weights, shipped);
  for (const double step : steps) {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [name, value] : weights) {
        if (!may_move(name, only)) continue;
        for (const double factor : {step, 1 / step}) {
          const std::int64_t before = value;
          value = std::max<std::int64_t>(1, std::llround(static_cast<double>(before) * factor));
          const double cost = value == before ? best : cost_of(subjects, weights, shipped);
          if (cost < best - 1e-4) {
            best = cost;
            moved = true;
          } else {
            value = before;
          }
        }
      }
    }
  }
  return weights;
}

void show(const Subject& subject, const std::string& how, const Weights& weights) {
  const auto pairs = pairs_of(subject, weights);
  const double rho = pairs.size() < 2 ? 0 : score(pairs).spearman;
  std::printf("%-36s %-8s n %4zu  error %.3f octaves, about its median %.3f  rho %.3f\n",
              subject.from->name.c_str(), how.c_str(), pairs.size(), error_of(subject, weights),
              error_of(subject, weights, 1), rho);
}

// Each kernel's measured and expected time and its settings.
void show_pairs(const Subject& subject) {
  const Task& task = subject.from->task;
  const ModelProgram program(subject.tunable, task, task.time_shapes.front(), subject.from->device);
  for (const Sample& sample : subject.samples) {
    const auto forecast = program.forecast(sample.values);
    std::printf("%s %.1f %.1f", subject.from->name.c_str(), sample.time_us,
                forecast ? forecast->us : std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < sample.values.size(); ++i)
      std::printf(" %s=%lld", subject.tunable.parameters[i].constant.c_str(),
                  static_cast<long long>(sample.values[i]));
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** words) {
  const bool pairs = count > 1 && std::string(words[1]) == "--pairs";
  if (pairs) {
    --count;
    ++words;
  }
  std::string only;
  if (count > 2 && std::string(words[1]) == "--only") {
    only = words[2];
    count -= 2;
    words += 2;
  }
  if (count < 3) {
    std::fprintf(stderr,
                 "usage: model_fit [--only NAME,NAME | --pairs] TEMPLATE LANDSCAPE_DIR...\n");
    return 2;
  }
  std::vector<Landscape> landscapes;
  for (int i = 2; i < count; ++i) landscapes.push_back(read_landscape(words[i], "none"));
  std::vector<Subject> subjects;
  for (const Landscape& landscape : landscapes) {
    if (auto subject = subject_of(landscape, words[1])) subjects.push_back(std::move(*subject));
  }
  if (subjects.empty()) {
    std::fprintf(stderr, "model_fit: no landscape holds kernels of %s\n", words[1]);
    return 2;
  }
  if (pairs) {
    for (const Subject& subject : subjects) show_pairs(subject);
    return 0;
  }
  std::vector<const Subject*> all;
  for (const Subject& subject : subjects) all.push_back(&subject);
  const Weights shipped = subjects.front().tunable.model->weights;
  const Weights best = fitted(all, shipped, only);
  for (const Subject& subject : subjects) {
    show(subject, "shipped", shipped);
    show(subject, "fitted", best);
    if (all.size() < 2) continue;
    std::vector<const Subject*> others = all;
    std::erase(others, &subject);
    show(subject, "by rest", fitted(others, shipped, only));
  }
  std::printf("error %.3f before, %.3f after\n%s\n", error_of(all, shipped), error_of(all, best),
              nlohmann::json{{"weights", best}}.dump().c_str());
  return 0;
}
