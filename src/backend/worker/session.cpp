#include "backend/worker/session.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>
#include <unistd.h>

namespace cupilot {
namespace {

constexpr std::size_t most_modules = 16;

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  driver().cuDeviceGetAttribute(&value, which, device);
  return value;
}

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

CUmemAllocationProp shared_memory_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

std::int64_t rounded(std::int64_t bytes, std::int64_t to) {
  return (std::max<std::int64_t>(bytes, 1) + to - 1) / to * to;
}

}  // namespace

bool is_sticky(CUresult code) {
  switch (static_cast<int>(code)) {
    case 0:
    case 1:    // invalid value
    case 2:    // out of memory
    case 98:   // invalid device function (runtime), kept for completeness of the per-call ones
    case 200:  // invalid image
    case 209:  // no binary for this device
    case 218:  // invalid PTX
    case 500:  // not found
    case 701:  // launch out of resources
    case 720:  // cooperative launch too large
    case 801:  // not supported
    case 912:  // invalid cluster size
      return false;
    default:
      return true;
  }
}

CudaSession::CudaSession(int index) {
  const CudaDriver& calls = driver();
  hello_.library = calls.path;
  if (!calls.reason.empty()) {
    hello_.no_device = true;
    hello_.reason = calls.reason;
    return;
  }
  try {
    if (const CUresult code = calls.cuInit(0); code != CUDA_SUCCESS) {
      hello_.no_device = true;
      hello_.reason = "cuInit: " + calls.describe(code);
      return;
    }
    check(calls.cuDriverGetVersion(&hello_.driver_version), "driver version");
    check(calls.cuDeviceGetCount(&hello_.devices), "counting devices");
    if (index >= hello_.devices) {
      hello_.no_device = true;
      hello_.reason = fmt::format("there are {} CUDA devices", hello_.devices);
      return;
    }
    check(calls.cuDeviceGet(&device_, index), "opening the device");
    check(calls.cuDevicePrimaryCtxRetain(&context_, device_), "making a context");
    check(calls.cuCtxSetCurrent(context_), "making a context current");
    check(calls.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "making a stream");
    describe_device(device_);
    choose_sharing(device_);
    limit_context();
    hello_.usable = true;
  } catch (const CudaFailure& failure) {
    hello_.reason = fmt::format("{}: {}", failure.what, calls.describe(failure.code));
  }
}

CudaSession::CudaSession(CUcontext context, CUstream stream) : context_(context), stream_(stream) {
  const CudaDriver& calls = driver();
  hello_.library = calls.path;
  check(calls.cuDriverGetVersion(&hello_.driver_version), "driver version");
  check(calls.cuCtxGetDevice(&device_), "asking for the context's device");
  describe_device(device_);
  hello_.sharing = Sharing::own;
  hello_.usable = true;
}

void CudaSession::give_back() {
  const auto attempt = [](const auto& call) {
    try {
      call();
    } catch (const CudaFailure&) {  // the context is lost: nothing in it can be given back
    }
  };
  for (auto& entry : slots) attempt([&] { release(entry.second); });
  slots.clear();
  for (const auto& entry : modules_) driver().cuModuleUnload(entry.second.module);
  modules_.clear();
}

