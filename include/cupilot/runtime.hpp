// Launches the kernels of a dispatcher header that `cupilot wisdom FILE --dispatcher DIR` wrote, in
// the caller's stream. This header and runtime/ stand alone: C++17, nothing else of cupilot, no
// CUDA toolkit; libcuda is opened at run time. A Dispatcher serves one stream at a time, since its
// kernels share their workspace; use one per stream. Workspace is allocated at the first launch of
// a shape and kept. No function throws but std::bad_alloc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/runtime/driver_api.hpp>
#include <cupilot/runtime/table.hpp>

namespace cupilot::runtime {
inline namespace CUPILOT_RUNTIME_VERSION {

class Dispatcher {
 public:
  // Nothing is opened before the first launch. `tables`: one or more tables of one task, for
  // different devices or in order of preference; they must outlive the dispatcher.
  explicit Dispatcher(std::vector<const Table*> tables, const char* libcuda = "libcuda.so.1")
      : tables_(std::move(tables)), table_(tables_.front()), libcuda_(libcuda) {}
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  // Frees the workspace: the context of the launches must be current, and they must have finished.
  ~Dispatcher() {
    for (auto& [sizes, prepared] : prepared_)
      for (const auto pointer : prepared.buffers) api_.release(pointer);
    for (void* module : modules_)
      if (module != nullptr) api_.unload(module);
  }

  // Enqueues the kernel for these sizes (in the order of Table::axes) into `stream` of the current
  // context. `tensors`: device pointers in the order of Table::tensors, null for absent ones.
  Status launch(const std::vector<std::int64_t>& sizes, const std::vector<void*>& tensors,
                void* stream) {
    if (sizes.size() != table_->axes.size() || tensors.size() != table_->tensors.size())
      return {-1, std::string(table_->task) + " has " + std::to_string(table_->axes.size()) +
                      " sizes and " + std::to_string(table_->tensors.size()) + " tensors"};
    if (Status aligned = check_alignment(tensors); !aligned.ok()) return aligned;
    if (Status opened = open(); !opened.ok()) return opened;
    auto found = prepared_.find(sizes);
    if (found == prepared_.end()) {
      Prepared prepared;
      if (Status made = prepare(sizes, stream, prepared); !made.ok()) return made;
      found = prepared_.emplace(sizes, std::move(prepared)).first;
    }
    if (Status set_up = set_up_for(found->second, tensors, stream); !set_up.ok()) return set_up;
    return enqueue(found->second, tensors, stream, false);
  }

  // Returns the kernel that the last launch of these sizes used; null before it.
  const Kernel* used(const std::vector<std::int64_t>& sizes) const {
    const auto found = prepared_.find(sizes);
    return found == prepared_.end()
               ? nullptr
               : &table_->kernels[static_cast<std::size_t>(found->second.kernel)];
  }

  // Lists the kernels to try for these sizes, best first: those of the nearest known shape (least
  // sum of squared logarithms of the sizes' ratios), then the fallback.
  std::vector<int> order(const std::vector<std::int64_t>& sizes) const {
    const Shape* nearest = nullptr;
    double least = HUGE_VAL;
    for (const Shape& shape : table_->shapes) {
      double distance = 0;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double ratio =
            std::log(static_cast<double>(sizes[i]) / static_cast<double>(shape.sizes[i]));
        distance += ratio * ratio;
      }
      if (distance < least) least = distance, nearest = &shape;
    }
    std::vector<int> kernels = nearest != nullptr ? nearest->order : std::vector<int>{};
    if (table_->fallback >= 0) kernels.push_back(table_->fallback);
    return kernels;
  }

 private:
  struct Prepared {
    int kernel = -1;
    Plan plan;
    std::vector<void*> functions;  // one per launch
    std::vector<DriverApi::Pointer> buffers;
    bool set_up = false;
    std::vector<void*> set_up_for;  // tensors that its tables were computed from
  };

  Status check_alignment(const std::vector<void*>& tensors) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = table_->tensors[i];
      if (reinterpret_cast<std::uintptr_t>(tensors[i]) %
              static_cast<std::uintptr_t>(tensor.alignment) !=
          0)
        return {-1, std::string(tensor.name) + " is not aligned to " +
                        std::to_string(tensor.alignment) + " bytes, as the kernels of " +
                        table_->task + " may assume"};
    }
    return {};
  }

  // Tables hold results of setup launches over constant tensors: computed once, and again for other
  // tensors.
  Status set_up_for(Prepared& prepared, const std::vector<void*>& tensors, void* stream) {
    std::vector<void*> read;
    for (const Launch& launch : prepared.plan.launches) {
      if (!launch.setup) continue;
      each_value(launch.arguments, [&](const Argument& argument) {
        int tensor = argument.kind == Argument::tensor ? argument.index : -1;
        if (argument.kind == Argument::map) {
          const Map& map = prepared.plan.maps[static_cast<std::size_t>(argument.index)];
          if (!map.of_buffer) tensor = map.index;
        }
        if (tensor >= 0) read.push_back(tensors[static_cast<std::size_t>(tensor)]);
      });
    }
    if (prepared.set_up && prepared.set_up_for == read) return {};
    prepared.set_up = false;
    if (Status done = enqueue(prepared, tensors, stream, true); !done.ok()) return done;
    prepared.set_up = true;
    prepared.set_up_for = std::move(read);
    return {};
  }

  Status open() {
    if (api_.launch == nullptr) {
      if (Status opened = api_.open(libcuda_); !opened.ok()) return api_ = {}, opened;
    }
    void* current = nullptr;
    if (Status got = api_.said(api_.context(&current), "cuCtxGetCurrent"); !got.ok()) return got;
    if (current == nullptr)
      return {-1, "no CUDA context is current: create one or call cudaFree(0) before"};
    if (context_ == current) return {};
    if (context_ != nullptr)
      return {
          -1,
          "the current CUDA context is not that of the first launch: use a Dispatcher for each"};
    int ordinal = 0;
    if (Status got = api_.said(api_.device(&ordinal), "cuCtxGetDevice"); !got.ok()) return got;
    int values[8] = {};
    const int ids[8] = {16, 97, 1, 82, 38, 106, 75, 76};  // CUdevice_attribute
    for (int i = 0; i < 8; ++i)
      if (Status got =
              api_.said(api_.attribute(&values[i], ids[i], ordinal), "cuDeviceGetAttribute");
          !got.ok())
        return got;
    char name[256] = {};
    if (Status got = api_.said(api_.device_name(name, sizeof name, ordinal), "cuDeviceGetName");
        !got.ok())
      return got;
    if (Status chosen = choose_table(name, values[6], values[7]); !chosen.ok()) return chosen;
    device_ = {values[0],
               values[1],
               values[2],
               values[3],
               values[4],
               values[5],
               values[6] * 10 + values[7]};
    modules_.assign(table_->kernels.size(), nullptr);
    context_ = current;
    return {};
  }

  // Selects the table of this very device, or of one that runs the same code.
  Status choose_table(const std::string& name, int major, int minor) {
    const Table* like = nullptr;
    std::string devices;
    for (const Table* table : tables_) {
      devices += (devices.empty() ? "" : ", ") + std::string(table->device);
      if (table->major != major || table->minor != minor) continue;
      if (like == nullptr || (table->device == name && like->device != name)) like = table;
    }
    if (like == nullptr)
      return {-1, "the kernels are for " + devices + "; none is for compute capability " +
                      std::to_string(major) + "." + std::to_string(minor) + ", that of " + name};
    table_ = like;
    return {};
  }

  Status function_of(int kernel, const char* entry, void** function) {
    void*& module = modules_[static_cast<std::size_t>(kernel)];
    if (module == nullptr) {
      const Kernel& one = table_->kernels[static_cast<std::size_t>(kernel)];
      if (Status loaded = api_.said(api_.load(&module, one.image), "cuModuleLoadData");
          !loaded.ok())
        return loaded;
    }
    return api_.said(api_.function(function, module, entry), "cuModuleGetFunction");
  }

  // Context of Query::resident: the asking dispatcher and kernel.
  struct Asker {
    Dispatcher* dispatcher;
    int kernel;
  };
  static Int resident(const void* context, const char* entry, Int threads, Int shared) {
    const Asker& asker = *static_cast<const Asker*>(context);
    DriverApi& api = asker.dispatcher->api_;
    void* function = nullptr;
    int blocks = 0;
    if (!asker.dispatcher->function_of(asker.kernel, entry, &function).ok()) return fault();
    if (!asker.dispatcher->allow_shared(function, shared).ok()) return fault();
    if (api.occupancy(&blocks, function, static_cast<int>(threads.value),
                      static_cast<std::size_t>(shared.value)) != 0)
      return fault();
    return asker.dispatcher->device_.sms * Int(blocks);
  }

  Status prepare(const std::vector<std::int64_t>& sizes, void* stream, Prepared& out) {
    const std::vector<Int> numbers(sizes.begin(), sizes.end());
    for (const int kernel : order(sizes)) {
      const Asker asker{this, kernel};
      expression_fault = false;
      Plan plan = table_->kernels[static_cast<std::size_t>(kernel)].plan(
          {numbers.data(), device_, &Dispatcher::resident, &asker});
      if (!plan.fits || expression_fault || !launchable(plan)) continue;
      out = {};
      out.kernel = kernel;
      out.plan = std::move(plan);
      if (fits_device(out)) return allocate(stream, out);
    }
    return {-1, std::string("no kernel of ") + table_->task + " serves these sizes"};
  }

  // Rejects launches that the driver would refuse, so that the next kernel is tried.
  bool launchable(const Plan& plan) const {
    bool legal = true;
    const auto look = [&](const Int& number, std::int64_t least, std::int64_t most) {
      legal = legal && number.value >= least && number.value <= most;
    };
    constexpr std::int64_t any = INT64_MAX;
    for (const Buffer& buffer : plan.buffers) look(buffer.bytes, 0, any);
    for (const Map& map : plan.maps) {
      for (const Int& side : map.dims) look(side, 1, std::int64_t{1} << 32);
      for (const Int& bytes : map.pitch)
        look(bytes, 16, (std::int64_t{1} << 40) - 1), legal = legal && bytes.value % 16 == 0;
      for (const Int& side : map.box) look(side, 1, 256);
    }
    for (const Launch& launch : plan.launches) {
      for (int i = 0; i < 3; ++i) {
        look(launch.grid[i], 1, i == 0 ? INT32_MAX : 65535),
            look(launch.block[i], 1, i == 2 ? 64 : 1024), look(launch.cluster[i], 1, 8);
        legal =
            legal && launch.grid[i].value % std::max<std::int64_t>(launch.cluster[i].value, 1) == 0;
      }
      if (!legal) return false;  // the products below are of legal numbers
      look(launch.block[0] * launch.block[1] * launch.block[2], 1, device_.threads.value);
      look(launch.cluster[0] * launch.cluster[1] * launch.cluster[2], 1, 8);
      look(launch.shared, 0, device_.shared.value);
      each_value(launch.arguments, [&](const Argument& argument) {
        if (argument.kind != Argument::immediate) return;
        if (argument.bytes == 4) look(argument.number, INT32_MIN, INT32_MAX);
        if (argument.bytes == 2) look(argument.number, INT16_MIN, UINT16_MAX);
        if (argument.bytes == 1) look(argument.number, INT8_MIN, UINT8_MAX);
      });
    }
    return legal;
  }

  // Raises the function's limit of dynamic shared memory; never lowers it, since other shapes need
  // it.
  Status allow_shared(void* function, Int shared) {
    int& allowed = allowed_shared_[function];
    if (shared.value <= allowed) return {};
    constexpr int max_dynamic_shared = 8;  // CUfunction_attribute
    const int bytes = static_cast<int>(shared.value);
    if (Status set =
            api_.said(api_.set_function(function, max_dynamic_shared, bytes), "cuFuncSetAttribute");
        !set.ok())
      return set;
    allowed = bytes;
    return {};
  }

  // Finds the functions; false if one is missing, or its block or whole cooperative grid does not
  // fit the device.
  bool fits_device(Prepared& out) {
    for (const Launch& launch : out.plan.launches) {
      void* function = nullptr;
      if (!function_of(out.kernel, launch.entry, &function).ok() ||
          !allow_shared(function, launch.shared).ok())
        return false;
      out.functions.push_back(function);
      int blocks = 0;
      const Int threads = launch.block[0] * launch.block[1] * launch.block[2];
      const auto shared = static_cast<std::size_t>(launch.shared.value);
      if (api_.occupancy(&blocks, function, static_cast<int>(threads.value), shared) != 0 ||
          blocks < 1)
        return false;
      const Int grid = launch.grid[0] * launch.grid[1] * launch.grid[2];
      if (launch.cooperative && grid.value > blocks * device_.sms.value) return false;
    }
    return true;
  }

  Status allocate(void* stream, Prepared& out) {
    for (const Buffer& buffer : out.plan.buffers) {
      const auto bytes = static_cast<std::size_t>(max(buffer.bytes, Int(16)).value);
      DriverApi::Pointer pointer = 0;
      if (Status got = api_.said(api_.allocate(&pointer, bytes), "cuMemAlloc"); !got.ok())
        return free_all(out), got;
      out.buffers.push_back(pointer);
      if (buffer.content != Content::restored) continue;
      if (Status done = api_.said(api_.clear(pointer, 0, bytes, stream), "cuMemsetD8Async");
          !done.ok())
        return free_all(out), done;
    }
    return {};
  }

  void free_all(Prepared& prepared) {
    for (const auto pointer : prepared.buffers) api_.release(pointer);
    prepared.buffers.clear();
  }

  Status encode(const Prepared& prepared, const std::vector<void*>& tensors,
                std::vector<DriverApi::TensorMap>& maps) {
    for (const Map& map : prepared.plan.maps) {
      const auto at = static_cast<std::size_t>(map.index);
      void* base = map.of_buffer
                       ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(prepared.buffers[at]))
                       : tensors[at];
      std::vector<std::uint64_t> dims, pitch;
      std::vector<unsigned> box;
      for (const Int& side : map.dims) dims.push_back(static_cast<std::uint64_t>(side.value));
      for (const Int& bytes : map.pitch) pitch.push_back(static_cast<std::uint64_t>(bytes.value));
      for (const Int& side : map.box) box.push_back(static_cast<unsigned>(side.value));
      const std::vector<unsigned> steps(dims.size(), 1);
      constexpr int no_interleave = 0, promote_256b = 3, zeros_outside = 0;
      const int code =
          api_.encode(&maps.emplace_back(), map.type, static_cast<unsigned>(dims.size()), base,
                      dims.data(), pitch.data(), box.data(), steps.data(), no_interleave,
                      map.swizzle, promote_256b, zeros_outside);
      if (Status done = api_.said(code, "cuTensorMapEncodeTiled"); !done.ok()) return done;
    }
    return {};
  }

  Status enqueue(const Prepared& prepared, const std::vector<void*>& tensors, void* stream,
                 bool setup) {
    const auto& launches = prepared.plan.launches;
    if (std::none_of(launches.begin(), launches.end(),
                     [&](const Launch& launch) { return launch.setup == setup; }))
      return {};
    std::vector<DriverApi::TensorMap> maps;
    maps.reserve(prepared.plan.maps.size());
    if (Status done = encode(prepared, tensors, maps); !done.ok()) return done;
    for (std::size_t i = 0; i < prepared.plan.buffers.size() && !setup; ++i) {
      const Buffer& buffer = prepared.plan.buffers[i];
      if (buffer.content != Content::zeroed || buffer.bytes.value == 0) continue;
      const int code =
          api_.clear(prepared.buffers[i], 0, static_cast<std::size_t>(buffer.bytes.value), stream);
      if (Status done = api_.said(code, "cuMemsetD8Async"); !done.ok()) return done;
    }
    for (std::size_t i = 0; i < prepared.plan.launches.size(); ++i) {
      const Launch& launch = prepared.plan.launches[i];
      if (launch.setup != setup) continue;
      if (Status done = launch_one(prepared, launch, prepared.functions[i], tensors, maps, stream);
          !done.ok())
        return done;
    }
    return {};
  }

  template <class Visit>
  static void each_value(const std::vector<Argument>& arguments, Visit visit) {
    for (const Argument& argument : arguments) {
      if (argument.kind == Argument::record) {
        each_value(argument.fields, visit);
      } else {
        visit(argument);
      }
    }
  }

  // An argument's bytes in whole words, its fields in place.
  static std::vector<std::uint64_t> value_of(const Prepared& prepared, const Argument& argument,
                                             const std::vector<void*>& tensors,
                                             const std::vector<DriverApi::TensorMap>& maps) {
    const auto at = static_cast<std::size_t>(argument.index);
    std::vector<std::uint64_t> words(1);
    if (argument.kind == Argument::tensor) words[0] = reinterpret_cast<std::uintptr_t>(tensors[at]);
    if (argument.kind == Argument::buffer) words[0] = prepared.buffers[at];
    if (argument.kind == Argument::immediate)
      words[0] = static_cast<std::uint64_t>(argument.number.value);
    if (argument.kind != Argument::record) return words;
    words.assign((static_cast<std::size_t>(argument.bytes) + 7) / 8, 0);
    for (const Argument& field : argument.fields) {
      char* to = reinterpret_cast<char*>(words.data()) + field.at;
      if (field.kind == Argument::map) {
        std::memcpy(to, &maps[static_cast<std::size_t>(field.index)], sizeof(DriverApi::TensorMap));
      } else {
        std::memcpy(to, value_of(prepared, field, tensors, maps).data(),
                    field.kind == Argument::immediate ? static_cast<std::size_t>(field.bytes) : 8);
      }
    }
    return words;
  }

  Status launch_one(const Prepared& prepared, const Launch& launch, void* function,
                    const std::vector<void*>& tensors, std::vector<DriverApi::TensorMap>& maps,
                    void* stream) {
    std::vector<std::vector<std::uint64_t>> words;
    std::vector<void*> values;
    for (const Argument& argument : launch.arguments) {
      words.push_back(value_of(prepared, argument, tensors, maps));
      const auto at = static_cast<std::size_t>(argument.index);
      values.push_back(argument.kind == Argument::map ? static_cast<void*>(&maps[at])
                                                      : words.back().data());
    }
    DriverApi::Config config{};
    for (int i = 0; i < 3; ++i) {
      config.grid[i] = static_cast<unsigned>(launch.grid[i].value);
      config.block[i] = static_cast<unsigned>(launch.block[i].value);
    }
    config.shared = static_cast<unsigned>(launch.shared.value);
    config.stream = stream;
    DriverApi::Attribute attributes[2] = {};
    constexpr int cooperative = 2, cluster_dimension = 4;  // CUlaunchAttributeID
    if (launch.cluster[0].value * launch.cluster[1].value * launch.cluster[2].value > 1) {
      DriverApi::Attribute& attribute = attributes[config.attribute_count++];
      attribute.id = cluster_dimension;
      for (int i = 0; i < 3; ++i)
        attribute.value[i] = static_cast<unsigned>(launch.cluster[i].value);
    }
    if (launch.cooperative) {
      DriverApi::Attribute& attribute = attributes[config.attribute_count++];
      attribute.id = cooperative;
      attribute.value[0] = 1;
    }
    config.attributes = attributes;
    return api_.said(api_.launch(&config, function, values.data(), nullptr), "cuLaunchKernelEx");
  }

  std::vector<const Table*> tables_;
  const Table* table_;  // the first, until a device is known
  const char* libcuda_;
  DriverApi api_;
  void* context_ = nullptr;
  Device device_;
  std::vector<void*> modules_;
  std::map<void*, int> allowed_shared_;  // by function, bytes
  std::map<std::vector<std::int64_t>, Prepared> prepared_;
};

}  // namespace CUPILOT_RUNTIME_VERSION
}  // namespace cupilot::runtime
