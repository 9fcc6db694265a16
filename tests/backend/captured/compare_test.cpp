#include "backend/captured/compare.hpp"

#include <cstring>

#include "backend/captured/folder.hpp"

using namespace cupilot;

namespace {

BufferDifference compared(const std::string& ours, const std::string& devices,
                          const std::vector<FloatType>& types) {
  const auto bytes = [](const std::string& of) {
    return std::span(reinterpret_cast<const std::uint8_t*>(of.data()), of.size());
  };
  return compare_left(
      bytes(ours), bytes(devices), [](std::uint64_t) { return true; }, types);
}

template <class T>
std::string text(std::vector<T> values) {
  return support::bytes_of(values);
}

}  // namespace

TEST_CASE("roundings are told in the type of the values", "[captured]") {
  const std::vector<FloatType> all = {FloatType::f64, FloatType::f32, FloatType::f16,
                                      FloatType::bf16};
  const BufferDifference doubles =
      compared(text<double>({1, 2}), text<double>({1, 2 + 0x1p-51}), all);
  CHECK(doubles.rounded);
  CHECK(doubles.type == FloatType::f64);
  CHECK(doubles.ulps == 1);
  // 1.0 and the next number of fp16, twice.
  const std::vector<std::uint16_t> halves = {0x3c00, 0x3c00, 0x3c00, 0x3c00},
                                   next = {0x3c00, 0x3c01, 0x3c00, 0x3c00};
  const BufferDifference rounded =
      compared(text(halves), text(next), {all.data() + 2, all.data() + 3});
  CHECK(rounded.rounded);
  CHECK(rounded.type == FloatType::f16);
  CHECK(rounded.first == 2);
}

TEST_CASE("small integers are no roundings of each other", "[captured]") {
  const std::vector<FloatType> f32 = {FloatType::f32};
  const BufferDifference other = compared(text<int>({5, 6, 7}), text<int>({5, 7, 7}), f32);
  CHECK(!other.rounded);
  CHECK(other.bytes == 1);
  CHECK(other.first == 4);
  CHECK(compared(text<int>({5}), text<int>({6}), {}).words ==
        "0x00000005, on the device 0x00000006");
}

TEST_CASE("a value near zero is measured by the buffer's mean", "[captured]") {
  const std::vector<FloatType> f32 = {FloatType::f32};
  CHECK(compared(text<float>({0, 100, 100}), text<float>({1e-4f, 100, 100}), f32).rounded);
  CHECK(!compared(text<float>({0, 100, 100}), text<float>({1, 100, 100}), f32).rounded);
}
