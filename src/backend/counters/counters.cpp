#include "backend/counters/counters.hpp"

#include <cmath>

#include <fmt/core.h>

#include "backend/counters/cupti.hpp"
#include "backend/wire/counter_metrics.hpp"

namespace cupilot {

#ifdef CUPILOT_HAS_CUPTI
namespace {

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> out;
  for (const std::string& name : names) out.push_back(name.c_str());
  return out;
}

// CUPTI's tables of one chip: turns names into a configuration, and counter data into values.
class MetricHost {
 public:
  MetricHost(std::string chip, std::vector<std::uint8_t> available)
      : chip_(std::move(chip)), available_(std::move(available)) {
    CUPILOT_PARAMS(p, CUpti_Profiler_Host_Initialize_Params);
    p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    p.pChipName = chip_.c_str();
    p.pCounterAvailabilityImage = available_.empty() ? nullptr : available_.data();
    check(cupti().cuptiProfilerHostInitialize(&p), "opening the tables of the chip");
    object_ = p.pHostObject;
  }
  MetricHost(const MetricHost&) = delete;
  MetricHost& operator=(const MetricHost&) = delete;
  ~MetricHost() {
    CUPILOT_PARAMS(p, CUpti_Profiler_Host_Deinitialize_Params);
    p.pHostObject = object_;
    cupti().cuptiProfilerHostDeinitialize(&p);
  }

  CUptiResult add(const std::vector<std::string>& metrics) {
    std::vector<const char*> names = pointers(metrics);
    CUPILOT_PARAMS(p, CUpti_Profiler_Host_ConfigAddMetrics_Params);
    p.pHostObject = object_;
    p.ppMetricNames = names.data();
    p.numMetrics = names.size();
    return cupti().cuptiProfilerHostConfigAddMetrics(&p);
  }

