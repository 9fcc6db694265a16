#include "predict/model.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <cupilot/family.hpp>
#include <cupilot/rng.hpp>

#include "catch.hpp"
#include "kernel/tunable_values.hpp"
#include "predict/estimate.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

namespace {

Task task_of(const std::string& words) {
  std::istringstream in(words);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  auto task = gemm_of(all);
  REQUIRE(task);
  return std::move(*task);
}

const Tunable& builtin(const std::string& name) {
  for (const Tunable& tunable : builtin_tunables()) {
    if (tunable.name == name) return tunable;
  }
  FAIL(name);
  return builtin_tunables().front();
}

// A tile of 128 x 128 of each template, where nothing is said otherwise.
std::optional<double> expected_us(const Tunable& tunable, const Task& task,
                                  const Constants& constants) {
  const ModelProgram program(tunable, task, task.time_shapes.front(), *chip("h200"));
  const auto found = program.forecast(values_of(tunable, constants));
  return found ? std::optional(found->us) : std::nullopt;
}

DeviceSpec even_device() {
  DeviceSpec device;
  device.sms = 10;
  device.clock_hz = 1e9;
  device.dram_sustained = 1e12;
  device.l2_bytes_per_s = 2e12;
  device.launch_seconds = 0;
  device.sustained_flops = {};
  device.peak_flops = {};
  return device;
}

ModelTerms some_terms() {
  ModelTerms t;
  t[ModelTerm::blocks] = 40;
  t[ModelTerm::threads] = 128;
  t[ModelTerm::resident] = 2;
  t[ModelTerm::items] = 4;
  t[ModelTerm::rounds] = 10;
  t[ModelTerm::launches] = 1;
  return t;
}

}  // namespace

namespace {

// Values of a template's parameters: plain ones and others of their domains.
Constants drawn(const Tunable& tunable, Rng& rng) {
  Constants constants;
  for (const TunableParameter& p : tunable.parameters) {
    const auto other =
        static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(p.domain.size())));
    constants[p.constant] = rng.chance(0.6) ? p.plain : p.domain[other];
  }
  return constants;
}

}  // namespace

TEST_CASE("models of built-in templates keep their recorded times", "[predict]") {
  std::ifstream file("tests/data/model/prices.jsonl");
  REQUIRE(file);
  std::map<std::string, int> compared;
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    const Tunable& tunable = builtin(row.at("template"));
    const auto us = expected_us(tunable, task_of(row.at("task")), row.at("constants"));
    INFO(line);
    REQUIRE(us);
    CHECK(*us == Approx(row.at("us").get<double>()).epsilon(0.003));
    ++compared[tunable.name];
  }
  CHECK(compared.size() == 6);
}

TEST_CASE("every built-in template has a model with a value for its legal settings", "[predict]") {
  const DeviceSpec device = *chip("h200");
  const char* tasks[] = {"m=512 n=768 k=1024 dtype=fp32",
                         "m=512 n=768 k=1024 dtype=fp32 precision=fp32-emulated",
                         "m=512 n=768 k=1024 dtype=fp32 precision=tf32 layout=tt",
                         "m=512 n=768 k=1024 dtype=bf16",
                         "m=16 n=768 k=1024 dtype=bf16",
                         "m=512 n=768 k=1024 dtype=e4m3 layout=nt",
                         "m=512 n=768 k=1024 dtype=e4m3 precision=fp8-promoted layout=nt",
                         "m=512 n=768 k=1024 dtype=e4m3 precision=fp8-promoted layout=tn",
                         "m=512 n=768 k=1024 dtype=e4m3 layout=nt scale=tensor",
                         "m=512 n=768 k=1024 dtype=e4m3 layout=nt scale=block"};
  std::map<std::string, int> priced;
  for (const char* words : tasks) {
    const Task task = task_of(words);
    for (const Tunable& tunable : builtin_tunables()) {
      if (!serves(tunable, task)) continue;
      REQUIRE(tunable.model);
      Rng rng(5);
      for (int draw = 0; draw < 60; ++draw) {
        const Constants constants = drawn(tunable, rng);
        if (broken_restriction(tunable, task, device, constants)) continue;
        const auto us = expected_us(tunable, task, constants);
        INFO(words << " " << tunable.name);
        REQUIRE(us);
        CHECK(*us > 3.9);
        CHECK(*us < 1e5);
        ++priced[tunable.name];
      }
    }
  }
  for (const Tunable& tunable : builtin_tunables()) {
    INFO(tunable.name);
    if (tunable.family == "gemm" || tunable.family == "scaled_gemm")
      CHECK(priced[tunable.name] > 0);
  }
}

TEST_CASE("models have a value at the settings of tasks of other families", "[predict]") {
  const DeviceSpec device = *chip("h200");
  const std::vector<std::vector<std::string>> tasks = {{"softmax", "rows=64", "cols=131072"},
                                                       {"softmax", "cols=96", "dtype=bf16"},
                                                       {"attention"},
                                                       {"attention", "dtype=bf16"},
                                                       {"attention", "dtype=fp16", "causal=yes"},
                                                       {"kernelbench:1/23"},
                                                       {"kernelbench:1/50"},
                                                       {"kernelbench:1/89"}};
  std::map<std::string, int> priced;
  for (const auto& words : tasks) {
    const auto task = task_from_words(words);
    REQUIRE(task);
    for (const Tunable& tunable : templates_of(builtin_families(), *task)) {
      if (!serves(tunable, *task)) continue;
      REQUIRE(tunable.model);
      CHECK_FALSE(tunable.model->weights.empty());
      Rng rng(5);
      for (int draw = 0; draw < 40; ++draw) {
        const Constants constants = drawn(tunable, rng);
        if (broken_restriction(tunable, *task, device, constants)) continue;
        INFO(words.front() << " " << tunable.name);
        CHECK(expected_us(tunable, *task, constants).value_or(0) > 0);
        ++priced[tunable.name];
      }
    }
  }
  for (const char* name : {"softmax_warp", "attention_mma", "attention_stream", "attention_wgmma",
                           "attention_wgmma_causal", "rowwise", "window_product", "scan_rows"}) {
    INFO(name);
    CHECK(priced[name] > 0);
  }
}

