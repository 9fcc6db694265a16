#include "fuzz/mutate.hpp"

#include <algorithm>
#include <string_view>

namespace cupilot::fuzz {
namespace {

constexpr std::string_view awkward[] = {"-1",
                                        "0",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "1e999",
                                        "null",
                                        "[]",
                                        "{}",
                                        "\"\"",
                                        "true",
                                        "1e-320",
                                        "\\u0000",
                                        "\xff",
                                        "//",
                                        "((((((((",
                                        "[[[[[[[[",
                                        "{\"a\":",
                                        "NaN",
                                        "\r\n\r\n",
                                        "99999999999999999999"};

}  // namespace

void change(std::string& text, const std::string& other, Dice& dice) {
  const std::size_t at = dice.below(text.size() + 1), length = 1 + dice.below(1 + dice.below(64));
  switch (dice.below(7)) {
    case 0:
      if (at < text.size()) text[at] = dice.byte();
      return;
    case 1:
      text.erase(std::min(at, text.size()), length);
      return;
    case 2:
      text.insert(at, text.substr(dice.below(text.size() + 1), length));
      return;
    case 3:
      text.insert(at, dice.pick<std::string_view>(awkward));
      return;
    case 4: {
      const std::size_t from = text.find_first_of("0123456789", at);
      if (from == std::string::npos) return;
      const std::size_t to = std::min(text.find_first_not_of("0123456789.e-", from), text.size());
      text.replace(from, to - from, dice.pick<std::string_view>(awkward));
      return;
    }
    case 5:
      if (!other.empty()) text.insert(at, other.substr(dice.below(other.size()), length * 4));
      return;
    default:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << dice.below(8)));
  }
}

}  // namespace cupilot::fuzz
