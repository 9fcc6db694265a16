// Bytes that follow one another, in pieces: texts of its own, and memory of others, which must stay
// as it is meanwhile.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupilot {

class Pieces {
 public:
  Pieces() = default;
  explicit Pieces(std::string text) { add(std::move(text)); }
  // A copy would look at the texts of another.
  Pieces(Pieces&&) = default;
  Pieces& operator=(Pieces&&) = default;

  void add(std::string text);
  void add(Pieces more);
  // Its texts alone, which pieces here look at.
  void keep(Pieces looked_at) { own_.splice(own_.end(), looked_at.own_); }
  static Pieces looking_at(std::string_view memory) {
    Pieces pieces;
    pieces.all_.push_back(memory);
    return pieces;
  }

  std::span<const std::string_view> all() const { return all_; }
  std::size_t size() const;  // bytes
  bool empty() const { return size() == 0; }
  std::string joined() const;

 private:
  std::list<std::string> own_;  // texts stay where they are, also when they change owners
  std::vector<std::string_view> all_;
};

}  // namespace cupilot
