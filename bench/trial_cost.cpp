// What proving and timing a candidate on a device costs the controller's own thread: placing it,
// saying it to judge and runner, reading their answers. The device is a thread that answers each
// order at once, so that nothing is waited for. usage: trial_cost [CANDIDATES [ROUNDS [WORDS OF A
// GEMM...]]]; each candidate is tried so many times
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <cupilot/parts/verification.hpp>
#include <cupilot/search.hpp>

#include "backend/cuda/trials.hpp"
#include "base/phases.hpp"
#include "evolution/run/context.hpp"
#include "support/gemm.hpp"
#include "trusted/content.cuh"

namespace {

using namespace cupilot;

// Judge and runner run on another core than the controller: to wake a thread there is part of what
// an order costs. -1: the last.
void stay_on_core(int core) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(core < 0 ? std::max(cores - 1, 0) : core), &only);
  (void)sched_setaffinity(0, sizeof only, &only);
}

// Orders come over a socket, and answers go back over it, as a process of ours would have them.
class Answering {
 public:
  Answering() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) != 0) std::abort();
    thread_ = std::thread([this] {
      stay_on_core(-1);
      serve();
    });
  }
  ~Answering() {
    close(ends_[0]);
    thread_.join();
    close(ends_[1]);
  }
  std::string ask(DeviceMessage type, std::string body) {
    const Frame frame{static_cast<std::uint32_t>(type), next_++, std::move(body), {}};
    (void)send_frame(ends_[0], frame, deadline_in(60));
    auto received = receive_frame(ends_[0], deadline_in(60));
    return std::move(unpack_device_answer(std::get<Frame>(received).body)->payload);
  }

 private:
  void serve() {
    for (;;) {
      auto received = receive_frame(ends_[1], deadline_in(3600));
      auto* frame = std::get_if<Frame>(&received);
      if (frame == nullptr) return;
      DeviceAnswer answer;
      answer.payload = payload_of(static_cast<DeviceMessage>(frame->type), frame->body);
      (void)send_frame(
          ends_[1],
          {static_cast<std::uint32_t>(DeviceMessage::answer), frame->id, pack(answer), {}},
          deadline_in(60));
    }
  }
  std::string payload_of(DeviceMessage type, std::string_view body) {
    if (type == DeviceMessage::prepare) return pack(PrepareAnswer{});
    if (type == DeviceMessage::check) return check(*unpack_check(body));
    if (type == DeviceMessage::repeat)
      return pack(RepeatAnswer{std::vector<std::int64_t>(unpack_repeat(body)->outputs.size())});
    if (type == DeviceMessage::several) {
      SeveralAnswer all;
      const auto orders = unpack_several(body);
      for (const DeviceOrder& one : orders->orders)
        all.payloads.push_back(payload_of(one.type, one.body));
      return pack(all);
    }
    if (type == DeviceMessage::conditions) return pack(CardConditions{"none", 0, 0, 0, 0, 0, {}});
    if (type == DeviceMessage::run || type == DeviceMessage::library) {
      const VisitTiming timing = type == DeviceMessage::run ? unpack_run(body)->timing
                                                            : unpack_library(body)->order.timing;
      return pack(
          RunAnswer{std::vector<double>(timing.mode == VisitTiming::Mode::timed ? 1 : 0, 5), 6});
    }
    return "";
  }
  static std::string check(const CheckOrder& order) {
    CheckAnswer answer;
    for (const CheckItem& item : order.outputs) {
      CheckedOutput output;
      output.compared = item.layout.elements;
      answer.outputs.push_back(output);
    }
    answer.guards.resize(order.guards.size());
    answer.nonzero.resize(order.zeros.size());
    answer.changed.resize(order.unchanged.size());
    answer.hashes.resize(order.outputs.size());
    return pack(answer);
  }

  int ends_[2] = {-1, -1};
  std::uint64_t next_ = 0;
  std::thread thread_;
};

