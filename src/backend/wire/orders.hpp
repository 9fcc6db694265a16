// Orders of the controller to the judge and the runner of one device. Orders hold plain numbers
// only; both ends are one build.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/counts.hpp>
#include <cupilot/parts/warp_cycles.hpp>

#include "backend/wire/body.hpp"
#include "trusted/bound.cuh"
#include "trusted/content.cuh"

namespace cupilot {

enum class DeviceMessage : std::uint32_t {
  hello = 1,
  answer,
  load,
  make_slot,
  map_slot,
  drop_slots,
  prepare,
  check,
  run,
  library,
  probe,
  repeat,
  read,
  conditions,
  count,
  sustain,
  several,
  give
};

// The way in which the judge shares memory with the runner. own: they are one process, and every
// buffer can be written.
enum class Sharing : std::uint8_t { vmm, ipc, own };

// The first frame of a device process.
struct DeviceHello {
  bool usable = false;
  bool no_device = false;  // rather than a broken one
  std::string reason;
  std::string name, uuid, library;
  std::string cudnn;  // its file as this process found it; "": it did not
  int driver_version = 0, devices = 0;
  int compute_major = 0, compute_minor = 0, sms = 0, clock_khz = 0, memory_clock_khz = 0,
      bus_bits = 0;
  int shared_optin = 0, shared_per_sm = 0, shared_reserved = 0, registers_per_sm = 0,
      threads_per_sm = 0, blocks_per_sm = 0;
  int threads_per_block = 0, l2_bytes = 0;
  std::int64_t memory_bytes = 0, memory_free = 0;
  int pageable_access = 0, host_page_tables = 0, run_time_limit = 0;
  Sharing sharing = Sharing::vmm;
  std::string sharing_note;
  std::string confinement;            // confinement of this process, in words
  bool confinement_to_blame = false;  // unusable, and less confinement may help
};
std::string pack(const DeviceHello& hello);
std::optional<DeviceHello> unpack_device_hello(std::string_view body);

// Bytes [offset, offset + bytes) of a shared slot.
struct Region {
  int slot = -1;
  std::int64_t offset = 0, bytes = 0;
};

// The start of every answer: a failed one holds nothing else.
struct DeviceAnswer {
  enum class State : std::uint8_t {
    done,
    refused,
    sticky
  };  // refused: the process is still good; sticky: it must be replaced
  State state = State::done;
  int code = 0;  // CUresult
  std::string what;
  std::string payload;
};
std::string pack(const DeviceAnswer& answer);
std::optional<DeviceAnswer> unpack_device_answer(std::string_view body);

// Orders carried out one after another and answered together: by the payload of each, or as the
// first that fails.
struct DeviceOrder {
  DeviceMessage type = DeviceMessage::probe;
  std::string body;
};
struct SeveralOrder {
  std::vector<DeviceOrder> orders;
};
std::string pack(const SeveralOrder& order);
std::optional<SeveralOrder> unpack_several(std::string_view body);
struct SeveralAnswer {
  std::vector<std::string> payloads;
};
std::string pack(const SeveralAnswer& answer);
std::optional<SeveralAnswer> unpack_several_answer(std::string_view body);

struct LoadOrder {
  std::string name;
  std::vector<std::uint8_t> image;
  std::vector<std::string> entries;               // that must be there
  std::vector<std::vector<int>> parameter_bytes;  // per entry; empty: not checked
};
std::string pack(const LoadOrder& order);
std::optional<LoadOrder> unpack_load(std::string_view body);

// To the runner for a slot that it maps already: the slot is mapped anew, as this order says.
struct SlotOrder {
  int slot = -1;
  std::int64_t bytes = 0;
  bool writable = false;          // by the runner
  std::vector<std::uint8_t> ipc;  // the handle, where memory is shared by IPC
};
std::string pack(const SlotOrder& order);
std::optional<SlotOrder> unpack_slot(std::string_view body);

// The bytes of a region before a run, in the order of FillState in kernels/trusted/judge.cu.
enum class FillState : int { kept, poison, zeros, large };

// A piece of bytes that recipes name by their key (FillParams::given_key); pieces come in order.
struct GiveOrder {
  std::uint64_t key = 0;
  std::int64_t total = 0, at = 0;
  std::string bytes;
};
std::string pack(const GiveOrder& order);
std::optional<GiveOrder> unpack_give(std::string_view body);

struct PrepareItem {
  bool fill = false;  // with content, by the recipe below
  FillState inside = FillState::poison;
  bool sealed = false;  // the runner cannot change it, so content that is already there need not be
                        // made again
  Region region;
  FillParams recipe{};
};

// Reference values of one output, computed once a key and kept while memory allows.
// A launch that stores a stage of a reference; the entry's last parameters in their order, buffers
// by index, -1: null.
struct WireStage {
  std::string entry;
  std::int64_t from = -1, out = -1;
  std::int64_t span = 0, parts = 1, from_parts = 0, count = 0;
};

struct OracleOrder {
  std::string key, image, entry;
  std::vector<Region> pointers;  // of the tensors that the entry takes
  std::vector<double> scalars;
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> buffers;  // bytes of each that stages are stored in
  std::vector<std::int64_t> stored;  // of each stage that may be stored: its buffer; -1: not stored
  std::vector<WireStage> stages;     // in order, before the entry
  std::vector<std::int64_t> begins;  // of slices
  std::int64_t slice = 0;            // elements each; the last may be shorter
  std::int64_t elements = 0;         // of all slices
};

struct PrepareOrder {
  std::vector<PrepareItem> items;
  std::vector<OracleOrder> oracles;
};
std::string pack(const PrepareOrder& order);
std::optional<PrepareOrder> unpack_prepare(std::string_view body);
struct PrepareAnswer {
  double reference_seconds = 0;  // spent on reference values; 0: they were there
};
std::string pack(const PrepareAnswer& answer);
std::optional<PrepareAnswer> unpack_prepare_answer(std::string_view body);

struct CheckItem {
  Region region;
  FillParams layout{};
  BoundParams bound{};
  bool scan_poison = true;
  FillState poison = FillState::poison;
  bool hash = false;         // of its elements as stored
  std::int64_t compare = 0;  // elements drawn; 0: all that the oracle holds
  std::uint64_t draw = 0;    // key of the draw
  Region extreme;            // index_of
  FillParams extreme_layout{};
};

struct CheckOrder {
  std::vector<CheckItem> outputs;
  std::vector<std::string> oracle_keys;  // one an output
  std::vector<Region> guards;            // whose slots' slack must be as it was
  std::vector<Region> zeros;             // that must be zero
  std::vector<PrepareItem>
      unchanged;  // inputs to compare with their recipe, where memory could not be sealed
};
std::string pack(const CheckOrder& order);
std::optional<CheckOrder> unpack_check(std::string_view body);

struct CheckedOutput {
  std::int64_t compared = 0, failed = 0, poisoned = 0, worst_index = -1;
  double worst_ratio = 0, got = 0, want = 0, bound = 0;
  std::int64_t one_term = 0, one_term_inexact = 0;
  double one_term_error = 0;
  std::int64_t padding_changed = 0;  // elements of storage that no element of a strided output owns
};
struct CheckedGuard {
  std::int64_t changed = 0, first = 0;  // first: bytes from the region's start, negative before it
};
struct CheckAnswer {
  std::vector<CheckedOutput> outputs;
  std::vector<CheckedGuard> guards;
  std::vector<std::int64_t> nonzero, changed;
  std::vector<std::string> hashes{};  // one an output, "" where none was asked for
};
std::string pack(const CheckAnswer& answer);
std::optional<CheckAnswer> unpack_check_answer(std::string_view body);

// One launch with its arguments: a region's address, a tensor map, the handle of a texture, or
// bytes in which fields, which have none themselves, stand at their places.
struct WireArgument {
  enum class Kind : std::uint8_t { region, map, bytes, texture };
  Kind kind = Kind::bytes;
  Region region;
  int map = 0;  // or texture, of the order
  std::vector<std::uint8_t> bytes;
  int at = 0;  // of a field
  std::vector<WireArgument> fields;
};
struct WireMap {
  Region region;
  int type = 0, swizzle = 0;  // type: DType
  std::vector<std::int64_t> dims, pitch, box;
};
// As ResolvedTexture; the numbers of its enums.
struct WireTexture {
  Region region;
  bool surface = false, linear = false, normalized = false, normalized_read = false;
  int memory = 0, type = 0, channels = 1, address = 0, rank = 1;
  std::int64_t sides[3] = {1, 1, 1};
  std::int64_t layers = 0, pitch = 0;
};
struct WireLaunch {
  std::string name, entry;
  std::int64_t grid[3] = {1, 1, 1};
  int block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  std::int64_t shared = 0;
  bool cooperative = false;
  std::vector<WireArgument> args;
  int step = -1;  // of the order's: a library computes it in the entry's place; -1: a kernel
};

// Selects the runs of a visit's launches. once: untimed, waiting after each. timed: `replays` times
// between events, everything that a launch may leave behind scrubbed before each. burst: `replays`
// times back to back, for the host's clock; 0 takes as long as the same order without its launches.
struct VisitTiming {
  enum class Mode : std::uint8_t { once, timed, burst };
  Mode mode = Mode::once;
  int replays = 0;
  bool cold = true;
};

// A library product, column-major as cuBLASLt has it: D(rows x columns) = act(alpha op(A) op(B) +
// beta C + bias).
struct LibraryOrder {
  int type_a = 0, type_b = 0, type_c = 0, type_d = 0;  // DType
  // Sums in fp32; operands rounded to tf32; 8-bit operands with all of a sum in the tensor core.
  enum Compute { full, tf32, fast };
  int compute = full;
  bool trans_a = false, trans_b = false;
  enum Epilogue { plain, relu, gelu };  // of the product with its bias; gelu by tanh
  int epilogue = plain;
  std::int64_t rows = 0, columns = 0, depth = 0, batch = 1;
  std::int64_t ld_a = 0, ld_b = 0, ld_d = 0, stride_a = 0, stride_b = 0, stride_d = 0;
  double alpha = 1, beta = 0;
  Region a, b, c, d, bias;  // bias.slot < 0: none
  // Factors of A and B: one each, or one a row of our A and 128x128 block of our B, each 128 of K.
  enum Scale { unscaled, scaled_whole, scaled_blocks };
  int scale = unscaled;
  Region scale_a, scale_b;
};

// A library convolution, dense, as ConvolutionStep says: y = convolution of x + bias.
struct ConvolutionOrder {
  int type = 0;                      // DType of all operands
  int compute = LibraryOrder::full;  // or tf32
  bool transposed = false;
  std::int64_t batch = 1, channels = 1, outputs = 1, groups = 1;
  std::int64_t size[3] = {1, 1, 1}, window[3] = {1, 1, 1}, places[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  Region x, weight, y, bias;  // bias.slot < 0: none
};

// A product that cuBLASLt computes, or a convolution that cuDNN does.
struct StepOrder {
  enum Library { cublaslt, cudnn };
  int library = cublaslt;
  LibraryOrder product;
  ConvolutionOrder convolution;
  VisitTiming timing;
};

struct RunOrder {
  std::string image;
  std::vector<WireMap> maps;
  std::vector<WireTexture> textures;
  std::vector<WireLaunch> launches;
  std::vector<StepOrder> steps;  // of the launches that are steps of a library
  std::vector<Region> zeroed;    // inside the timed region
  std::vector<Region> poison;    // before each replay after the first: outputs and scratch
  VisitTiming timing;
};
std::string pack(const RunOrder& order);
std::optional<RunOrder> unpack_run(std::string_view body);

struct RunAnswer {
  std::vector<double> event_us;  // per replay of a timed visit
  double wall_us = 0;            // host clock around all of it
  bool apart = false;            // launches went one after another: no graph could be captured
};
std::string pack(const RunAnswer& answer);
std::optional<RunAnswer> unpack_run_answer(std::string_view body);

// Launches to be counted, a range each; what the region clears counts with the first. The order's
// timing is not looked at.
struct CountOrder {
  RunOrder run;
  std::uint64_t counters = 0;  // a CounterMask
};
std::string pack(const CountOrder& order);
std::optional<CountOrder> unpack_count(std::string_view body);

struct CountedLaunch {
  std::array<double, counter_count> values{};  // by Counter
  std::uint64_t known = 0;  // which of them the chip has a metric for, a CounterMask
  WarpCycles warps{};
  double us = 0;
};
struct CountAnswer {
  std::string chip;
  std::uint64_t passes = 0;
  double seconds = 0;  // that it all took
  std::vector<CountedLaunch> launches;
};
std::string pack(const CountAnswer& answer);
std::optional<CountAnswer> unpack_count_answer(std::string_view body);

// The code of a refusal that says that counters cannot be read, rather than something of the
// kernel.
inline constexpr int no_counters = -1;

// One trusted kernel of kernels/trusted/peaks.cu, run back to back for a time: entry(memory, bytes,
// rounds).
struct SustainOrder {
  std::string image,
      entry;               // entry "": a copy by the driver, of half the memory onto the other half
  std::int64_t bytes = 0;  // of scratch memory, filled with random bits
  // Bytes of it that a launch is given, of `bytes` a whole number of times: the next ones each
  // time, and all of them equally often in a repeat. 0: all at once.
  std::int64_t window = 0;
  std::int64_t rounds = 1;  // repeats of the kernel's work within one launch
  int blocks = 0, threads = 0, shared = 0;
  int repeats = 5;
  double seconds = 0.1, warm_seconds = 0.3;  // a repeat, and before the first, about
};
std::string pack(const SustainOrder& order);
std::optional<SustainOrder> unpack_sustain(std::string_view body);

struct SustainAnswer {
  std::vector<double> launch_us;  // mean over the launches of a repeat, between events
};
std::string pack(const SustainAnswer& answer);
std::optional<SustainAnswer> unpack_sustain_answer(std::string_view body);

// The answer of a healthy process to `probe`: the value of probe_value(), and the times of the
// known kernel and of an empty one.
struct ProbeAnswer {
  std::uint64_t value = 0;
  double known_us = 0, empty_us = 0;  // least of several launches between events
};
std::string pack(const ProbeAnswer& answer);
std::optional<ProbeAnswer> unpack_probe_answer(std::string_view body);
// The known kernel's answer, computed here.
std::uint64_t probe_value();
inline constexpr std::int64_t probe_threads = 1 << 16;
inline constexpr int probe_rounds = 48;

// Compares outputs with those of the first run by bits, then makes ready for the next.
struct RepeatOrder {
  struct Output {
    Region region;
    FillParams layout{};
  };
  bool first = false;  // these outputs are what later ones are compared with
  std::vector<Output> outputs;
  std::vector<PrepareItem> items;  // done afterwards
};
std::string pack(const RepeatOrder& order);
std::optional<RepeatOrder> unpack_repeat(std::string_view body);
struct RepeatAnswer {
  std::vector<std::int64_t>
      differing;  // per output: elements whose bits differed in any repeat so far
};
std::string pack(const RepeatAnswer& answer);
std::optional<RepeatAnswer> unpack_repeat_answer(std::string_view body);

// Single elements of an output as stored, and what the reference values kept under `oracle_key` say
// at `places`.
struct ReadOrder {
  Region region;
  FillParams layout{};
  std::string oracle_key;
  std::vector<std::int64_t> indices;  // of the output
  std::vector<std::int64_t> places;   // of the oracle's arrays, one an index
};
std::string pack(const ReadOrder& order);
std::optional<ReadOrder> unpack_read(std::string_view body);
struct ReadAnswer {
  std::vector<std::uint64_t> bits;
  std::vector<double> values, sums;
};
std::string pack(const ReadAnswer& answer);
std::optional<ReadAnswer> unpack_read_answer(std::string_view body);

// The card's present state by the management library.
struct CardConditions {
  std::string note;  // why nothing is known; "" when it is
  int sm_mhz = 0, memory_mhz = 0, celsius = 0, milliwatts = 0;
  std::uint64_t throttle = 0;    // reasons, as NVML numbers them
  std::vector<int> processes{};  // that compute on the card, as the driver numbers them
};
std::string pack(const CardConditions& conditions);
std::optional<CardConditions> unpack_conditions(std::string_view body);

std::string pack(const StepOrder& order, const std::vector<Region>& poison);
struct LibraryVisit {
  StepOrder order;
  std::vector<Region> poison;
};
std::optional<LibraryVisit> unpack_library(std::string_view body);

}  // namespace cupilot
