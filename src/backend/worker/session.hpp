// One worker process's hold on a device: context, stream, modules, mapped slots. Failures throw
// CudaFailure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/wire/orders.hpp"
#include "backend/worker/driver.hpp"

namespace cupilot {

// A shared piece of device memory as this process sees it.
struct MappedSlot {
  CUdeviceptr address = 0;  // of the slot itself
  std::int64_t bytes = 0;
  bool writable = true;
  CUdeviceptr reserved = 0;  // with unmapped room on both sides; 0: shared by IPC
  std::int64_t reserved_bytes = 0;
  CUmemGenericAllocationHandle handle = 0;
  bool has_handle = false;
  bool imported = false;  // by IPC, from the owner
};

class CudaSession {
 public:
  // Opens device `index`; the hello says what it is or why it cannot be used.
  explicit CudaSession(int index);
  // In a context that is current on the calling thread, on a stream of it; both stay the caller's.
  // Throws CudaFailure.
  CudaSession(CUcontext context, CUstream stream);
  // Memory and modules go back to the context; what the driver refuses stays. For a session in a
  // context of another's.
  void give_back();
  const DeviceHello& hello() const { return hello_; }
  CUcontext context() const { return context_; }
  CUstream stream() const { return stream_; }
  void synchronize() { check(driver().cuStreamSynchronize(stream_), "waiting for the device"); }

  // Loads an image under a name; the least recently used ones beyond 16 are unloaded.
  void load(const std::string& name, std::span<const std::uint8_t> image);
  CUfunction function(const std::string& image, const std::string& entry);
  bool loaded(const std::string& image) const { return modules_.count(image) > 0; }

  std::int64_t granularity() const { return granularity_; }
  // Creates memory to be shared; the exported descriptor is the caller's to close (-1 with IPC:
  // then `ipc` is filled).
  MappedSlot create(std::int64_t bytes, int& descriptor, std::vector<std::uint8_t>& ipc);
  MappedSlot import(const SlotOrder& order, int descriptor);
  void release(MappedSlot& slot);

  std::map<int, MappedSlot> slots;
  CUdeviceptr address(const Region& region) const;

  // A launch of a trusted kernel over `items` work items, 256 threads a block, at most 64 blocks an
  // SM.
  template <class... Arguments>
  void launch(const std::string& image, const char* entry, std::int64_t items,
              Arguments... arguments) {
    void* pointers[] = {&arguments...};
    launch_pointers(image, entry, items, pointers);
  }
  void launch_pointers(const std::string& image, const char* entry, std::int64_t items,
                       void** pointers);

 private:
  void describe_device(CUdevice device);
  void choose_sharing(CUdevice device);
  void limit_context();
  MappedSlot map(CUmemGenericAllocationHandle handle, std::int64_t bytes, bool writable);

  struct Module {
    CUmodule module = nullptr;
    std::uint64_t used = 0;
    std::map<std::string, CUfunction> functions;
  };
  DeviceHello hello_;
  int device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::int64_t granularity_ = 2 << 20;
  std::map<std::string, Module> modules_;
  std::uint64_t uses_ = 0;
};

// True if a code poisons the whole process, so that only a new one helps.
bool is_sticky(CUresult code);

}  // namespace cupilot
