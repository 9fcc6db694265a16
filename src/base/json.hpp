// JSON values as nlohmann's, but for two things. Their destructor needs no memory: nlohmann 3.11's
// flattens a value into a vector, and where memory is short that ends the process. And a number is
// read as an integer only if it is one of that type.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cupilot {

template <class T, class = void>
struct JsonSerializer : nlohmann::adl_serializer<T, void> {};

template <class T>
concept PlainInteger = std::integral<T> && !std::same_as<T, bool>;

// Throws nlohmann's other_error for a fraction and for what the type cannot hold.
template <PlainInteger T>
struct JsonSerializer<T, void> : nlohmann::adl_serializer<T, void> {
  template <class Value>
  static void from_json(const Value& json, T& out) {
    if (!holds(json))
      throw nlohmann::detail::other_error::create(501, json.dump() + " is no number of this kind",
                                                  nullptr);
    nlohmann::adl_serializer<T, void>::from_json(json, out);
  }

 private:
  template <class Value>
  static bool holds(const Value& json) {
    if (json.is_number_unsigned())
      return std::in_range<T>(*json.template get_ptr<const std::uint64_t*>());
    if (json.is_number_integer())
      return std::in_range<T>(*json.template get_ptr<const std::int64_t*>());
    if (!json.is_number_float()) return true;  // nlohmann's own check
    const double number = *json.template get_ptr<const double*>();
    // The largest value of a wide type is no double, the power of two after it is.
    constexpr auto half = static_cast<T>(std::numeric_limits<T>::max() / 2 + 1);
    constexpr double end = 2.0 * static_cast<double>(half);
    return number == std::trunc(number) &&
           number >= static_cast<double>(std::numeric_limits<T>::min()) && number < end;
  }
};

// Members sorted by name, and as they were written.
using SortedJson = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                        std::uint64_t, double, std::allocator, JsonSerializer>;
using OrderedJson =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t,
                         std::uint64_t, double, std::allocator, JsonSerializer>;

// Destroys `top` and all within it, of any depth, without memory and without recursion: on the way
// down the first slot of each container keeps the container above it.
template <class Value>
void release(Value top) noexcept {
  const auto first = [](Value& value) -> Value& {
    return value.is_array() ? value.template get_ref<typename Value::array_t&>().front()
                            : value.template get_ref<typename Value::object_t&>().begin()->second;
  };
  const auto take_last = [](Value& value) {
    if (value.is_array()) {
      auto& array = value.template get_ref<typename Value::array_t&>();
      Value last = std::move(array.back());
      array.pop_back();
      return last;
    }
    auto& object = value.template get_ref<typename Value::object_t&>();
    Value last = std::move(std::prev(object.end())->second);
    object.erase(std::prev(object.end()));
    return last;
  };
  Value above, here = std::move(top);
  for (;;) {
    while (here.is_structured() && !here.empty()) {
      Value below = std::move(first(here));
      first(here) = std::move(above);
      above = std::move(here);
      here = std::move(below);
    }
    if (above.is_null()) return;
    const bool only_the_first_is_left = above.size() == 1;
    here = take_last(above);
    if (only_the_first_is_left) above = std::exchange(here, Value());
  }
}

}  // namespace cupilot

// Destroys a value that nlohmann's own destructor would end the program for: a null becomes an
// object or array before it has the memory for it.
#define CUPILOT_DESTROY_WITHOUT_MEMORY(Json)                                                    \
  template <>                                                                                   \
  inline void Json::json_value::destroy(Json::value_t type) {                                   \
    const bool full = (type == Json::value_t::array && array != nullptr && !array->empty()) ||  \
                      (type == Json::value_t::object && object != nullptr && !object->empty()); \
    if (full) {                                                                                 \
      Json whole;                                                                               \
      whole.m_type = type;                                                                      \
      whole.m_value = *this;                                                                    \
      cupilot::release(std::move(whole));                                                       \
      return;                                                                                   \
    }                                                                                           \
    switch (type) {                                                                             \
      case Json::value_t::object:                                                               \
        delete object;                                                                          \
        break;                                                                                  \
      case Json::value_t::array:                                                                \
        delete array;                                                                           \
        break;                                                                                  \
      case Json::value_t::string:                                                               \
        delete string;                                                                          \
        break;                                                                                  \
      case Json::value_t::binary:                                                               \
        delete binary;                                                                          \
        break;                                                                                  \
      default:                                                                                  \
        break;                                                                                  \
    }                                                                                           \
  }
CUPILOT_DESTROY_WITHOUT_MEMORY(cupilot::SortedJson)
CUPILOT_DESTROY_WITHOUT_MEMORY(cupilot::OrderedJson)
#undef CUPILOT_DESTROY_WITHOUT_MEMORY