TEST_CASE("a model may read the task's class", "[predict]") {
  Tunable tunable = builtin("gemm_simt");
  TunableModel model;
  model.let = {{"narrow", "class.bf16 ? 2 : 1"}};
  model.terms[static_cast<std::size_t>(ModelTerm::blocks)] = "dev.sms * narrow";
  model.traits = {{"strict", "256 * (1 + class.fp32_strict)"}};
  tunable.model = model;
  const auto terms_at = [&](const std::string& words) {
    const Task task = task_of(words);
    const auto terms = ModelProgram(tunable, task, task.time_shapes.front(), *chip("h200"))
                           .terms(values_of(tunable, {}));
    REQUIRE(terms);
    return *terms;
  };
  const ModelTerms narrow = terms_at("m=64 n=64 k=64 dtype=bf16");
  const ModelTerms strict = terms_at("m=64 n=64 k=64 dtype=fp32");
  CHECK(narrow[ModelTerm::blocks] == 2 * strict[ModelTerm::blocks]);
  CHECK(narrow.traits.at(0) == 0);
  CHECK(strict.traits.at(0) == 1);
  tunable.model->let[0].second = "class.none ? 2 : 1";
  const Task task = task_of("m=64 n=64 k=64 dtype=bf16");
  CHECK_FALSE(ModelProgram(tunable, task, task.time_shapes.front(), *chip("h200"))
                  .terms(values_of(tunable, {})));
}

TEST_CASE("the join follows its terms", "[predict]") {
  const DeviceSpec device = even_device();
  JoinWeights sharp;  // nearly maxima
  sharp.pipes = sharp.waits = sharp.memory = 64;
  const auto us = [&](const ModelTerms& t, const JoinWeights& join = JoinWeights{}) {
    return join_terms(t, join, device).us;
  };
  ModelTerms t = some_terms();
  t[ModelTerm::math] = 100;
  CHECK(us(t, sharp) == Approx(4).epsilon(0.02));  // 4 blocks x 10 rounds x 100 cycles at 1 GHz
  t[ModelTerm::issue] = 300;
  CHECK(us(t, sharp) == Approx(12).epsilon(0.02));
  t[ModelTerm::chain] = 900;  // two blocks side by side hide each other's waits
  CHECK(us(t, sharp) == Approx(18).epsilon(0.02));
  t[ModelTerm::ends] = 1000;
  CHECK(us(t, sharp) == Approx(19).epsilon(0.02));
  t[ModelTerm::dram] = 50e6;
  CHECK(us(t, sharp) == Approx(50).epsilon(0.02));
  t[ModelTerm::l2] = 160e6;
  CHECK(us(t, sharp) == Approx(80).epsilon(0.02));

  ModelTerms last = some_terms();
  last[ModelTerm::math] = 100;
  last[ModelTerm::items] = 5;  // a last group of one: half its own, half its share of a full one
  CHECK(us(last, sharp) == Approx(5).epsilon(0.02));

  ModelTerms ring = some_terms();
  JoinWeights paced = sharp;
  paced.ring = 1;
  ring[ModelTerm::math] = 100;
  ring[ModelTerm::latency] = 900;
  ring[ModelTerm::ahead] = 1;
  CHECK(us(ring, paced) == Approx(18).epsilon(0.02));
  ring[ModelTerm::ahead] = 3;
  CHECK(us(ring, paced) == Approx(6).epsilon(0.02));
  ring[ModelTerm::ahead] = 9;
  CHECK(us(ring, paced) == Approx(4).epsilon(0.02));

  ModelTerms more = some_terms();
  more[ModelTerm::math] = 100;
  DeviceSpec slow = device;
  slow.launch_seconds = 10e-6;
  more[ModelTerm::launches] = 3;
  CHECK(join_terms(more, sharp, slow).us == Approx(4 + 10 * 1.8).epsilon(0.02));
}

TEST_CASE("the least modelled time is not above what drawing finds", "[predict]") {
  const DeviceSpec device = *chip("h200");
  const Task task = task_of("m=1024 n=1024 k=1024 dtype=bf16");
  const Tunable& tunable = builtin("gemm_wgmma");
  const auto least = least_time(tunable, task, device);
  REQUIRE(least);
  const TimeEstimate estimate(tunable, task, device);
  Rng rng(9);
  for (int draw = 0; draw < 100; ++draw) {
    Constants constants;
    for (const TunableParameter& p : tunable.parameters)
      constants[p.constant] =
          p.domain[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(p.domain.size())))];
    if (broken_restriction(tunable, task, device, constants)) continue;
    CHECK(estimate.at(values_of(tunable, constants)).value_or(1e9) >= *least * 0.98);
  }
  Tunable without = tunable;
  without.model.reset();
  CHECK_FALSE(least_time(without, task, device));
}