class AnsweringDevice : public TrialDevice {
 public:
  AnsweringDevice(const TaskRef& task, SpotCheck& spot) : task_(task), spot_(spot) {
    hello_.memory_free = hello_.memory_bytes = 140ll << 30;
    hello_.usable = true;
  }
  const DeviceHello& hello() const override { return hello_; }
  double empty_launch_us() const override { return 1; }
  Result<Region> lease(std::int64_t bytes, bool, Fence fence, std::int64_t odd) override {
    return region_in(leased_++, slot_size(bytes + odd), bytes, fence, odd);
  }
  void release_all() override { leased_ = 0; }
  bool crowded() const override { return false; }
  void seal(const Region&) override {}
  void unseal(const Region&) override {}
  void let_inputs_be_written(bool) override {}
  bool inputs_writable() const override { return false; }
  Result<std::vector<std::string>> judge_all(std::span<const DeviceOrder> together) override {
    const Phase phase("judge", PhaseCpu::of_phase_around);
    ++orders;
    const bool one = together.size() == 1;
    std::string payload =
        judge_.ask(one ? together[0].type : DeviceMessage::several,
                   one ? together[0].body : pack(SeveralOrder{{together.begin(), together.end()}}));
    auto payloads = one ? std::vector<std::string>{std::move(payload)}
                        : unpack_several_answer(payload)->payloads;
    for (std::size_t i = 0; i < together.size(); ++i) {
      if (together[i].type != DeviceMessage::read) continue;
      auto said = read(*unpack_read(together[i].body));
      if (!said) return said.error();
      payloads[i] = std::move(*said);
    }
    return payloads;
  }
  Result<void> load_in_judge(const NamedImage&) override { return {}; }
  Result<std::variant<DeviceRun, RunnerFault>> run(const NamedImage& image, const RunOrder& order,
                                                   double) override {
    const Phase phase("runner", PhaseCpu::of_phase_around);
    ++orders;
    if (image.name != loaded_) {
      ++orders;
      (void)runner_.ask(DeviceMessage::load, pack(LoadOrder{image.name, image.image, image.entries,
                                                            image.parameter_bytes}));
      loaded_ = image.name;
    }
    const auto answer = unpack_run_answer(runner_.ask(DeviceMessage::run, pack(order)));
    return std::variant<DeviceRun, RunnerFault>(
        DeviceRun{*answer, order.timing.mode == VisitTiming::Mode::burst ? 1e3 : 100.0});
  }
  void settle() override {}
  int processes() const override { return 2; }
  Error distrust(const std::string& why) override { return {ErrorCode::failure, why, ""}; }
  Result<void> renew() override { return {}; }
  std::int64_t orders = 0;
  std::vector<Case> cases;  // that may be asked about

 private:
  // The controller's own values: that is all a look compares.
  Result<std::string> read(const ReadOrder& order) {
    const DeviceWork interpreting;
    std::size_t output = 0;
    while (task_->tensors[output].role != Role::out) ++output;
    const Case& what = *std::find_if(cases.begin(), cases.end(), [&](const Case& one) {
      std::string key;
      for (const auto& [axis, extent] : one.workload.sizes)
        key += fmt::format(" {}={}", axis, extent);
      key += fmt::format(" {}:{}:", one.content.seed, static_cast<int>(one.content.kind));
      return order.oracle_key.find(key) != std::string::npos;
    });
    const Slices slices = slices_of(
        task_, what, output, shape_of(task_, task_->tensors[output], what.workload)->elements);
    auto values = spot_.values(task_, output, what, slices.begins, slices.slice);
    if (!values) return values.error();
    ReadAnswer answer;
    for (const std::int64_t index : order.indices) {
      const auto at = std::find((*values)->indices.begin(), (*values)->indices.end(), index) -
                      (*values)->indices.begin();
      answer.values.push_back((*values)->values[static_cast<std::size_t>(at)]);
      answer.bits.push_back(encode(answer.values.back(), order.layout.type));
      answer.sums.push_back((*values)->sums[static_cast<std::size_t>(at)]);
    }
    return pack(answer);
  }

  const TaskRef& task_;
  SpotCheck& spot_;
  DeviceHello hello_;
  Answering judge_, runner_;
  int leased_ = 0;
  std::string loaded_;
};

