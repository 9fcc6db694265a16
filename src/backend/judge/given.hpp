// Bytes of files in the judge's own memory, for recipes that read them.
#pragma once

#include <cstdint>
#include <map>

#include "backend/worker/session.hpp"

namespace cupilot {

class GivenBytes {
 public:
  GivenBytes() = default;
  GivenBytes(const GivenBytes&) = delete;
  GivenBytes& operator=(const GivenBytes&) = delete;
  ~GivenBytes();
  // Throws OrderRefused where a piece does not follow the one before it.
  void take(const GiveOrder& piece);
  // The recipe, which reads this memory. Throws OrderRefused where its bytes are not here.
  FillParams found(FillParams recipe) const;

 private:
  struct Whole {
    CUdeviceptr address = 0;
    std::int64_t bytes = 0, held = 0;
  };
  std::map<std::uint64_t, Whole> wholes_;
};

}  // namespace cupilot
