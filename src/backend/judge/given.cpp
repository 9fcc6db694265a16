#include "backend/judge/given.hpp"

#include "backend/worker/serve.hpp"

namespace cupilot {

GivenBytes::~GivenBytes() {
  for (const auto& [key, whole] : wholes_) {
    if (whole.address != 0) driver().cuMemFree(whole.address);
  }
}

void GivenBytes::take(const GiveOrder& piece) {
  Whole& whole = wholes_[piece.key];
  const auto size = static_cast<std::int64_t>(piece.bytes.size());
  if (piece.at == 0 && whole.address == 0 && piece.total > 0) {
    check(driver().cuMemAlloc(&whole.address, static_cast<std::size_t>(piece.total)),
          "memory for a file's content");
    whole.bytes = piece.total;
  }
  if (piece.at == 0) whole.held = 0;
  const bool follows = piece.total == whole.bytes && piece.at == whole.held;
  if (!follows || size > whole.bytes - whole.held)
    throw OrderRefused{0, "a piece of a file's content that follows none"};
  check(driver().cuMemcpyHtoD(whole.address + static_cast<CUdeviceptr>(piece.at),
                              piece.bytes.data(), piece.bytes.size()),
        "copying a file's content");
  whole.held += size;
}

FillParams GivenBytes::found(FillParams recipe) const {
  if (recipe.given_key == 0) return recipe;
  const auto at = wholes_.find(recipe.given_key);
  const std::int64_t bytes = recipe.given_count * storage_bytes(recipe.type);
  if (at == wholes_.end() || at->second.held != at->second.bytes || at->second.bytes != bytes)
    throw OrderRefused{0, "a recipe of a file's content that was not given"};
  recipe.given = reinterpret_cast<const void*>(at->second.address);
  return recipe;
}

}  // namespace cupilot
