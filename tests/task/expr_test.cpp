#include <algorithm>
#include <cupilot/parts/expr.hpp>
#include <cupilot/rng.hpp>
#include <map>
#include <optional>
#include <set>

#include "catch.hpp"

namespace cupilot {
namespace {

using Kind = ExprFault::Kind;

ExprScope some_names() {
  return scope_of({{"m", 100},
                   {"n", 7},
                   {"zero", 0},
                   {"neg", -3},
                   {"elem.A", 2},
                   {"dev.shared", 232448},
                   {"big", INT64_MAX}});
}

TEST_CASE("values of expressions") {
  struct Case {
    const char* text;
    std::int64_t want;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"0", 0},
      {" 42 ", 42},
      {"9223372036854775807", INT64_MAX},
      {"1+2*3", 7},
      {"(1+2)*3", 9},
      {"10-3-2", 5},
      {"100/7/2", 7},
      {"100%7", 2},
      {"2*3%4", 2},
      {"-3+5", 2},
      {"- -3", 3},
      {"-(2)*3", -6},
      {"!0 + !5", 1},
      {"!!7", 1},
      {"1<2 == 2>1", 1},
      {"3<=3 && 4>=5", 0},
      {"2 != 2 || 7", 1},
      {"1 ? 2 : 3", 2},
      {"0 ? 2 : 0 ? 3 : 4", 4},
      {"1 ? 0 ? 5 : 6 : 7", 6},
      {"1 || 1 && 0", 1},
      {"1 + 1 == 2 && 3 < 4", 1},
      {"min(3,m)", 3},
      {"max(3,m)", 100},
      {"cdiv(m,n)", 15},
      {"cdiv(0,n)", 0},
      {"up(m,8)", 104},
      {"up(m,100)", 100},
      {"pow2(0)", 1},
      {"pow2(1)", 1},
      {"pow2(5)", 8},
      {"pow2(64)", 64},
      {"log2(1)", 0},
      {"log2(1023)", 9},
      {"log2(big)", 62},
      {"isqrt(0)", 0},
      {"isqrt(99)", 9},
      {"isqrt(m)", 10},
      {"isqrt(big)", 3037000499},
      {"passes(1, 0, 4, 0)", 1},      // a row of words
      {"passes(1, 0, 16, 0)", 4},     // of 16 bytes: 512 bytes
      {"passes(1, 0, 32, 0)", 16},    // two accesses each, every second 16 bytes
      {"passes(32, 128, 4, 0)", 32},  // a column of words
      {"passes(32, 132, 4, 0)", 1},   // padded by a word
      {"passes(32, 128, 16, 0)", 32},
      {"passes(32, 128, 16, 8)", 4},
      {"passes(32, 64, 16, 4)", 4},
      {"passes(4, 256, 2, 8, 16)", 1},
      {"passes(n - 8, 0, 4, zero)", 1},  // less than one row is one
      {"cdiv(big,1)", INT64_MAX},
      {"elem.A*dev.shared", 464896},
      {"min (m , n)", 7},
      {"m\t*\nn", 700},
  }));
  INFO(c.text);
  const ExprValue value = evaluate(c.text, some_names());
  REQUIRE(std::holds_alternative<std::int64_t>(value));
  CHECK(std::get<std::int64_t>(value) == c.want);
}

TEST_CASE("lazy operators do not look at what they skip") {
  for (const char* text : {"1 || 1/0", "!(0 && unknown)", "1 ? 1 : 1/0", "zero ? m/zero : 1",
                           "zero != 0 && m/zero > 1 ? 0 : 1"}) {
    INFO(text);
    const ExprValue value = evaluate(text, some_names());
    REQUIRE(std::holds_alternative<std::int64_t>(value));
    CHECK(std::get<std::int64_t>(value) == 1);
  }
}

