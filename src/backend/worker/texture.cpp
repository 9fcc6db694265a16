#include "backend/worker/texture.hpp"

#include <fmt/core.h>
#include <cupilot/parts/resolved_plan.hpp>

#include "backend/worker/serve.hpp"

namespace cupilot {
namespace {

constexpr CUdeviceptr alignment = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, of all chips

CUarray_format format_of(int type) {
  constexpr CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,
                                        CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
                                        CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
                                        CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT};
  return formats[type];
}

CUaddress_mode mode_of(int address) {
  constexpr CUaddress_mode modes[] = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_BORDER,
                                      CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_MIRROR};
  return modes[address];
}

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

std::int64_t texel_bytes(const WireTexture& what) {
  constexpr std::int64_t bytes[] = {1, 1, 2, 2, 4, 4, 2, 4};
  return bytes[what.type] * what.channels;
}

// From the first to past the last byte of what the object reads. Throws OrderRefused where the
// order's numbers are none of a texture within its region.
std::int64_t checked_bytes(const WireTexture& what) {
  constexpr std::int64_t most = 1 << 27;  // of a side, a pitch and all rows
  const bool known = what.memory >= 0 && what.memory <= 2 && what.type >= 0 && what.type <= 7 &&
                     what.address >= 0 && what.address <= 3 && what.rank >= 1 && what.rank <= 3 &&
                     (what.channels == 1 || what.channels == 2 || what.channels == 4);
  if (!known) throw OrderRefused{0, "a texture of no known kind"};
  std::int64_t rows = what.layers > 0 ? what.layers : 1;
  bool sound = what.layers >= 0 && what.layers <= most && what.sides[0] >= 1 &&
               what.sides[0] <= most && what.pitch <= 16 * most &&
               what.pitch >= what.sides[0] * texel_bytes(what);
  for (int d = 1; d < 3; ++d) {
    sound = sound && what.sides[d] >= 1 && what.sides[d] <= most / rows;
    if (sound) rows *= what.sides[d];
  }
  const std::int64_t bytes =
      sound ? (rows - 1) * what.pitch + what.sides[0] * texel_bytes(what) : 0;
  if (!sound || bytes > what.region.bytes)
    throw OrderRefused{0, "a texture that leaves its memory"};
  return bytes;
}

void accept(CUresult code, const char* doing) {
  if (code != CUDA_SUCCESS)
    throw OrderRefused{static_cast<int>(code),
                       fmt::format("{}: {}", doing, driver().describe(code))};
}

}  // namespace

BoundTexture::BoundTexture(CudaSession& session, const WireTexture& texture)
    : session_(session), what_(texture) {
  if (driver().cuTexObjectCreate == nullptr || driver().cuMemcpy3DAsync == nullptr)
    throw OrderRefused{0, "this driver has no texture objects"};
  bytes_ = checked_bytes(what_);
  memory_ = session_.address(what_.region);
  try {
    if (what_.memory == static_cast<int>(TextureMemory::array)) {
      make_array();
    } else if (memory_ % alignment != 0) {
      accept(driver().cuMemAlloc(&copied_, size(bytes_)), "memory of a texture");
    }
    what_.surface ? make_surface() : make_texture();
  } catch (...) {
    release();
    throw;
  }
}

BoundTexture::~BoundTexture() { release(); }

void BoundTexture::release() {
  // A device that failed refuses these too.
  if (handle_ != 0 && what_.surface) driver().cuSurfObjectDestroy(handle_);
  if (handle_ != 0 && !what_.surface) driver().cuTexObjectDestroy(handle_);
  if (array_ != nullptr) driver().cuArrayDestroy(array_);
  if (copied_ != 0) driver().cuMemFree(copied_);
  handle_ = 0, array_ = nullptr, copied_ = 0;
}

