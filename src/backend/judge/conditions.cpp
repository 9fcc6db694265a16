#include "backend/judge/conditions.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include "backend/worker/library.hpp"

namespace cupilot {
namespace {

// The few calls of the management library that are needed; its ABI is stable and its header not
// always installed.
struct ProcessInfo {
  unsigned pid = 0;
  unsigned long long used_bytes = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};
}  // namespace

struct CardWatch::Calls {
  int (*init)() = nullptr;
  int (*card_by_uuid)(const char*, void**) = nullptr;
  int (*clock)(void*, unsigned, unsigned*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*throttle)(void*, unsigned long long*) = nullptr;
  int (*processes)(void*, unsigned*, ProcessInfo*) = nullptr;
};

namespace {

constexpr unsigned sm_clock = 1, memory_clock = 2, die_temperature = 0;

template <class Call>
void find(void* library, Call& call, const char* name) {
  call = reinterpret_cast<Call>(dlsym(library, name));
}

}  // namespace

CardWatch::CardWatch(const DeviceHello& hello)
    : uuid_(hello.uuid), driver_(hello.library), calls_(std::make_unique<Calls>()) {}
CardWatch::~CardWatch() = default;

void CardWatch::open() {
  opened_ = true;
  Calls& calls = *calls_;
  // The one beside the driver's library fits the driver; another may be of another version.
  const std::string beside = driver_.substr(0, driver_.rfind('/') + 1) + "libnvidia-ml.so.1";
  const OpenedLibrary library =
      open_library({beside.c_str(), "libnvidia-ml.so.1"}, LibraryPlaces::loader);
  if (library.handle == nullptr) {
    note_ = "no management library: " + library.reason;
    return;
  }
  find(library.handle, calls.init, "nvmlInit_v2");
  find(library.handle, calls.card_by_uuid, "nvmlDeviceGetHandleByUUID");
  find(library.handle, calls.clock, "nvmlDeviceGetClockInfo");
  find(library.handle, calls.temperature, "nvmlDeviceGetTemperature");
  find(library.handle, calls.power, "nvmlDeviceGetPowerUsage");
  find(library.handle, calls.throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(library.handle, calls.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (calls.init == nullptr || calls.card_by_uuid == nullptr) {
    note_ = library.path + " lacks what is asked of it";
    return;
  }
  int code = calls.init();
  // The spelling with dashes after 8, 4, 4 and 4 digits is the one that the hello has.
  if (code == 0) code = calls.card_by_uuid(uuid_.c_str(), &card_);
  if (code != 0) {
    card_ = nullptr;
    note_ = fmt::format("the management library {} answers {}", library.path, code);
  }
}

CardConditions CardWatch::look() {
  if (!opened_) open();
  const Calls& calls = *calls_;
  CardConditions now;
  now.note = note_;
  if (card_ == nullptr) return now;
  unsigned value = 0;
  if (calls.clock != nullptr && calls.clock(card_, sm_clock, &value) == 0)
    now.sm_mhz = static_cast<int>(value);
  if (calls.clock != nullptr && calls.clock(card_, memory_clock, &value) == 0)
    now.memory_mhz = static_cast<int>(value);
  if (calls.temperature != nullptr && calls.temperature(card_, die_temperature, &value) == 0)
    now.celsius = static_cast<int>(value);
  if (calls.power != nullptr && calls.power(card_, &value) == 0)
    now.milliwatts = static_cast<int>(value);
  unsigned long long reasons = 0;
  if (calls.throttle != nullptr && calls.throttle(card_, &reasons) == 0) now.throttle = reasons;
  ProcessInfo running[64] = {};
  unsigned count = 64;
  if (calls.processes != nullptr && calls.processes(card_, &count, running) == 0) {
    for (unsigned i = 0; i < count && i < 64; ++i)
      now.processes.push_back(static_cast<int>(running[i].pid));
  }
  return now;
}

}  // namespace cupilot