// One candidate as CudaBackend and the pipe work on it.
Result<void> try_out(const TaskRef& task, CudaTrials& trials, AnsweringDevice& answering,
                     const CompiledKernel& kernel, const DeviceSpec& device) {
  {
    const Phase phase("proof");
    const std::vector<Case> cases = [&] {
      const Phase inner("battery");
      return battery(task, kernel.source, device, ProofLevel::candidate, 1, true);
    }();
    answering.cases = cases;
    auto proved = trials.prove(task, kernel, cases);
    if (!proved) return proved.error();
    const TrialReport report{.cases = std::move(*proved)};
    const Phase concluding("conclude");
    if (auto concluded = conclude(task, kernel, ProofLevel::candidate, report);
        concluded.is_error())
      return concluded.error();
  }
  const Phase phase("timing");
  const Subject contestants[] = {{Subject::Kind::candidate, "candidate", &kernel}};
  answering.cases = CudaTrials::cases_of(task->time_shapes.front(), {});
  auto timed = trials.measure(task, task->time_shapes.front(), contestants, MeasureOptions{});
  if (!timed) return timed.error();
  if (!timed->front().measurement)
    return Error{ErrorCode::failure, timed->front().measurement.rejected().message, ""};
  const Phase judging("verdict");
  auto verdict = judge(task, task->time_shapes.front(), device, *timed->front().measurement);
  return verdict ? Result<void>() : verdict.error();
}

Result<std::vector<CompiledKernel>> kernels_of(const TaskRef& task, Backend& backend, int count) {
  auto components = find_components(task, backend.device(), {}, {}, {}, false);
  if (!components) return components.error();
  SearchOptions options;
  options.max_evaluations = options.lookahead = count;
  Search search(options, *components->space, *components->strategist, components->zone, 1e5,
                components->knowledge);
  std::vector<CompiledKernel> kernels;
  for (int i = 0; i < count; ++i) {
    auto asked = search.ask(1);
    if (!asked) return asked.error();
    const auto* more = std::get_if<std::vector<Proposal>>(&*asked);
    if (more == nullptr) break;
    WriterBrief brief;
    brief.task = task;
    brief.strategy = &more->front().strategy;
    brief.device = &backend.device();
    auto source = components->writer->write(brief);
    if (!source) continue;
    auto kernel = backend.compile(*source);
    if (kernel.is_error()) return kernel.error();
    if (kernel) kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

Result<void> cost_of(const TaskRef& task, Backend& backend, CompilePool& pool, int count,
                     int rounds) {
  auto kernels = kernels_of(task, backend, count);
  if (!kernels) return kernels.error();
  CudaPrograms programs(pool, backend.device().arch);
  SpotCheck spot(pool, backend.device().arch);
  AnsweringDevice device(task, spot);
  CudaTrials trials(device, programs, spot, backend.device(), 10);
  if (auto first = try_out(task, trials, device, kernels->front(), backend.device()); !first)
    return first;  // compiles references
  device.orders = 0;
  CpuSpent spent;
  for (const CompiledKernel& kernel : *kernels) {
    Result<void> done{};
    std::thread([&] {
      stay_on_core(0);
      const PhaseLog log;
      for (int round = 0; round < rounds && done; ++round)
        done = try_out(task, trials, device, kernel, backend.device());
      spent.add(log.cpu());
    }).join();
    if (!done) return done;
  }
  const double candidates = static_cast<double>(kernels->size()) * rounds;
  std::printf("%s: %.3f ms a candidate, %.0f orders\n", task->name.c_str(),
              1e3 * spent.own_seconds() / candidates,
              static_cast<double>(device.orders) / candidates);
  for (const auto& [path, seconds] : spent.own)
    std::printf("  %8.3f ms  %s\n", 1e3 * seconds / candidates, path.c_str());
  return {};
}

}  // namespace

int main(int count, char** words) {
  const int candidates = count > 1 ? std::atoi(words[1]) : 20;
  std::vector<std::string> sizes = {"m=16384", "n=16384", "k=16384", "dtype=bf16"};
  const int rounds = count > 2 ? std::atoi(words[2]) : 1;
  if (count > 3) sizes.assign(words + 3, words + count);
  auto backend = open_backend("virtual:h200", {});
  auto pool = CompilePool::open({});
  auto task = gemm_of(sizes);
  if (!backend || !pool || !task) return 2;
  const auto done = cost_of(TaskRef(*task), **backend, **pool, candidates, rounds);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