TEST_CASE("faults name their kind and column") {
  struct Case {
    std::string text;
    Kind kind;
    int column;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"", Kind::syntax, 1},
      {"   ", Kind::syntax, 4},
      {"1 +", Kind::syntax, 4},
      {"1 2", Kind::syntax, 3},
      {"(1", Kind::syntax, 3},
      {"1)", Kind::syntax, 2},
      {"1 ? 2", Kind::syntax, 6},
      {"min(1)", Kind::syntax, 6},
      {"min(1,2,3)", Kind::syntax, 8},
      {"pow2()", Kind::syntax, 6},
      {"m.", Kind::syntax, 2},
      {"1.5", Kind::syntax, 2},
      {"0x10", Kind::syntax, 2},
      {"1e12", Kind::syntax, 2},
      {"m = 1", Kind::syntax, 3},
      {"m & n", Kind::syntax, 3},
      {"m << 1", Kind::syntax, 4},
      {"1--2", Kind::syntax, 3},
      {"m;n", Kind::syntax, 2},
      {"m \xC3\xA4", Kind::syntax, 3},
      {std::string("m\0n", 3), Kind::syntax, 2},
      {"abs(1)", Kind::unknown_name, 1},
      {"m + q", Kind::unknown_name, 5},
      {"9223372036854775808", Kind::overflow, 1},
      {"1 + 99999999999999999999999", Kind::overflow, 5},
      {"big + 1", Kind::overflow, 5},
      {"big * 2", Kind::overflow, 5},
      {"-big - 2", Kind::overflow, 6},
      {"up(big, 2)", Kind::overflow, 1},
      {"pow2(big)", Kind::overflow, 1},
      {"neg / 2", Kind::negative_dividend, 5},
      {"neg % 2", Kind::negative_dividend, 5},
      {"cdiv(neg, 2)", Kind::negative_dividend, 1},
      {"pow2(neg)", Kind::negative_dividend, 1},
      {"log2(neg)", Kind::negative_dividend, 1},
      {"isqrt(neg)", Kind::negative_dividend, 1},
      {"passes(1, neg, 4, 0)", Kind::negative_dividend, 1},
      {"passes(1, 128, 0, 0)", Kind::zero_divisor, 1},
      {"passes(1, 128, 129, 0)", Kind::zero_divisor, 1},
      {"passes(1, 128, 4, 3)", Kind::zero_divisor, 1},
      {"passes(1, 128, 4, 8, 65)", Kind::zero_divisor, 1},
      {"passes(1, 128, 4)", Kind::syntax, 17},
      {"passes(1, 128, 4, 0, 8, 1)", Kind::syntax, 23},
      {"m / zero", Kind::zero_divisor, 3},
      {"m % neg", Kind::zero_divisor, 3},
      {"up(m, 0)", Kind::zero_divisor, 1},
      {"log2(0)", Kind::zero_divisor, 1},
      {std::string(4097, '1'), Kind::too_long, 4097},
      {std::string(40, '(') + "1" + std::string(40, ')'), Kind::too_deep, 33},
      {std::string(40, '!') + "1", Kind::too_deep, 32},
      {"1/0 + (", Kind::syntax, 8},  // syntax comes before values
  }));
  INFO(c.text);
  const ExprValue value = evaluate(c.text, some_names());
  REQUIRE(std::holds_alternative<ExprFault>(value));
  const ExprFault& fault = std::get<ExprFault>(value);
  CHECK(static_cast<int>(fault.kind) == static_cast<int>(c.kind));
  CHECK(fault.column == c.column);
  CHECK_FALSE(fault.message.empty());
}

TEST_CASE("4096 bytes and 32 levels are allowed") {
  std::string sum = "1";
  while (sum.size() + 2 <= 4095) sum += "+1";
  CHECK(std::get<std::int64_t>(evaluate(sum, {})) == 2048);
  const std::string nested = std::string(31, '(') + "5" + std::string(31, ')');
  CHECK(std::get<std::int64_t>(evaluate(nested, {})) == 5);
}

TEST_CASE("definitions are lazy, may refer onward and see circles") {
  const ExprScope scope = scope_with(some_names(), {{"tiles", "cdiv(m,step)"},
                                                    {"step", "n*2"},
                                                    {"bad", "1/0"},
                                                    {"a", "b+1"},
                                                    {"b", "a"},
                                                    {"self", "self"},
                                                    {"far", "1 + lost"}});
  CHECK(std::get<std::int64_t>(evaluate("tiles*10", scope)) == 80);
  CHECK(std::get<std::int64_t>(evaluate("1 ? step : bad", scope)) == 14);
  for (const auto& [text, kind] : {std::pair{"2*a", Kind::circular},
                                   {"  self", Kind::circular},
                                   {"0 + far", Kind::unknown_name}}) {
    INFO(text);
    const ExprFault fault = std::get<ExprFault>(evaluate(text, scope));
    CHECK(static_cast<int>(fault.kind) == static_cast<int>(kind));
    CHECK(fault.column == (text[0] == '2' ? 3 : text[0] == ' ' ? 3 : 5));
  }
  CHECK(std::get<ExprFault>(evaluate("far", scope)).message.find("lost") != std::string::npos);
}

