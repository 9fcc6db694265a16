// Plain values in and out of a frame's body. A reader that runs past the end stays failed and gives
// zeros.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cupilot {

class BodyWriter {
 public:
  explicit BodyWriter(std::size_t bytes = 0) { body_.reserve(bytes); }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> BodyWriter& put(T value) {
    body_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  BodyWriter& put(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    body_.append(text);
    return *this;
  }
  BodyWriter& put(const char* text) { return put(std::string_view(text)); }
  BodyWriter& put(const std::string& text) { return put(std::string_view(text)); }
  template <class T>
  requires std::is_trivially_copyable_v<T> BodyWriter& put(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    body_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return *this;
  }
  BodyWriter& put(const std::vector<std::string>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    for (const std::string& value : values) put(value);
    return *this;
  }
  // A plain struct by its bytes: both ends are one build.
  template <class T>
  requires std::is_trivially_copyable_v<T> BodyWriter& put_raw(const T& value) {
    body_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  std::string take() { return std::move(body_); }

 private:
  std::string body_;
};

class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : left_(body) {}

  template <class T>
  T get_raw() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (take(sizeof value)) std::memcpy(&value, taken_.data(), sizeof value);
    return value;
  }
  template <class T>
  T get() {
    if constexpr (std::is_same_v<T, bool>) {
      return get_raw<std::uint8_t>() != 0;
    } else {
      return get_raw<T>();
    }
  }
  std::string text() {
    const auto bytes = get<std::uint64_t>();
    return take(bytes) ? std::string(taken_) : std::string();
  }
  template <class T>
  std::vector<T> values() {
    const auto count = get<std::uint64_t>();
    std::vector<T> result;
    if (count > left_.size() / sizeof(T) || !take(count * sizeof(T))) {
      failed_ = true;
      return result;
    }
    if constexpr (sizeof(T) == 1) {
      const T* const first = reinterpret_cast<const T*>(taken_.data());
      result.assign(first, first + count);
    } else {
      result.resize(count);
      if (count > 0) std::memcpy(result.data(), taken_.data(), count * sizeof(T));
    }
    return result;
  }
  std::vector<std::string> texts() {
    const auto count = get<std::uint64_t>();
    std::vector<std::string> result;
    for (std::uint64_t i = 0; i < count && !failed_; ++i) result.push_back(text());
    return result;
  }
  bool failed() const { return failed_; }
  bool whole() const { return !failed_ && left_.empty(); }

 private:
  bool take(std::uint64_t bytes) {
    if (failed_ || bytes > left_.size()) {
      failed_ = true;
      return false;
    }
    taken_ = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return true;
  }
  std::string_view left_, taken_;
  bool failed_ = false;
};

}  // namespace cupilot
