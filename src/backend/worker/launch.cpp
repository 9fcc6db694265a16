#include "backend/worker/launch.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include <cupilot/parts/dtype.hpp>

#include "backend/worker/serve.hpp"

namespace cupilot {
namespace {

CUtensorMapDataType map_type(int type) {
  switch (static_cast<DType>(type)) {
    case DType::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case DType::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case DType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DType::i16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

CUtensorMapSwizzle map_swizzle(int bytes) {
  switch (bytes) {
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

CUtensorMap encode(const CudaSession& session, const WireMap& map) {
  if (driver().cuTensorMapEncodeTiled == nullptr)
    throw OrderRefused{0, "this driver has no tensor maps"};
  const std::size_t rank = map.dims.size();
  if (rank < 1 || rank > 5 || map.box.size() != rank || map.pitch.size() + 1 < rank) {
    throw OrderRefused{0, "a tensor map of impossible rank"};
  }
  std::vector<cuuint64_t> dims(map.dims.begin(), map.dims.end()),
      pitch(map.pitch.begin(), map.pitch.end());
  std::vector<cuuint32_t> box(map.box.begin(), map.box.end()), steps(rank, 1);
  pitch.resize(std::max<std::size_t>(pitch.size(), 1));
  CUtensorMap encoded{};
  const CUresult code = driver().cuTensorMapEncodeTiled(
      &encoded, map_type(map.type), static_cast<cuuint32_t>(rank),
      reinterpret_cast<void*>(session.address(map.region)), dims.data(), pitch.data(), box.data(),
      steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, map_swizzle(map.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS)
    throw OrderRefused{static_cast<int>(code), "encoding a tensor map: " + driver().describe(code)};
  return encoded;
}

// `shared`: the most that any launch of the function takes.
void set_attributes(PreparedLaunch& prepared, const WireLaunch& launch, std::int64_t shared) {
  const CudaDriver& calls = driver();
  if (launch.shared > 0) {
    const CUresult code =
        calls.cuFuncSetAttribute(prepared.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(shared));
    if (code != CUDA_SUCCESS) {
      throw OrderRefused{701, fmt::format("{} bytes of dynamic shared memory for {}: {}",
                                          launch.shared, launch.name, calls.describe(code))};
    }
  }
  const int blocks = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  if (blocks > 8)
    calls.cuFuncSetAttribute(prepared.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                             1);
  if (blocks > 1) {
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = static_cast<unsigned>(launch.cluster[0]);
    cluster.value.clusterDim.y = static_cast<unsigned>(launch.cluster[1]);
    cluster.value.clusterDim.z = static_cast<unsigned>(launch.cluster[2]);
    prepared.attributes.push_back(cluster);
  }
  if (launch.cooperative) {
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    prepared.attributes.push_back(cooperative);
  }
}

// Holds what the arguments of an order's launches name.
struct Bound {
  std::vector<CUtensorMap> maps;
  std::vector<std::shared_ptr<BoundTexture>> textures;
};

// Bytes of an argument that is no map, its fields in place. The launch keeps the textures it takes.
std::vector<std::uint8_t> value_of(CudaSession& session, PreparedLaunch& prepared,
                                   const WireArgument& argument, const Bound& bound) {
  std::vector<std::uint8_t> bytes = argument.bytes;
  const auto put = [&](std::size_t at, const void* from, std::size_t size) {
    bytes.resize(std::max(bytes.size(), at + size));
    std::memcpy(bytes.data() + at, from, size);
  };
  if (argument.kind == WireArgument::Kind::region) {
    const CUdeviceptr address = session.address(argument.region);
    put(0, &address, sizeof address);
  }
  if (argument.kind == WireArgument::Kind::texture) {
    const auto& texture = bound.textures.at(static_cast<std::size_t>(argument.map));
    const std::uint64_t handle = texture->handle();
    put(0, &handle, sizeof handle);
    if (std::find(prepared.textures.begin(), prepared.textures.end(), texture) ==
        prepared.textures.end())
      prepared.textures.push_back(texture);
  }
  for (const WireArgument& field : argument.fields) {
    const auto at = static_cast<std::size_t>(field.at);
    if (field.kind == WireArgument::Kind::map) {
      put(at, &bound.maps.at(static_cast<std::size_t>(field.map)), sizeof(CUtensorMap));
    } else {
      const std::vector<std::uint8_t> inner = value_of(session, prepared, field, bound);
      put(at, inner.data(), inner.size());
    }
  }
  return bytes;
}

void set_arguments(CudaSession& session, PreparedLaunch& prepared, const WireLaunch& launch,
                   const Bound& bound) {
  prepared.maps.reserve(launch.args.size());
  prepared.values.reserve(launch.args.size());
  for (const WireArgument& argument : launch.args) {
    if (argument.kind == WireArgument::Kind::map) {
      prepared.maps.push_back(bound.maps.at(static_cast<std::size_t>(argument.map)));
      prepared.pointers.push_back(&prepared.maps.back());
      continue;
    }
    prepared.values.push_back(value_of(session, prepared, argument, bound));
    prepared.pointers.push_back(prepared.values.back().data());
  }
}

std::unique_ptr<PreparedLaunch> prepare(CudaSession& session, const RunOrder& order,
                                        const WireLaunch& launch, const Bound& bound) {
  auto prepared = std::make_unique<PreparedLaunch>();
  prepared->name = launch.name;
  prepared->function = session.function(order.image, launch.entry);
  std::int64_t shared = 0;
  for (const WireLaunch& other : order.launches)
    if (other.entry == launch.entry) shared = std::max<std::int64_t>(shared, other.shared);
  set_attributes(*prepared, launch, shared);
  set_arguments(session, *prepared, launch, bound);
  CUlaunchConfig& config = prepared->config;
  config.gridDimX = static_cast<unsigned>(launch.grid[0]);
  config.gridDimY = static_cast<unsigned>(launch.grid[1]);
  config.gridDimZ = static_cast<unsigned>(launch.grid[2]);
  config.blockDimX = static_cast<unsigned>(launch.block[0]);
  config.blockDimY = static_cast<unsigned>(launch.block[1]);
  config.blockDimZ = static_cast<unsigned>(launch.block[2]);
  config.sharedMemBytes = static_cast<unsigned>(launch.shared);
  config.hStream = session.stream();
  config.attrs = prepared->attributes.data();
  config.numAttrs = static_cast<unsigned>(prepared->attributes.size());
  return prepared;
}

}  // namespace

std::vector<std::unique_ptr<PreparedLaunch>> prepare_launches(CudaSession& session,
                                                              LibrarySteps& library,
                                                              const RunOrder& order,
                                                              AlgorithmChoice choice) {
  Bound bound;
  for (const WireMap& map : order.maps) bound.maps.push_back(encode(session, map));
  for (const WireTexture& texture : order.textures)
    bound.textures.push_back(std::make_shared<BoundTexture>(session, texture));
  std::vector<std::unique_ptr<PreparedLaunch>> launches;
  for (const WireLaunch& launch : order.launches) {
    if (launch.step < 0) {
      launches.push_back(prepare(session, order, launch, bound));
      continue;
    }
    launches.push_back(std::make_unique<PreparedLaunch>());
    launches.back()->name = launch.name;
    launches.back()->call =
        library.ready(order.steps.at(static_cast<std::size_t>(launch.step)), choice);
  }
  return launches;
}

void launch_one(PreparedLaunch& prepared) {
  if (prepared.call) return prepared.call();
  for (const auto& texture : prepared.textures) texture->fill();
  const CUresult code = driver().cuLaunchKernelEx(&prepared.config, prepared.function,
                                                  prepared.pointers.data(), nullptr);
  if (code != CUDA_SUCCESS) throw CudaFailure{code, "launching " + prepared.name};
  for (const auto& texture : prepared.textures) texture->write_back();
}

void clear(CudaSession& session, const std::vector<Region>& regions) {
  for (const Region& region : regions) {
    check(driver().cuMemsetD8Async(session.address(region), 0,
                                   static_cast<std::size_t>(region.bytes), session.stream()),
          "clearing a buffer");
  }
}

// A slot that is mapped already is mapped anew: that is how its access changes.
void map_slot(CudaSession& session, const Frame& frame) {
  const auto order = unpack_slot(frame.body);
  if (!order || (order->ipc.empty() && frame.descriptors.size() != 1))
    throw OrderRefused{0, "a slot order that cannot be read"};
  if (const auto found = session.slots.find(order->slot); found != session.slots.end()) {
    session.synchronize();
    session.release(found->second);
    session.slots.erase(found);
  }
  session.slots[order->slot] =
      session.import(*order, frame.descriptors.empty() ? -1 : frame.descriptors[0]);
}

}  // namespace cupilot
