#include "verify/named_sizes.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace cupilot {
namespace {

using Words = std::vector<std::string_view>;

// One step of arithmetic with a constant.
struct Step {
  std::string_view operation;
  std::int64_t number;
};

// A register that holds an argument after some steps.
struct Made {
  std::string parameter;
  std::vector<Step> steps;
};

std::optional<std::int64_t> number_in(std::string_view word) {
  std::int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [read, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || read != end) return std::nullopt;
  return number;
}

// True for numbers that sizes and steps may be, whose sums and products fit 64 bits.
bool is_moderate(std::int64_t number) {
  constexpr std::int64_t most = 1ll << 40;
  return number > -most && number < most;
}

// The words of a statement: operation, then operands; labels, guards and brackets left out.
Words words_of_statement(std::string_view text) {
  constexpr std::string_view between = " \t\n\r,{}[]();";
  Words words;
  for (std::size_t at = text.find_first_not_of(between); at < text.size();
       at = text.find_first_not_of(between, at)) {
    const std::size_t end = std::min(text.find_first_of(between, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (words.empty() && (word.ends_with(':') || word.starts_with('@'))) continue;
    words.push_back(word);
  }
  return words;
}

// The value before a step, of that after it; nullopt: none gives it.
std::optional<std::int64_t> before(const Step& step, std::int64_t value) {
  const std::int64_t n = step.number;
  if (!is_moderate(value) || !is_moderate(n)) return std::nullopt;
  if (step.operation == "add") return value - n;
  if (step.operation == "sub") return value + n;
  if (step.operation == "xor") return value ^ n;
  if (step.operation == "and" && (value & ~n) == 0) return value;
  if (step.operation == "rem" && value < n) return value;
  if (step.operation == "div" && n > 0 && value >= 0 && value < (1ll << 40) / n) return value * n;
  if (step.operation == "mul" && n != 0 && value % n == 0) return value / n;
  if (step.operation == "shr" && n >= 0 && n < 32 && value >= 0 && value < (1ll << 31))
    return value << n;
  if (step.operation == "shl" && n >= 0 && n < 32 && value % (1ll << n) == 0) return value >> n;
  return std::nullopt;
}

// Follows arguments through the registers of one function, statement by statement.
class ArgumentsOfText {
 public:
  ArgumentsOfText(std::int64_t fewest, std::vector<NamedSize>& found)
      : fewest_(fewest), found_(found) {}

  void take(std::string_view statement, std::uint32_t line) {
    const Words words = words_of_statement(statement);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] != ".entry" && words[i] != ".func") continue;
      made_.clear();
      entry_ = words[i] == ".entry" ? words[i + 1] : "";
    }
    if (words.size() < 3) return;
    const bool high = words[0].starts_with("mul.hi");
    const std::string_view operation = high ? words[0] : words[0].substr(0, words[0].find('.'));
    if (operation == "setp" && words.size() > 3) return compare(words, line);
    made_.erase(words[1]);
    if (operation == "ld" && words[0].starts_with("ld.param") && words.size() == 3 &&
        !entry_.empty()) {
      made_[words[1]] = {std::string(words[2]), {}};
      return;
    }
    const auto from = made_.find(words[2]);
    if (from == made_.end()) return;
    if ((operation == "mov" || operation == "cvt") && words.size() == 3) {
      made_[words[1]] = from->second;
    } else if (const auto number = words.size() == 4 ? number_in(words[3]) : std::nullopt) {
      Made made = from->second;
      made.steps.push_back({operation, *number});
      made_[words[1]] = std::move(made);
    }
  }

 private:
  void compare(const Words& words, std::uint32_t line) {
    if (words[0].find(".f") != std::string_view::npos) return;
    const bool swapped = number_in(words[2]).has_value();
    const auto number = number_in(words[swapped ? 2 : 3]);
    if (!number || !is_moderate(*number)) return;
    const std::string_view relation = words[0].substr(5, 2);
    const bool equal = relation == "eq" || relation == "ne";
    const auto made = made_.find(words[swapped ? 3 : 2]);
    if (made == made_.end()) {
      if (equal && *number > 1) found_.push_back({*number, line, false, "", -1, *number});
      return;
    }
    add(made->second, *number, line, equal);
    // The other side of the relation.
    const bool above =
        (relation == "gt" || relation == "le" || relation == "hi" || relation == "ls") != swapped;
    if (!equal) add(made->second, *number + (above ? 1 : -1), line, false);
  }

