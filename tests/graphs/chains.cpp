#include "graphs/chains.hpp"

#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cupilot/rng.hpp>

namespace cupilot::graphs {
namespace {

constexpr const char* pointwise[] = {"relu", "gelu", "silu", "tanh", "sigmoid", "softplus"};
constexpr const char* rowwise[] = {"softmax", "layer_norm", "rms_norm"};

Step step_of(const std::string& text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return {text, 0};
  return {text.substr(0, blank), std::stoi(text.substr(blank + 1))};
}

// Two to six steps with one or two contractions.
Chain drawn_chain(std::uint64_t seed, int number) {
  Rng draw = Rng::of(seed, "chain", static_cast<std::uint64_t>(number));
  Chain chain;
  chain.name = fmt::format("drawn_{}", number);
  chain.rows = 16 + 8 * draw.below(3);
  chain.k = std::int64_t{64} << draw.below(8);
  const auto one_of = [&](const auto& names) {
    return Step{names[static_cast<std::size_t>(draw.below(std::size(names)))], 0};
  };
  const auto contraction = [&](bool first) {
    const std::int64_t wide = first && chain.k <= 512 ? 256 : 48;
    return Step{draw.below(2) == 0 ? "linear" : "linear_bias",
                static_cast<int>(16 + draw.below(wide))};
  };
  const bool two = draw.below(3) != 0;
  if (draw.below(3) == 0) chain.steps.push_back(one_of(rowwise));
  chain.steps.push_back(contraction(true));
  if (draw.below(2) == 0) chain.steps.push_back(one_of(pointwise));
  if (two) {
    if (draw.below(3) == 0) chain.steps.push_back(one_of(rowwise));
    chain.steps.push_back(contraction(false));
  }
  if (chain.steps.size() < 2 || draw.below(2) == 0)
    chain.steps.push_back(draw.below(3) == 0 ? Step{"residual", 0} : one_of(pointwise));
  return chain;
}

std::string axis(std::size_t number) { return fmt::format("d{}", number); }

}  // namespace

Result<std::vector<Chain>> read_chains(const std::string& path, std::uint64_t seed) {
  std::vector<Chain> chains;
  try {
    std::ifstream in(path);
    const auto json = nlohmann::json::parse(in);
    for (const auto& row : json.at("chains")) {
      Chain chain{row.at("name"), row.at("rows"), row.at("k"), {}};
      for (const auto& step : row.at("steps")) chain.steps.push_back(step_of(step));
      chains.push_back(std::move(chain));
    }
    for (int i = 0; i < json.at("drawn").get<int>(); ++i) chains.push_back(drawn_chain(seed, i));
  } catch (const std::exception& error) {
    return Error{ErrorCode::usage, path + ": " + error.what(), "correct the table"};
  }
  return chains;
}

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"honest", "tf32",         "fp16",
                                   "bf16",   "dropped_term", "rounded_edge"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<Fault> faults_of(const Chain& chain) {
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    if (chain.steps[i].contracts()) {
      for (const Kind kind : {Kind::tf32, Kind::fp16, Kind::bf16}) faults.push_back({kind, i});
    }
    if (chain.steps[i].folds()) faults.push_back({Kind::dropped_term, i});
    if (i + 1 < chain.steps.size()) faults.push_back({Kind::rounded_edge, i});
  }
  return faults;
}

Result<Task> task_of(const Chain& chain) {
  Task task;
  task.name = chain.name;
  Sizes sizes = {{"rows", chain.rows}, {"d0", chain.k}};
  task.axes = {{"rows"}, {"d0", AxisKind::reduced}};
  const auto input = [&](const std::string& name, std::vector<Expr> shape, double deviation) {
    Tensor tensor{.name = name, .shape = std::move(shape)};
    tensor.fill.high = deviation;
    task.tensors.push_back(std::move(tensor));
  };
  input("x", {"rows", "d0"}, 1);
  std::size_t at = 0;
  std::int64_t width = chain.k;
  std::string value = "x";
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const Step& step = chain.steps[i];
    std::vector<std::string> in = {value};
    std::string kind = step.name;
    if (step.contracts()) {
      kind = "linear";
      // To three digits, as a user writes it.
      const double deviation = std::round(1e3 / std::sqrt(static_cast<double>(width))) / 1e3;
      ++at;
      task.axes.push_back({axis(at)});
      sizes[axis(at)] = width = step.width;
      input(fmt::format("w{}", i), {Expr(axis(at)), Expr(axis(at - 1))}, deviation);
      in.push_back(fmt::format("w{}", i));
      if (step.name == "linear_bias") {
        input(fmt::format("b{}", i), {Expr(axis(at))}, 1);
        in.push_back(fmt::format("b{}", i));
      }
    } else if (step.name == "residual" || step.name == "scale") {
      kind = step.name == "scale" ? "mul" : "add";
      std::vector<Expr> shape = {Expr(axis(at))};
      if (kind == "add") shape.insert(shape.begin(), Expr("rows"));
      input(fmt::format("b{}", i), std::move(shape), 1);
      in.push_back(fmt::format("b{}", i));
    }
    value = i + 1 == chain.steps.size() ? "y" : fmt::format("v{}", i);
    task.operations.push_back({fmt::format("s{}", i), kind, in, {value}, {}});
  }
  task.tensors.push_back({.name = "y", .role = Role::out, .shape = {"rows", Expr(axis(at))}});
  task.time_shapes = {{.sizes = sizes}};
  if (auto done = complete(task); !done) return done.error();
  if (auto valid = validate(task); !valid) return valid.error();
  return task;
}

Partition partition_of(const Chain& chain) {
  Partition partition;
  bool open = false;  // the last part takes pointwise steps
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const Step& step = chain.steps[i];
    if (step.folds() || !open) partition.emplace_back();
    partition.back().push_back(static_cast<int>(i));
    open = !step.folds() || step.contracts();
  }
  return partition;
}

Result<Subject> subject_of(const Chain& chain) {
  auto task = task_of(chain);
  if (!task) return task.error();
  Subject out{.name = chain.name, .k = chain.k};
  for (const Step& step : chain.steps) out.operators.push_back(step.name);
  out.partition = partition_of(chain);
  out.faults = faults_of(chain);
  out.kernels = [chain, task = *task](const Fault& fault, std::uint64_t seed) {
    return kernels_of(chain, task, fault, seed);
  };
  out.task = std::move(*task);
  return out;
}

std::size_t part_of(const Partition& partition, std::size_t step) {
  for (std::size_t i = 0; i < partition.size(); ++i) {
    for (const int one : partition[i])
      if (one == static_cast<int>(step)) return i;
  }
  return 0;
}

}  // namespace cupilot::graphs
