#include "base/pieces.hpp"

namespace cupilot {

void Pieces::add(std::string text) {
  own_.push_back(std::move(text));
  all_.push_back(own_.back());
}

void Pieces::add(Pieces more) {
  own_.splice(own_.end(), more.own_);
  all_.insert(all_.end(), more.all_.begin(), more.all_.end());
}

std::size_t Pieces::size() const {
  std::size_t bytes = 0;
  for (const std::string_view piece : all_) bytes += piece.size();
  return bytes;
}

std::string Pieces::joined() const {
  std::string bytes;
  bytes.reserve(size());
  for (const std::string_view piece : all_) bytes += piece;
  return bytes;
}

}  // namespace cupilot