  void add(const Made& made, std::int64_t number, std::uint32_t line, bool equal) {
    std::optional<std::int64_t> size = number;
    for (auto step = made.steps.rbegin(); size && step != made.steps.rend(); ++step)
      size = before(*step, *size);
    if (!size || !is_moderate(*size) || *size <= (equal ? 1 : fewest_)) return;
    const std::size_t at = made.parameter.rfind("_param_");
    const auto place = at == std::string::npos
                           ? std::nullopt
                           : number_in(std::string_view(made.parameter).substr(at + 7));
    found_.push_back(
        {*size, line, true, std::string(entry_), place ? static_cast<int>(*place) : -1, number});
  }

  std::int64_t fewest_;
  std::vector<NamedSize>& found_;
  std::string_view entry_;
  std::map<std::string_view, Made> made_;
};

// Calls f(statement, line) for each statement of a text.
template <class F>
void for_statements(std::string_view ptx, F f) {
  std::uint32_t line = 1;
  for (std::size_t at = 0; at < ptx.size();) {
    const std::size_t end = std::min(ptx.find_first_of(";\n", at), ptx.size());
    const std::string_view statement = ptx.substr(at, end - at);
    f(statement.substr(0, statement.find("//")), line);
    line += end < ptx.size() && ptx[end] == '\n' ? 1 : 0;
    at = end + 1;
  }
}

// True for values that what is computed of them does not overflow by: a sentinel is none.
bool is_usual(double value) { return std::abs(value) >= 1e-6 && std::abs(value) <= 1e6; }

// "0f406CCCCD", "0d400D99999999999A"
std::optional<double> float_in(std::string_view word) {
  const bool wide = word.starts_with("0d");
  if ((!wide && !word.starts_with("0f")) || word.size() != (wide ? 18 : 10)) return std::nullopt;
  std::uint64_t bits = 0;
  const char* const end = word.data() + word.size();
  const auto [read, error] = std::from_chars(word.data() + 2, end, bits, 16);
  if (error != std::errc() || read != end) return std::nullopt;
  return wide ? std::bit_cast<double>(bits)
              : std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

// The value of fp32 whose bits a whole number is; nullopt: it is small or large, or no bits.
std::optional<double> float_of_bits(std::string_view word) {
  const auto number = number_in(word);
  if (!number || *number < -(1ll << 31) || *number >= 1ll << 32) return std::nullopt;
  const double value = std::bit_cast<float>(static_cast<std::uint32_t>(*number));
  return is_usual(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<NamedSize> named_sizes(std::string_view ptx, std::int64_t fewest) {
  std::vector<NamedSize> found;
  ArgumentsOfText text(fewest, found);
  for_statements(
      ptx, [&](std::string_view statement, std::uint32_t line) { text.take(statement, line); });
  return found;
}

std::vector<NamedValue> named_values(std::string_view ptx) {
  std::vector<NamedValue> found;
  for_statements(ptx, [&](std::string_view statement, std::uint32_t line) {
    const Words words = words_of_statement(statement);
    if (words.size() < 4 || !words[0].starts_with("setp.")) return;
    const std::string_view relation = words[0].substr(5, words[0].find('.', 5) - 5);
    if (relation != "eq" && relation != "ne" && relation != "equ" && relation != "neu") return;
    const bool whole = words[0].find(".f") == std::string_view::npos;
    for (std::size_t i = 2; i < 4; ++i) {
      const auto value = whole ? float_of_bits(words[i]) : float_in(words[i]);
      if (value && is_usual(*value)) found.push_back({*value, line});
    }
  });
  return found;
}

}  // namespace cupilot