TEST_CASE("definitions that double at every step stay linear, endless chains are refused") {
  std::vector<std::pair<std::string, Expr>> doubling = {{"x0", 1}};
  for (int i = 1; i <= 60; ++i) {
    const std::string before = "x" + std::to_string(i - 1);
    doubling.push_back({"x" + std::to_string(i), before + "+" + before});
  }
  CHECK(std::get<std::int64_t>(evaluate("x60", scope_with({}, doubling))) == std::int64_t{1} << 60);

  std::vector<std::pair<std::string, Expr>> chain;
  for (int i = 0; i < 1000; ++i)
    chain.push_back({"c" + std::to_string(i), "c" + std::to_string(i + 1)});
  CHECK(std::get<ExprFault>(evaluate("c0", scope_with({}, chain))).kind == Kind::too_deep);
}

TEST_CASE("a name that only compiling answers") {
  const ExprScope scope = [](std::string_view) -> ExprValue {
    return ExprFault{Kind::not_yet, 0, ""};
  };
  const ExprFault fault = std::get<ExprFault>(evaluate("1+resident.main", scope));
  CHECK(fault.kind == Kind::not_yet);
  CHECK(fault.column == 3);
}

TEST_CASE("errors quote text, column and reason") {
  const auto error = evaluate_or_error("m/zero", some_names());
  REQUIRE_FALSE(error);
  CHECK(error.error().code == ErrorCode::usage);
  CHECK(error.error().message == "expression \"m/zero\", column 2: division by 0");
  CHECK(std::holds_alternative<ExprFault>(check_syntax("1+")));
  CHECK(std::holds_alternative<std::monostate>(check_syntax("anything/0")));
}

// A second evaluator: values are computed while the text is generated, in 128 bits, without parser
// or precedence.
struct Generated {
  std::string text;
  std::optional<__int128> value;  // nullopt: a fault somewhere that evaluation reaches
};

bool fits(__int128 x) { return x >= INT64_MIN && x <= INT64_MAX; }

Generated combine(const char* op, const Generated& a, const Generated& b) {
  Generated out{"(" + a.text + ")" + op + "(" + b.text + ")", std::nullopt};
  const std::string_view word = op;
  if (!a.value) return out;
  if (word == "||" && *a.value != 0) return out.value = 1, out;
  if (word == "&&" && *a.value == 0) return out.value = 0, out;
  if (!b.value) return out;
  const __int128 x = *a.value, y = *b.value;
  if (word == "+") out.value = x + y;
  if (word == "-") out.value = x - y;
  if (word == "*") out.value = x * y;
  if ((word == "/" || word == "%") && x >= 0 && y > 0) out.value = word == "/" ? x / y : x % y;
  if (word == "<") out.value = x < y;
  if (word == "<=") out.value = x <= y;
  if (word == ">") out.value = x > y;
  if (word == ">=") out.value = x >= y;
  if (word == "==") out.value = x == y;
  if (word == "!=") out.value = x != y;
  if (word == "||" || word == "&&") out.value = y != 0;
  if (out.value && !fits(*out.value)) out.value.reset();
  return out;
}

Generated call(const char* name, const Generated& a, const Generated& b) {
  Generated out{std::string(name) + "(" + a.text + "," + b.text + ")", std::nullopt};
  if (!a.value || !b.value) return out;
  const __int128 x = *a.value, y = *b.value;
  const std::string_view word = name;
  if (word == "min") out.value = x < y ? x : y;
  if (word == "max") out.value = x < y ? y : x;
  if (word == "cdiv" && x >= 0 && y > 0) out.value = (x + y - 1) / y;
  if (word == "up" && x >= 0 && y > 0) out.value = (x + y - 1) / y * y;
  if (out.value && !fits(*out.value)) out.value.reset();
  return out;
}

Generated generate(Rng& rng, int depth) {
  static const char* const operators[] = {
      "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||"};
  static const char* const functions[] = {"min", "max", "cdiv", "up"};
  static const std::pair<const char*, std::int64_t> names[] = {
      {"m", 100}, {"n", 7}, {"zero", 0}, {"neg", -3}, {"big", INT64_MAX}};
  const std::int64_t kind = depth == 0 ? rng.below(2) : rng.below(8);
  if (kind == 0) {
    const std::int64_t value = rng.below(rng.chance(0.2) ? 4000000000 : 20);
    return {std::to_string(value), value};
  }
  if (kind == 1) {
    const auto& [text, value] = names[rng.below(5)];
    return {text, value};
  }
  const Generated a = generate(rng, depth - 1), b = generate(rng, depth - 1);
  if (kind == 2) return call(functions[rng.below(4)], a, b);
  if (kind == 3) {
    const Generated c = generate(rng, depth - 1);
    Generated out{"(" + a.text + ") ? (" + b.text + ") : (" + c.text + ")", std::nullopt};
    if (a.value) out.value = *a.value != 0 ? b.value : c.value;
    return out;
  }
  if (kind == 4) {
    Generated out{"-(" + a.text + ")", a.value};
    if (out.value) out.value = -*out.value;
    if (out.value && !fits(*out.value)) out.value.reset();
    return out;
  }
  return combine(operators[rng.below(13)], a, b);
}