  std::vector<std::uint8_t> config() {
    CUPILOT_PARAMS(size, CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = object_;
    check(cupti().cuptiProfilerHostGetConfigImageSize(&size), "sizing the configuration");
    std::vector<std::uint8_t> image(size.configImageSize);
    CUPILOT_PARAMS(p, CUpti_Profiler_Host_GetConfigImage_Params);
    p.pHostObject = object_;
    p.configImageSize = image.size();
    p.pConfigImage = image.data();
    check(cupti().cuptiProfilerHostGetConfigImage(&p), "making the configuration");
    return image;
  }

  std::vector<double> values(const std::vector<std::uint8_t>& data, std::size_t range,
                             const std::vector<std::string>& metrics) {
    std::vector<const char*> names = pointers(metrics);
    std::vector<double> out(metrics.size());
    CUPILOT_PARAMS(p, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    p.pHostObject = object_;
    p.pCounterDataImage = data.data();
    p.counterDataImageSize = data.size();
    p.rangeIndex = range;
    p.ppMetricNames = names.data();
    p.numMetrics = names.size();
    p.pMetricValues = out.data();
    check(cupti().cuptiProfilerHostEvaluateToGpuValues(&p), "reading the counters");
    return out;
  }

 private:
  // CUPTI keeps pointers to both.
  std::string chip_;
  std::vector<std::uint8_t> available_;
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

std::size_t passes_of(std::vector<std::uint8_t>& config) {
  CUPILOT_PARAMS(p, CUpti_Profiler_Host_GetNumOfPasses_Params);
  p.configImageSize = config.size();
  p.pConfigImage = config.data();
  check(cupti().cuptiProfilerHostGetNumOfPasses(&p), "planning the passes");
  return p.numOfPasses;
}

std::vector<std::uint8_t> availability(CUcontext context) {
  CUPILOT_PARAMS(p, CUpti_Profiler_GetCounterAvailability_Params);
  p.ctx = context;
  check(cupti().cuptiProfilerGetCounterAvailability(&p), "asking which counters there are");
  std::vector<std::uint8_t> image(p.counterAvailabilityImageSize);
  p.pCounterAvailabilityImage = image.data();
  check(cupti().cuptiProfilerGetCounterAvailability(&p), "asking which counters there are");
  return image;
}

void initialize() {
  CUPILOT_PARAMS(p, CUpti_Profiler_Initialize_Params);
  check(cupti().cuptiProfilerInitialize(&p), "starting the profiler");
}

// Counters chosen together, with what CUPTI points to while they are read.
struct CounterSet {
  std::vector<std::string> metrics;
  std::size_t ranges = 0, passes = 0;
  std::unique_ptr<MetricHost> host;
  std::vector<std::uint8_t> config, data;
};

}  // namespace

struct RangeCounters::State {
  std::string chip;
  std::vector<std::uint8_t> available;
  std::vector<std::unique_ptr<CounterSet>> sets;  // all that were ever chosen
  CounterSet* set = nullptr;                      // the one chosen last
  CounterSet* taken = nullptr;                    // the one that `object` reads
  CUcontext context = nullptr;
  std::unique_ptr<MetricHost> spare;  // opened ahead: reading the tables takes a tenth of a second
  CUpti_RangeProfiler_Object* object = nullptr;
  std::size_t next = 0;

  ~State() { disable(); }

  void disable() {
    if (object == nullptr) return;
    CUPILOT_PARAMS(p, CUpti_RangeProfiler_Disable_Params);
    p.pRangeProfilerObject = object;
    cupti().cuptiRangeProfilerDisable(&p);
    object = nullptr;
  }

  void enable() {
    CUPILOT_PARAMS(p, CUpti_RangeProfiler_Enable_Params);
    p.ctx = context;
    check(cupti().cuptiRangeProfilerEnable(&p), "taking the counters");
    object = p.pRangeProfilerObject;
  }

  // Takes another profiler for another set: a profiler reads for ever the set that it was first
  // made for (H200, CUPTI 13.0).
  void take_set() {
    if (taken != nullptr && taken != set) {
      disable();
      enable();
    }
    taken = set;
  }

  void make_data() {
    std::vector<const char*> names = pointers(set->metrics);
    CUPILOT_PARAMS(size, CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = object;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = set->ranges;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(set->ranges);
    check(cupti().cuptiRangeProfilerGetCounterDataSize(&size), "sizing the counter data");
    set->data.assign(size.counterDataSize, 0);
    CUPILOT_PARAMS(p, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    p.pRangeProfilerObject = object;
    p.counterDataSize = set->data.size();
    p.pCounterData = set->data.data();
    check(cupti().cuptiRangeProfilerCounterDataImageInitialize(&p), "preparing the counter data");
  }

  void configure() {
    CUPILOT_PARAMS(p, CUpti_RangeProfiler_SetConfig_Params);
    p.pRangeProfilerObject = object;
    p.configSize = set->config.size();
    p.pConfig = set->config.data();
    p.counterDataImageSize = set->data.size();
    p.pCounterDataImage = set->data.data();
    p.range = CUPTI_UserRange;
    p.replayMode = CUPTI_UserReplay;
    p.maxRangesPerPass = set->ranges;
    p.numNestingLevels = 1;
    p.minNestingLevel = 1;
    p.passIndex = 0;
    p.targetNestingLevel = 1;
    check(cupti().cuptiRangeProfilerSetConfig(&p), "setting the counters up");
  }

  // True if all passes have been made.
  bool pass(const std::function<void()>& work) {
    CUPILOT_PARAMS(start, CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = object;
    check(cupti().cuptiRangeProfilerStart(&start), "starting a pass");
    next = 0;
    work();
    CUPILOT_PARAMS(stop, CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = object;
    check(cupti().cuptiRangeProfilerStop(&stop), "ending a pass");
    return stop.isAllPassSubmitted != 0;
  }

  std::vector<std::vector<double>> read() {
    CUPILOT_PARAMS(decode, CUpti_RangeProfiler_DecodeData_Params);
    decode.pRangeProfilerObject = object;
    check(cupti().cuptiRangeProfilerDecodeData(&decode), "decoding the counters");
    CUPILOT_PARAMS(info, CUpti_RangeProfiler_GetCounterDataInfo_Params);
    info.pCounterDataImage = set->data.data();
    info.counterDataImageSize = set->data.size();
    check(cupti().cuptiRangeProfilerGetCounterDataInfo(&info), "counting the ranges");
    std::vector<std::vector<double>> out;
    for (std::size_t r = 0; r < info.numTotalRanges; ++r) {
      for (const double value : out.emplace_back(set->host->values(set->data, r, set->metrics))) {
        if (!std::isfinite(value))
          throw CuptiFailure{CUPTI_ERROR_INVALID_OPERATION, "a counter came back without a value"};
      }
    }
    return out;
  }
};

Result<RangeCounters> RangeCounters::open(CUcontext context, std::size_t index) {
  if (!cupti().reason.empty()) return lacking();
  try {
    initialize();
    auto state = std::make_unique<State>();
    state->chip = chip_of(index);
    state->available = availability(context);
    state->context = context;
    state->enable();
    return RangeCounters(std::move(state));
  } catch (const CuptiFailure& failure) {
    return error_of(failure);
  }
}

void RangeCounters::prepare() {
  if (state_->spare) return;
  try {
    state_->spare = std::make_unique<MetricHost>(state_->chip, state_->available);
  } catch (const CuptiFailure&) {
    // choose() meets it too, and says so.
  }
}

Result<void> RangeCounters::choose(std::vector<std::string> metrics, std::size_t ranges) {
  State& state = *state_;
  for (const auto& known : state.sets) {
    if (known->metrics != metrics || known->ranges != ranges) continue;
    state.set = known.get();
    return {};
  }
  try {
    auto set = std::make_unique<CounterSet>();
    set->metrics = std::move(metrics);
    set->ranges = ranges;
    set->host = state.spare ? std::move(state.spare)
                            : std::make_unique<MetricHost>(state.chip, state.available);
    check(set->host->add(set->metrics), "choosing the metrics");
    set->config = set->host->config();
    set->passes = passes_of(set->config);
    state.set = state.sets.emplace_back(std::move(set)).get();
    return {};
  } catch (const CuptiFailure& failure) {
    return error_of(failure);
  }
}

Result<std::vector<std::vector<double>>> RangeCounters::collect(const std::function<void()>& work) {
  try {
    state_->take_set();
    state_->make_data();
    state_->configure();
    while (!state_->pass(work)) {
    }
    return state_->read();
  } catch (const CuptiFailure& failure) {
    return error_of(failure);
  }
}

void RangeCounters::begin() {
  const std::string name = fmt::format("{:06}", state_->next++);
  CUPILOT_PARAMS(p, CUpti_RangeProfiler_PushRange_Params);
  p.pRangeProfilerObject = state_->object;
  p.pRangeName = name.c_str();
  check(cupti().cuptiRangeProfilerPushRange(&p), "beginning a range");
}

void RangeCounters::end() {
  CUPILOT_PARAMS(p, CUpti_RangeProfiler_PopRange_Params);
  p.pRangeProfilerObject = state_->object;
  check(cupti().cuptiRangeProfilerPopRange(&p), "ending a range");
}

std::size_t RangeCounters::passes() const {
  return state_->set != nullptr ? state_->set->passes : 0;
}

std::string chip_of(std::size_t index) {
  if (!cupti().reason.empty()) return "";
  CUPILOT_PARAMS(p, CUpti_Device_GetChipName_Params);
  p.deviceIndex = index;
  if (cupti().cuptiDeviceGetChipName(&p) != CUPTI_SUCCESS || p.pChipName == nullptr) return "";
  return p.pChipName;
}

Result<std::vector<std::string>> unknown_metrics(const std::string& chip,
                                                 const std::vector<std::string>& metrics) {
  if (!cupti().reason.empty()) return lacking();
  try {
    std::vector<std::string> unknown;
    for (const std::string& metric : metrics) {
      // One that does not know a name knows none from then on.
      if (MetricHost(chip, {}).add({metric}) != CUPTI_SUCCESS) unknown.push_back(metric);
    }
    return unknown;
  } catch (const CuptiFailure& failure) {
    return error_of(failure);
  }
}

Result<std::size_t> planned_passes(const std::string& chip,
                                   const std::vector<std::string>& metrics) {
  if (!cupti().reason.empty()) return lacking();
  try {
    MetricHost host(chip, {});
    check(host.add(metrics), "choosing the metrics");
    std::vector<std::uint8_t> config = host.config();
    return passes_of(config);
  } catch (const CuptiFailure& failure) {
    return error_of(failure);
  }
}

#else

struct RangeCounters::State {};

namespace {
Error lacking() {
  return {ErrorCode::no_device, "hardware counters: cupilot was built without CUPTI's headers", ""};
}
}  // namespace

Result<RangeCounters> RangeCounters::open(CUcontext, std::size_t) { return lacking(); }
void RangeCounters::prepare() {}
Result<void> RangeCounters::choose(std::vector<std::string>, std::size_t) { return lacking(); }
Result<std::vector<std::vector<double>>> RangeCounters::collect(const std::function<void()>&) {
  return lacking();
}
void RangeCounters::begin() {}
void RangeCounters::end() {}
std::size_t RangeCounters::passes() const { return 0; }
std::string chip_of(std::size_t) { return ""; }
Result<std::vector<std::string>> unknown_metrics(const std::string&,
                                                 const std::vector<std::string>&) {
  return lacking();
}
Result<std::size_t> planned_passes(const std::string&, const std::vector<std::string>&) {
  return lacking();
}

#endif

RangeCounters::RangeCounters(std::unique_ptr<State> state) : state_(std::move(state)) {}
RangeCounters::RangeCounters(RangeCounters&&) noexcept = default;
RangeCounters::~RangeCounters() = default;

}  // namespace cupilot