void CudaSession::describe_device(CUdevice device) {
  const CudaDriver& calls = driver();
  char name[256] = {};
  CUuuid uuid{};
  std::size_t total = 0, available = 0;
  check(calls.cuDeviceGetName(name, sizeof name - 1, device), "device name");
  check(calls.cuDeviceGetUuid(&uuid, device), "device uuid");
  check(calls.cuDeviceTotalMem(&total, device), "device memory");
  check(calls.cuMemGetInfo(&available, &total), "free memory");
  hello_.name = name;
  hello_.uuid = uuid_text(uuid);
  hello_.memory_bytes = static_cast<std::int64_t>(total);
  hello_.memory_free = static_cast<std::int64_t>(available);
  hello_.compute_major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  hello_.compute_minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  hello_.sms = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  hello_.clock_khz = attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  hello_.memory_clock_khz = attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  hello_.bus_bits = attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  hello_.shared_optin = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  hello_.shared_per_sm =
      attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  hello_.shared_reserved = attribute(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  hello_.registers_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  hello_.threads_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  hello_.blocks_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  hello_.threads_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  hello_.l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  hello_.pageable_access = attribute(device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  hello_.host_page_tables =
      attribute(device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
  hello_.run_time_limit = attribute(device, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT);
}

void CudaSession::choose_sharing(CUdevice device) {
  const CudaDriver& calls = driver();
  const CUmemAllocationProp properties = shared_memory_of(device);
  std::size_t granularity = 0;
  CUresult code = calls.cuMemGetAllocationGranularity(&granularity, &properties,
                                                      CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  const char* step = "granularity";
  if (code == CUDA_SUCCESS) {
    granularity_ = static_cast<std::int64_t>(granularity);
    CUmemGenericAllocationHandle handle = 0;
    step = "cuMemCreate";
    code = calls.cuMemCreate(&handle, granularity, &properties, 0);
    if (code == CUDA_SUCCESS) {
      int descriptor = -1;
      step = "export";
      code = calls.cuMemExportToShareableHandle(&descriptor, handle,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
      if (code == CUDA_SUCCESS) close(descriptor);
      calls.cuMemRelease(handle);
    }
  }
  if (code == CUDA_SUCCESS) return;
  hello_.sharing = Sharing::ipc;
  hello_.sharing_note = fmt::format("virtual memory handles: {}: {}", step, calls.describe(code));
}

// No device heap and no printf buffer worth the name; no part of L2 set aside for lines that are
// asked to stay.
void CudaSession::limit_context() {
  if (driver().cuCtxSetLimit == nullptr) return;
  constexpr std::pair<CUlimit, std::size_t> limits[] = {{CU_LIMIT_MALLOC_HEAP_SIZE, 4096},
                                                        {CU_LIMIT_PRINTF_FIFO_SIZE, 4096},
                                                        {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
  for (const auto& [limit, value] : limits)
    driver().cuCtxSetLimit(limit, value);  // a driver may round or refuse
}

void CudaSession::load(const std::string& name, std::span<const std::uint8_t> image) {
  if (loaded(name)) return;
  if (modules_.size() >= most_modules) {
    const auto oldest = std::min_element(
        modules_.begin(), modules_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    check(driver().cuModuleUnload(oldest->second.module), "unloading a module");
    modules_.erase(oldest);
  }
  Module module;
  check(driver().cuModuleLoadDataEx(&module.module, image.data(), 0, nullptr, nullptr),
        "loading the image");
  module.used = ++uses_;
  modules_[name] = module;
}

CUfunction CudaSession::function(const std::string& image, const std::string& entry) {
  const auto found = modules_.find(image);
  if (found == modules_.end()) throw CudaFailure{CUDA_ERROR_NOT_FOUND, "no image " + image};
  found->second.used = ++uses_;
  CUfunction& function = found->second.functions[entry];
  if (function == nullptr) {
    const CUresult code =
        driver().cuModuleGetFunction(&function, found->second.module, entry.c_str());
    if (code != CUDA_SUCCESS) throw CudaFailure{code, "finding the entry " + entry};
  }
  return function;
}

MappedSlot CudaSession::map(CUmemGenericAllocationHandle handle, std::int64_t bytes,
                            bool writable) {
  const CudaDriver& calls = driver();
  MappedSlot slot;
  slot.bytes = bytes;
  slot.writable = writable;
  slot.handle = handle;
  slot.has_handle = true;
  slot.reserved_bytes = bytes + 2 * granularity_;
  check(calls.cuMemAddressReserve(&slot.reserved, static_cast<std::size_t>(slot.reserved_bytes), 0,
                                  0, 0),
        "reserving addresses");
  slot.address = slot.reserved + static_cast<CUdeviceptr>(granularity_);
  check(calls.cuMemMap(slot.address, static_cast<std::size_t>(bytes), 0, handle, 0),
        "mapping memory");
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device_;
  access.flags = writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
  check(calls.cuMemSetAccess(slot.address, static_cast<std::size_t>(bytes), &access, 1),
        "setting access");
  return slot;
}

MappedSlot CudaSession::create(std::int64_t wanted, int& descriptor,
                               std::vector<std::uint8_t>& ipc) {
  const CudaDriver& calls = driver();
  const std::int64_t bytes = rounded(wanted, granularity_);
  descriptor = -1;
  if (hello_.sharing != Sharing::vmm) {
    MappedSlot slot;
    slot.bytes = bytes;
    check(calls.cuMemAlloc(&slot.address, static_cast<std::size_t>(bytes)), "allocating memory");
    if (hello_.sharing == Sharing::own) return slot;
    CUipcMemHandle handle{};
    check(calls.cuIpcGetMemHandle(&handle, slot.address), "sharing memory by IPC");
    ipc.resize(sizeof handle);
    std::memcpy(ipc.data(), &handle, sizeof handle);
    return slot;
  }
  const CUmemAllocationProp properties = shared_memory_of(device_);
  CUmemGenericAllocationHandle handle = 0;
  check(calls.cuMemCreate(&handle, static_cast<std::size_t>(bytes), &properties, 0),
        "allocating memory");
  MappedSlot slot = map(handle, bytes, true);
  check(calls.cuMemExportToShareableHandle(&descriptor, handle,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "exporting memory");
  return slot;
}

MappedSlot CudaSession::import(const SlotOrder& order, int descriptor) {
  const CudaDriver& calls = driver();
  if (!order.ipc.empty()) {
    CUipcMemHandle handle{};
    if (order.ipc.size() != sizeof handle)
      throw CudaFailure{CUDA_ERROR_INVALID_VALUE, "an IPC handle of the wrong size"};
    std::memcpy(&handle, order.ipc.data(), sizeof handle);
    MappedSlot slot;
    slot.bytes = order.bytes;
    check(calls.cuIpcOpenMemHandle(&slot.address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          "opening shared memory by IPC");
    slot.imported = true;
    return slot;
  }
  CUmemGenericAllocationHandle handle = 0;
  void* const descriptor_value = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  check(calls.cuMemImportFromShareableHandle(&handle, descriptor_value,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "importing memory");
  return map(handle, order.bytes, order.writable);
}

void CudaSession::release(MappedSlot& slot) {
  const CudaDriver& calls = driver();
  if (slot.reserved != 0) {
    check(calls.cuMemUnmap(slot.address, static_cast<std::size_t>(slot.bytes)), "unmapping memory");
    check(calls.cuMemAddressFree(slot.reserved, static_cast<std::size_t>(slot.reserved_bytes)),
          "freeing addresses");
  }
  if (slot.has_handle) {
    check(calls.cuMemRelease(slot.handle), "releasing memory");
  } else if (slot.imported) {
    check(calls.cuIpcCloseMemHandle(slot.address), "closing shared memory");
  } else if (slot.address != 0) {
    check(calls.cuMemFree(slot.address), "freeing memory");
  }
  slot = {};
}

CUdeviceptr CudaSession::address(const Region& region) const {
  if (region.slot < 0) return 0;
  const auto found = slots.find(region.slot);
  if (found == slots.end() || region.offset < 0 ||
      region.offset + region.bytes > found->second.bytes) {
    throw CudaFailure{CUDA_ERROR_INVALID_VALUE,
                      fmt::format("a region outside slot {}", region.slot)};
  }
  return found->second.address + static_cast<CUdeviceptr>(region.offset);
}

void CudaSession::launch_pointers(const std::string& image, const char* entry, std::int64_t items,
                                  void** pointers) {
  if (items <= 0) return;
  CUlaunchConfig config{};
  const std::int64_t most = static_cast<std::int64_t>(hello_.sms) * 64;
  config.gridDimX = static_cast<unsigned>(std::clamp<std::int64_t>((items + 255) / 256, 1, most));
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = items == 1 ? 1 : 256;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream_;
  check(driver().cuLaunchKernelEx(&config, function(image, entry), pointers, nullptr), entry);
}

}  // namespace cupilot