void BoundTexture::make_array() {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Width = size(what_.sides[0]);
  shape.Height = what_.rank > 1 ? size(what_.sides[1]) : 0;
  shape.Depth = what_.layers > 0 ? size(what_.layers) : what_.rank > 2 ? size(what_.sides[2]) : 0;
  shape.Format = format_of(what_.type);
  shape.NumChannels = static_cast<unsigned>(what_.channels);
  shape.Flags = (what_.layers > 0 ? unsigned{CUDA_ARRAY3D_LAYERED} : 0u) |
                (what_.surface ? unsigned{CUDA_ARRAY3D_SURFACE_LDST} : 0u);
  // A gather is of planes that were made for it.
  if (!what_.surface && what_.rank == 2 && what_.layers == 0)
    shape.Flags |= unsigned{CUDA_ARRAY3D_TEXTURE_GATHER};
  CUresult code = driver().cuArray3DCreate(&array_, &shape);
  if (code == CUDA_ERROR_INVALID_VALUE && (shape.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0) {
    shape.Flags &= ~unsigned{CUDA_ARRAY3D_TEXTURE_GATHER};  // too large for one
    code = driver().cuArray3DCreate(&array_, &shape);
  }
  accept(code, "making an array");
}

void BoundTexture::make_texture() {
  CUDA_RESOURCE_DESC from{};
  const CUdeviceptr memory = copied_ != 0 ? copied_ : memory_;
  if (array_ != nullptr) {
    from.resType = CU_RESOURCE_TYPE_ARRAY;
    from.res.array.hArray = array_;
  } else if (what_.memory == static_cast<int>(TextureMemory::linear)) {
    from.resType = CU_RESOURCE_TYPE_LINEAR;
    from.res.linear.devPtr = memory;
    from.res.linear.format = format_of(what_.type);
    from.res.linear.numChannels = static_cast<unsigned>(what_.channels);
    from.res.linear.sizeInBytes = size(bytes_);
  } else {
    from.resType = CU_RESOURCE_TYPE_PITCH2D;
    from.res.pitch2D.devPtr = memory;
    from.res.pitch2D.format = format_of(what_.type);
    from.res.pitch2D.numChannels = static_cast<unsigned>(what_.channels);
    from.res.pitch2D.width = size(what_.sides[0]);
    from.res.pitch2D.height = size(what_.sides[1]);
    from.res.pitch2D.pitchInBytes = size(what_.pitch);
  }
  CUDA_TEXTURE_DESC how{};
  for (CUaddress_mode& mode : how.addressMode) mode = mode_of(what_.address);
  how.filterMode = what_.linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
  const bool whole = what_.type < static_cast<int>(TextureType::f16);
  how.flags = (whole && !what_.normalized_read ? unsigned{CU_TRSF_READ_AS_INTEGER} : 0u) |
              (what_.normalized ? unsigned{CU_TRSF_NORMALIZED_COORDINATES} : 0u);
  CUtexObject made = 0;
  accept(driver().cuTexObjectCreate(&made, &from, &how, nullptr), "making a texture object");
  handle_ = made;
}

void BoundTexture::make_surface() {
  CUDA_RESOURCE_DESC from{};
  from.resType = CU_RESOURCE_TYPE_ARRAY;
  from.res.array.hArray = array_;
  CUsurfObject made = 0;
  accept(driver().cuSurfObjectCreate(&made, &from), "making a surface object");
  handle_ = made;
}

// Describes a copy of the whole array, whose side is left open.
CUDA_MEMCPY3D BoundTexture::copy() const {
  CUDA_MEMCPY3D out{};
  const std::int64_t slices = what_.layers > 0 ? what_.layers : what_.sides[2];
  out.WidthInBytes = size(what_.pitch);
  out.Height = size(what_.sides[1]);
  out.Depth = size(slices);
  return out;
}

void BoundTexture::fill() {
  if (copied_ != 0)
    check(driver().cuMemcpyDtoDAsync(copied_, memory_, size(bytes_), session_.stream()),
          "copying a texture");
  if (array_ == nullptr) return;
  CUDA_MEMCPY3D order = copy();
  order.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  order.srcDevice = memory_;
  order.srcPitch = order.WidthInBytes;
  order.srcHeight = order.Height;
  order.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  order.dstArray = array_;
  check(driver().cuMemcpy3DAsync(&order, session_.stream()), "copying to an array");
}

void BoundTexture::write_back() {
  if (!what_.surface) return;
  CUDA_MEMCPY3D order = copy();
  order.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  order.srcArray = array_;
  order.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  order.dstDevice = memory_;
  order.dstPitch = order.WidthInBytes;
  order.dstHeight = order.Height;
  check(driver().cuMemcpy3DAsync(&order, session_.stream()), "copying from an array");
}

}  // namespace cupilot
