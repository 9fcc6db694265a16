// Some names of nlohmann/json, in the inline namespace of Debian 12's version.
#pragma once

#include <cstddef>
#include <string>

#include "owner.hpp"

namespace nlohmann {
inline namespace json_abi_v3_11_2 {
namespace detail {

struct exception {
  static std::string name(const std::string& kind, int) { return only_the_owner("name"), kind; }
};

template <class Char, class Text>
struct output_string_adapter {
  void write_character(Char) { only_the_owner("write_character"); }
  void write_characters(const Char*, std::size_t) { only_the_owner("write_characters"); }
};

}  // namespace detail
}  // namespace json_abi_v3_11_2
}  // namespace nlohmann