TEST_CASE("random expressions agree with a second evaluator") {
  Rng rng(11);
  int values = 0, faults = 0;
  for (int i = 0; i < 20000; ++i) {
    const Generated sample = generate(rng, 4);
    if (sample.text.size() > 512) continue;
    const ExprValue got = evaluate(sample.text, some_names());
    const auto* number = std::get_if<std::int64_t>(&got);
    const bool same = sample.value
                          ? number != nullptr && *number == static_cast<std::int64_t>(*sample.value)
                          : number == nullptr;
    if (!same) FAIL(sample.text);
    (sample.value ? values : faults) += 1;
  }
  CHECK(values > 5000);
  CHECK(faults > 2000);
}

// Bytes of shared memory that each lane of a warp touches, one after another.
std::int64_t wavefronts_by_hand(std::int64_t rows, std::int64_t pitch, std::int64_t width,
                                std::int64_t swizzle, std::int64_t step) {
  const std::int64_t side = (32 + rows - 1) / rows, piece = std::min<std::int64_t>(width, 16);
  const std::int64_t together = piece <= 4 ? 32 : piece <= 8 ? 16 : 8;
  std::int64_t total = 0;
  for (std::int64_t first = 0; first < width; first += piece) {
    for (std::int64_t lanes = 0; lanes < 32; lanes += together) {
      std::map<std::int64_t, std::set<std::int64_t>> words;  // by bank
      for (std::int64_t lane = lanes; lane < lanes + together; ++lane) {
        const std::int64_t row = lane / side;
        for (std::int64_t byte = 0; byte < piece; ++byte) {
          const std::int64_t column = lane % side * width + first + byte;
          const std::int64_t unit =
              swizzle > 1 ? (column / 16) ^ (row * step / 8 % swizzle) : column / 16;
          const std::int64_t word = (row * pitch + unit * 16 + column % 16) / 4;
          words[word % 32].insert(word);
        }
      }
      std::size_t deepest = 0;
      for (const auto& [bank, of] : words) deepest = std::max(deepest, of.size());
      total += static_cast<std::int64_t>(deepest);
    }
  }
  return total;
}

TEST_CASE("passes counts wavefronts as banks of words do") {
  Rng rng(3);
  for (int i = 0; i < 4000; ++i) {
    const std::int64_t width = std::int64_t{1} << rng.below(7),
                       unit = std::min<std::int64_t>(width, 16);
    const std::int64_t rows = 1 + rng.below(32), pitch = unit * rng.below(600 / unit + 1);
    const std::int64_t swizzle = rng.below(4) == 0 ? 0 : std::int64_t{1} << rng.below(4);
    const std::int64_t step = rng.below(2) == 0 ? swizzle : rng.below(65);
    std::string text = "passes(" + std::to_string(rows) + ", " + std::to_string(pitch) + ", " +
                       std::to_string(width) + ", " + std::to_string(swizzle);
    text += step == swizzle ? ")" : ", " + std::to_string(step) + ")";
    INFO(text);
    const ExprValue value = evaluate(text, {});
    REQUIRE(std::holds_alternative<std::int64_t>(value));
    REQUIRE(std::get<std::int64_t>(value) == wavefronts_by_hand(rows, pitch, width, swizzle, step));
  }
}

TEST_CASE("precedence without parentheses is that of C") {
  // The compiler evaluates the same text.
#define SAME(text) \
  CHECK(std::get<std::int64_t>(evaluate(#text, some_names())) == static_cast<std::int64_t>(text))
  const std::int64_t m = 100, n = 7;
  SAME(m - n * 3 + m / n % 4 - 2);
  SAME(m < n * 20 == 1);
  SAME(m % 3 == 1 && n != 7 || m > 99);
  SAME(m > 5 ? n < 3 ? 1 : 2 : 3);
  SAME(!m + n);
  SAME(-m + -n * 2);
#undef SAME
}

TEST_CASE("random bytes never crash and always answer") {
  Rng rng(5);
  static const char alphabet[] = "0123456789mnq.+-*/%<>=!&|?:(), cdivuplogmax2\t\n\xFF";
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (std::int64_t left = rng.below(24); left > 0; --left)
      text += alphabet[rng.below(sizeof alphabet - 1)];
    const ExprValue value = evaluate(text, some_names());
    if (const auto* fault = std::get_if<ExprFault>(&value)) {
      if (fault->column < 1 || fault->column > static_cast<int>(text.size()) + 1 ||
          fault->message.empty())
        FAIL(text);
    }
  }
  SUCCEED();
}

}  // namespace
}  // namespace cupilot
