// A texture or surface object of an order on the device.
#pragma once

#include <cstdint>

#include "backend/wire/orders.hpp"
#include "backend/worker/session.hpp"

namespace cupilot {

// Lives as long as launches that take it may run. Linear and pitch2d memory is read where it lies,
// if it is aligned as textures must be; else, and for arrays, through a copy.
class BoundTexture {
 public:
  // Throws OrderRefused.
  BoundTexture(CudaSession& session, const WireTexture& texture);
  ~BoundTexture();
  BoundTexture(const BoundTexture&) = delete;
  BoundTexture& operator=(const BoundTexture&) = delete;

  std::uint64_t handle() const { return handle_; }
  // Enqueues the copies before and after a launch; nothing where there is none to make.
  void fill();
  void write_back();

 private:
  void make_array();
  void make_texture();
  void make_surface();
  void release();
  CUDA_MEMCPY3D copy() const;

  CudaSession& session_;
  WireTexture what_;
  std::int64_t bytes_ = 0;               // from the first to past the last
  CUdeviceptr memory_ = 0, copied_ = 0;  // copied_: aligned memory of its own; 0: none
  CUarray array_ = nullptr;
  std::uint64_t handle_ = 0;
};

}  // namespace cupilot
