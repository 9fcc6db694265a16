#include "backend/cuda/peaks.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "backend/cuda/clock.hpp"
#include "backend/cuda/library.hpp"
#include "base/embedded.hpp"
#include "base/median.hpp"

namespace cupilot {

std::span<const EmbeddedFile>
peaks_files();  // kernels/trusted/peaks.cu and what stands before it, compiled in

namespace {

constexpr const char* image_name = "peaks";
// Each way is visited twice, other ways between, so that the spread is that of the card and not of
// a moment.
constexpr int visits = 2, repeats = 3;
constexpr std::int64_t far_bytes = 4ll << 30, near_bytes = 24ll << 20;  // far beyond L2; within it
// Within each half of L2, a power of two. How fast it is read differs by 3 % from place to place of
// memory: all of them are.
constexpr std::int64_t l2_window = 16ll << 20;
// The length of a repeat, and of warming before the first.
struct Pace {
  double seconds, warm;
};
constexpr Pace memory_pace = {0.05, 0.1}, rate_pace = {0.25, 0.5};
// At its power limit a card's rate falls by up to a tenth after 0.8 s; from 1.1 s on it swings by 1
// to 4 % once a second, so that a repeat is a whole swing.
constexpr Pace limited_pace = {1.0, 1.1};

// Returns how much one launch moves or computes.
using Amount = double (*)(const SustainOrder&);
double bytes_read(const SustainOrder& o) {
  return static_cast<double>(o.bytes) * static_cast<double>(o.rounds);
}
double threads_of(const SustainOrder& o) {
  return static_cast<double>(o.blocks) * o.threads * static_cast<double>(o.rounds);
}
// Eight 16-byte loads of every thread, from L2 or from shared memory.
double loaded_bytes(const SustainOrder& o) { return threads_of(o) * 8 * 16; }
double plain_operations(const SustainOrder& o) { return threads_of(o) * 16 * 8 * 2; }
// A warp's eight products of 16 x 8 results, K bytes of an operand's line apart.
template <int K>
double mma_operations(const SustainOrder& o) {
  return threads_of(o) / 32 * 8 * 2.0 * 16 * 8 * K;
}
// A warpgroup's four products of 64 x 256 results.
template <int K>
double wgmma_operations(const SustainOrder& o) {
  return threads_of(o) / 128 * 4 * 2.0 * 64 * 256 * K;
}

struct Way {
  const char* ceiling;
  const char* unit;
  const char* entry;  // "": the driver's copy
  const char* how;
  Amount amount;
  std::int64_t bytes, rounds;
  int blocks_per_sm, threads;
  Pace pace;
  bool hopper = false;      // wgmma: sm_90a, a block with the whole shared memory
  std::int64_t window = 0;  // SustainOrder's
};

constexpr const char* around_l1 =
    "16 MiB read a thousand times by all, around L1, anywhere in 4 GiB";

// Several ways to one ceiling: the fastest stands.
constexpr Way ways[] = {
    {"dram copy", "B/s", "", "the driver's copy, half read and half written", bytes_read, far_bytes,
     1, 1, 32, memory_pace},
    {"dram copy", "B/s", "copy_memory", "a kernel of 16-byte copies", bytes_read, far_bytes, 1, 4,
     512, memory_pace},
    {"dram read", "B/s", "read_memory", "a kernel of 16-byte loads", bytes_read, far_bytes, 1, 4,
     512, memory_pace},
    {"l2 read", "B/s", "read_around", around_l1, loaded_bytes, far_bytes, 1'000, 2, 512, rate_pace,
     false, l2_window},
    {"l2 read", "B/s", "read_around", around_l1, loaded_bytes, far_bytes, 1'000, 1, 1024, rate_pace,
     false, l2_window},
    {"l2 read", "B/s", "read_around", around_l1, loaded_bytes, far_bytes, 1'000, 1, 512, rate_pace,
     false, l2_window},
    {"shared read", "B/s", "read_shared", "16-byte loads without conflicts", loaded_bytes,
     near_bytes, 20'000, 1, 1024, memory_pace},
    {"fp32", "op/s", "multiply_add_fp32", "multiply-adds of registers", plain_operations,
     near_bytes, 4'000, 2, 512, rate_pace},
    {"fp64", "op/s", "multiply_add_fp64", "multiply-adds of registers", plain_operations,
     near_bytes, 2'000, 2, 512, rate_pace},
    {"bf16 mma", "op/s", "mma_bf16", "mma.sync of registers", mma_operations<16>, near_bytes,
     20'000, 2, 512, limited_pace},
    {"tf32 mma", "op/s", "mma_tf32", "mma.sync of registers", mma_operations<8>, near_bytes, 20'000,
     2, 512, limited_pace},
    {"tf32", "op/s", "wgmma_tf32", "wgmma of shared memory", wgmma_operations<8>, far_bytes, 20'000,
     1, 256, limited_pace, true},
    {"bf16", "op/s", "wgmma_bf16", "wgmma of shared memory", wgmma_operations<16>, far_bytes,
     20'000, 1, 256, limited_pace, true},
    {"fp16", "op/s", "wgmma_fp16", "wgmma of shared memory", wgmma_operations<16>, far_bytes,
     20'000, 1, 256, limited_pace, true},
    {"fp8", "op/s", "wgmma_fp8", "wgmma of shared memory", wgmma_operations<32>, far_bytes, 20'000,
     1, 256, limited_pace, true},
};

// The faster way to a ceiling stays.
void offer(Peaks& peaks, Ceiling ceiling) {
  ceiling.value = median(ceiling.repeats);
  for (Ceiling& known : peaks.ceilings) {
    if (known.name != ceiling.name) continue;
    if (known.value < ceiling.value) known = std::move(ceiling);
    return;
  }
  peaks.ceilings.push_back(std::move(ceiling));
}

Result<NamedImage> compile_peaks(CompilePool& pool, const std::string& arch) {
  CompileRequest request;
  for (const EmbeddedFile& file : peaks_files()) request.text += std::string(file.text) + "\n";
  request.arch = arch;
  auto output = pool.compile(request);
  if (output.is_error()) return output.error();
  if (output.is_rejected()) {
    return Error{ErrorCode::failure,
                 "the kernels of the peaks do not compile: " + output.rejected().message,
                 "at " + output.rejected().where};
  }
  return NamedImage{image_name, std::move(output->cubin), {"fill_random", "idle"}, {}};
}

Result<std::vector<double>> sustain(TrialDevice& device, const SustainOrder& order) {
  auto payload = device.judge(DeviceMessage::sustain, pack(order));
  if (!payload) return payload.error();
  auto answer = unpack_sustain_answer(*payload);
  if (!answer) return Error{ErrorCode::failure, "the judge gave rates that cannot be read", ""};
  return std::move(answer->launch_us);
}

// A whole number of eight 16-byte accesses of every thread, twice over for a copy.
std::int64_t whole(std::int64_t bytes, std::int64_t threads) {
  return bytes / (threads * 256) * (threads * 256);
}

Result<void> measure_kernels(TrialDevice& device, const DeviceSpec& spec, Peaks& peaks) {
  std::vector<Ceiling> measured;
  for (int visit = 0; visit < visits; ++visit) {
    for (std::size_t i = 0; i < std::size(ways); ++i) {
      const Way& way = ways[i];
      if (visit == 0) measured.push_back({way.ceiling, way.unit, 0, {}, way.how});
      if (way.hopper && spec.arch != "sm_90a") continue;
      const int blocks = spec.sms * way.blocks_per_sm,
                shared = way.hopper ? spec.shared_per_block : 0;
      const std::int64_t bytes =
          way.amount == bytes_read ? whole(way.bytes, blocks * way.threads) : way.bytes;
      const SustainOrder order{image_name, way.entry,        bytes,        way.window,
                               way.rounds, blocks,           way.threads,  shared,
                               repeats,    way.pace.seconds, way.pace.warm};
      auto times = sustain(device, order);
      if (!times)
        return std::move(times.error()).while_doing(fmt::format("measuring {}", way.ceiling));
      for (const double us : *times) measured[i].repeats.push_back(way.amount(order) / (us * 1e-6));
    }
  }
  for (Ceiling& ceiling : measured) {
    if (!ceiling.repeats.empty()) offer(peaks, std::move(ceiling));
  }
  return {};
}

// Measures the cost of a launch: an empty kernel between two events, and one after another.
Result<void> measure_launches(TrialDevice& device, Peaks& peaks) {
  Ceiling between{"launch", "s", 0, {}, "an empty graph launch between two events"};
  for (int i = 0; i < repeats; ++i) {
    auto payload = device.judge(DeviceMessage::probe, "");
    if (!payload) return payload.error();
    const auto answer = unpack_probe_answer(*payload);
    if (!answer) return Error{ErrorCode::failure, "the judge gave a probe that cannot be read", ""};
    between.repeats.push_back(answer->empty_us * 1e-6);
  }
  offer(peaks, std::move(between));
  auto times = sustain(device, {image_name, "idle", near_bytes, 0, 1, 1, 32, 0, repeats,
                                memory_pace.seconds, memory_pace.warm});
  if (!times) return times.error();
  Ceiling after{"launch after launch", "s", 0, {}, "empty kernels back to back"};
  for (const double us : *times) after.repeats.push_back(us * 1e-6);
  offer(peaks, std::move(after));
  return {};
}

struct DenseProduct {
  const char* ceiling;
  DType type, out;
  Precision precision;
};
constexpr DenseProduct products[] = {{"tf32", DType::f32, DType::f32, Precision::tf32},
                                     {"bf16", DType::bf16, DType::bf16, Precision::bf16},
                                     {"fp16", DType::f16, DType::f16, Precision::fp16},
                                     {"fp8", DType::e4m3, DType::bf16, Precision::fp8}};
constexpr std::int64_t product_side = 8192;

// A square product D = A B'; B transposed is the layout that all types have.
Task product_task(const DenseProduct& product) {
  const auto tensor = [](const char* name, Role role, DType type) {
    return Tensor{.name = name, .role = role, .type = type, .shape = {"side", "side"}};
  };
  Task task;
  task.name = "product";
  task.axes = {{"side", AxisKind::fixed}};
  task.tensors = {tensor("A", Role::in, product.type), tensor("B", Role::in, product.type),
                  tensor("D", Role::out, product.out)};
  task.precision = product.precision;
  task.time_shapes = {{.sizes = {{"side", product_side}}}};
  return task;
}

const LibraryCall product_call{
    .a = "A", .b = "B", .d = "D", .m = "side", .n = "side", .k = "side", .trans_b = 1};

// Measures the tensor cores' rate by the library where no kernel of our own reaches it. A missing
// library is no error: the row is missing.
void measure_library(CudaTrials& trials, Peaks& peaks) {
  for (const DenseProduct& product : products) {
    if (find_ceiling(peaks, product.ceiling) != nullptr) continue;
    const TaskRef task(product_task(product));
    auto times = trials.sustain_library(task, product_call, repeats, rate_pace.seconds);
    if (!times) continue;
    Ceiling ceiling{
        product.ceiling, "op/s", 0, {}, fmt::format("cuBLASLt, {0} x {0} x {0}", product_side)};
    for (const double us : *times)
      ceiling.repeats.push_back(2.0 * product_side * product_side * product_side / (us * 1e-6));
    offer(peaks, std::move(ceiling));
  }
}

}  // namespace

Result<std::vector<double>> CudaTrials::sustain_library(const TaskRef& task,
                                                        const LibraryCall& call, int times,
                                                        double seconds) {
  Case what;
  what.workload = task->time_shapes.front();
  const auto placement = place(task, what, Fence::end);
  if (!placement) return placement.error();
  const Trial trial{task, what, *placement, nullptr};
  auto items = initialising(trial, FillState::poison);
  if (!items) return items.error();
  if (auto prepared =
          device_.judge(DeviceMessage::prepare, pack(PrepareOrder{std::move(*items), {}}));
      !prepared)
    return prepared.error();
  auto order = library_order(&call, task, what.workload, placement->tensors);
  if (order.is_error()) return order.error();
  if (order.is_rejected()) return Error{ErrorCode::usage, order.rejected().message, ""};
  StepOrder step{.product = std::move(*order)};
  const auto burst = [&](int launches) -> Result<double> {
    step.timing = {VisitTiming::Mode::burst, launches, false};
    auto payload = device_.judge(DeviceMessage::library, pack(step, {}));
    if (!payload) return payload.error();
    const auto answer = unpack_run_answer(*payload);
    if (!answer) return Error{ErrorCode::failure, "the judge gave times that cannot be read", ""};
    return answer->wall_us / launches;
  };
  const auto once = burst(20);  // chooses the algorithm too
  if (!once) return once.error();
  const int launches = std::clamp(static_cast<int>(seconds * 1e6 / *once), 1, 10'000);
  std::vector<double> all;
  for (int i = -1; i < times; ++i) {
    const auto one = burst(launches);
    if (!one) return one.error();
    if (i >= 0) all.push_back(*one);  // the first warms
  }
  return all;
}

Result<Peaks> measure_peaks(TrialDevice& device, CompilePool& pool, const DeviceSpec& spec,
                            CudaTrials& trials) {
  Peaks peaks;
  peaks.device = spec.label;
  peaks.measured = true;
  auto image = compile_peaks(pool, spec.arch);
  if (!image) return image.error();
  if (auto loaded = device.load_in_judge(*image); !loaded) return loaded.error();
  const auto card = [&] {
    auto payload = device.judge(DeviceMessage::conditions, "");
    return payload ? unpack_conditions(*payload).value_or(CardConditions{}) : CardConditions{};
  };
  const CardConditions before = card();
  if (auto done = measure_kernels(device, spec, peaks); !done) return done.error();
  if (auto done = measure_launches(device, peaks); !done) return done.error();
  measure_library(trials, peaks);
  peaks.conditions = sentences_of(before, card(), device.processes());
  return peaks;
}

}  // namespace cupilot
