// Operands of an instruction.
#include <algorithm>
#include <charconv>
#include <utility>

#include "ptx/syntax/body_parser.hpp"

namespace cupilot::ptx {
namespace {

constexpr std::string_view special_names[] = {
#define X(name) #name,
    CUPILOT_PTX_SPECIALS(X)
#undef X
};

// "%tid.x" is listed as tid_x, "%cluster_ctaid.x" as cluster_ctaid_x.
std::optional<Special> special_named(std::string_view name) {
  std::string key(name.substr(1));
  for (char& c : key) c = c == '.' ? '_' : c;
  for (std::size_t i = 0; i < std::size(special_names); ++i) {
    if (special_names[i] == key) return static_cast<Special>(i);
  }
  for (std::string_view prefix : {"envreg", "pm", "is_explicit_cluster"}) {
    if (key.rfind(prefix, 0) == 0) return Special::other;
  }
  return std::nullopt;
}

constexpr std::size_t max_parts = 512;  // of one vector or call list

// "%r12": "%r" and 12. No number where there is none or it has a leading zero.
struct Split {
  std::string_view stem;
  std::uint64_t number = 0;
  bool numbered = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Split split_number(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  const std::size_t length = name.size() - digits;
  if (length == 0 || (length > 1 && name[digits] == '0')) return {name};
  Split split{std::string_view(name.data(), digits), 0, true};
  if (length <= 18) {
    for (std::size_t i = digits; i < name.size(); ++i)
      split.number = split.number * 10 + static_cast<std::uint64_t>(name[i] - '0');
  } else {
    split.numbered =
        std::from_chars(name.data() + digits, name.data() + name.size(), split.number).ec ==
        std::errc{};
  }
  return split;
}

}  // namespace

std::uint32_t BodyParser::add_group(Type type, std::uint64_t count) {
  RegisterGroup group{type, count};
  const std::uint64_t listed = std::max<std::uint64_t>(count, 1);
  if (listed <= may_list_) {
    group.indices.assign(listed, none_index);
    may_list_ -= listed;
  }
  groups_.push_back(std::move(group));
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

std::uint32_t BodyParser::make_register(std::uint32_t group_index, std::uint64_t number,
                                        std::string_view name) {
  RegisterGroup& group = groups_[group_index];
  std::uint32_t& index = group.indices.empty()
                             ? group.some.try_emplace(number, none_index).first->second
                             : group.indices[number];
  if (index != none_index) return index;
  if (function_.registers.size() >= scope_.limits.registers)
    fail(lexer_.line(), "more registers than the limit");
  index = static_cast<std::uint32_t>(function_.registers.size());
  function_.registers.push_back({std::string(name), group.type});
  return index;
}

std::uint32_t BodyParser::find_register(std::string_view name) {
  const Split split = split_number(name);
  auto& recent = recent_[static_cast<unsigned char>(split.stem.back()) % recent_.size()];
  bool alone = split.numbered && name[0] == '%' && !percent_names_;
  if (alone && recent.first == split.stem && split.number < groups_[recent.second].count)
    return make_register(recent.second, split.number, name);
  for (std::size_t i = open_.size(); i-- > 0;) {
    const Scope& scope = scopes_[open_[i]];
    if (const Symbol* symbol = scope.names.find(name))
      return symbol->kind == Symbol::Kind::registers ? make_register(symbol->index, 0, name)
                                                     : none_index;
    const std::uint32_t* group = split.numbered ? scope.groups.find(split.stem) : nullptr;
    if (group == nullptr) continue;
    if (split.number < groups_[*group].count) {
      if (alone) recent = {split.stem, *group};
      return make_register(*group, split.number, name);
    }
    alone = false;  // a group of that name is nearer
  }
  return none_index;
}

std::optional<Operand> BodyParser::special(std::string_view name) {
  if (name == "WARP_SZ")
    return Operand{.kind = OperandKind::immediate, .type = Type::s64, .bits = 32};
  if (name[0] != '%') return std::nullopt;
  const std::optional<Special> found = special_named(name);
  if (!found) return std::nullopt;
  return Operand{.kind = OperandKind::special, .index = static_cast<std::uint32_t>(*found)};
}

Operand BodyParser::named(std::string_view name, std::uint32_t line, bool label_allowed) {
  if (name == "_") return Operand{.kind = OperandKind::sink};
  if (const std::uint32_t found = find_register(name); found != none_index)
    return Operand{
        .kind = OperandKind::reg, .type = function_.registers[found].type, .index = found};
  if (const auto found = special(name)) return *found;
  const Symbol* symbol = nullptr;
  for (std::size_t i = open_.size(); i-- > 0 && symbol == nullptr;)
    symbol = scopes_[open_[i]].names.find(name);
  if (symbol == nullptr) symbol = scope_.names.find(name);
  if (symbol != nullptr) {
    constexpr OperandKind kinds[] = {OperandKind::none, OperandKind::variable, OperandKind::formal,
                                     OperandKind::function, OperandKind::table};
    return Operand{.kind = kinds[static_cast<int>(symbol->kind)], .index = symbol->index};
  }
  if (!member_names_.empty()) {
    const Operand whole = whole_vector(name);
    if (whole.count != 0) return whole;
  }
  if (!label_allowed) fail(line, "'" + std::string(name) + "' is not declared");
  return Operand{.kind = OperandKind::label, .index = none_index};
}

Operand BodyParser::number(bool negative, bool inverted) {
  const Token token = lexer_.take();
  Operand out{.kind = OperandKind::immediate, .bits = token.bits};
  if (token.kind == TokenKind::integer) {
    out.type = token.is_unsigned ? Type::u64 : Type::s64;
    if (negative) out.bits = 0 - out.bits;
    if (inverted) out.bits = ~out.bits;
  } else {
    out.type = token.kind == TokenKind::float32 ? Type::f32 : Type::f64;
    if (negative) out.bits ^= out.type == Type::f32 ? 0x80000000ull : 0x8000000000000000ull;
  }
  return out;
}

// The parts of a vector stand together: what was added to the function's operands since there were
// `first`.
Operand BodyParser::vector_since(std::size_t first) {
  Operand out{.kind = OperandKind::vector};
  out.index = static_cast<std::uint32_t>(first);
  out.count = static_cast<std::uint32_t>(function_.operands.size() - first);
  return out;
}

// A vector register stands for its members; no parts: there is none of that name.
Operand BodyParser::whole_vector(std::string_view name) {
  const std::size_t first = function_.operands.size();
  for (const char letter : std::string_view("xyzw")) {
    const std::string member = std::string(name) + "." + letter;
    const std::uint32_t found = find_register(member);
    if (found == none_index) break;
    function_.operands.push_back(
        {.kind = OperandKind::reg, .type = function_.registers[found].type, .index = found});
  }
  return vector_since(first);
}

namespace {

// Tells how tight each of C's binary operators on whole numbers binds; 0: none.
int binding_of(const Token& token) {
  if (token.kind != TokenKind::mark) return 0;
  switch (token.text[0]) {
    case '*':
    case '/':
      return 6;
    case '+':
    case '-':
      return 5;
    case '<':
    case '>':
      return 4;
    case '&':
      return 3;
    case '^':
      return 2;
    case '|':
      return 1;
    default:
      return 0;
  }
}

// A whole number of 64 bits, as ptxas computes constants.
struct Constant {
  std::uint64_t bits = 0;
  bool is_unsigned = false;
};

class ConstantReader {
 public:
  ConstantReader(Lexer& lexer) : lexer_(lexer) {}

  Constant sum(int least, int depth) {
    Constant left = unary(depth);
    for (;;) {
      const Token op = lexer_.peek();
      const int binding = binding_of(op);
      if (binding < least || binding == 0) return left;
      lexer_.take();
      if (binding == 4) lexer_.expect(op.text[0]);  // "<<", ">>"
      left = joined(op, left, sum(binding + 1, depth));
    }
  }

  Constant unary(int depth) {
    if (depth > 64) throw SyntaxError{lexer_.line(), "a constant expression nests too deep"};
    if (lexer_.accept('-')) {
      const Constant value = unary(depth + 1);
      return {0 - value.bits, value.is_unsigned};
    }
    if (lexer_.accept('~')) {
      const Constant value = unary(depth + 1);
      return {~value.bits, value.is_unsigned};
    }
    if (lexer_.accept('+')) return unary(depth + 1);
    if (lexer_.accept('(')) {
      const Constant value = sum(1, depth + 1);
      lexer_.expect(')');
      return value;
    }
    const bool is_unsigned = lexer_.peek().is_unsigned;
    return {lexer_.expect_integer("a number"), is_unsigned};
  }

 private:
  static Constant joined(const Token& op, const Constant& a, const Constant& b) {
    const bool is_unsigned = a.is_unsigned || b.is_unsigned;
    const auto with = [&](std::uint64_t bits) { return Constant{bits, is_unsigned}; };
    const auto as_signed = [](const Constant& c) { return static_cast<std::int64_t>(c.bits); };
    switch (op.text[0]) {
      case '*':
        return with(a.bits * b.bits);
      case '+':
        return with(a.bits + b.bits);
      case '-':
        return with(a.bits - b.bits);
      case '&':
        return with(a.bits & b.bits);
      case '^':
        return with(a.bits ^ b.bits);
      case '|':
        return with(a.bits | b.bits);
      case '<':
        return {b.bits > 63 ? 0 : a.bits << b.bits, a.is_unsigned};
      case '>':
        if (a.is_unsigned) return {b.bits > 63 ? 0 : a.bits >> b.bits, true};
        return {static_cast<std::uint64_t>(as_signed(a) >> std::min<std::uint64_t>(b.bits, 63)),
                false};
      default:
        break;
    }
    if (b.bits == 0) throw SyntaxError{op.line, "a constant is divided by zero"};
    if (is_unsigned) return with(a.bits / b.bits);
    if (as_signed(b) == -1) return with(0 - a.bits);
    return with(static_cast<std::uint64_t>(as_signed(a) / as_signed(b)));
  }

  Lexer& lexer_;
};

}  // namespace

// (1 << 4) | 3, its first parenthesis being next.
Operand BodyParser::constant_expression() {
  const Constant value = ConstantReader(lexer_).sum(1, 0);
  return {.kind = OperandKind::immediate,
          .type = value.is_unsigned ? Type::u64 : Type::s64,
          .bits = value.bits};
}

// Reads the term after one sign of an address: a number, a product of numbers, or parentheses.
std::uint64_t BodyParser::constant_offset() { return ConstantReader(lexer_).sum(6, 0).bits; }

Operand BodyParser::braces() {
  const std::uint32_t line = lexer_.line();
  const std::size_t first = function_.operands.size();
  lexer_.expect('{');
  do {
    if (function_.operands.size() - first >= max_parts) fail(line, "a vector with too many parts");
    function_.operands.push_back(unary_or_name(false));
  } while (lexer_.accept(','));
  lexer_.expect('}');
  return vector_since(first);
}

Operand BodyParser::parentheses() {
  const std::uint32_t line = lexer_.line();
  const std::size_t first = function_.operands.size();
  lexer_.expect('(');
  if (!lexer_.accept(')')) {
    do {
      if (function_.operands.size() - first >= max_parts)
        fail(line, "a call with too many arguments");
      function_.operands.push_back(unary_or_name(false));
    } while (lexer_.accept(','));
    lexer_.expect(')');
  }
  return vector_since(first);
}

Operand BodyParser::address() {
  const std::uint32_t line = lexer_.line();
  lexer_.expect('[');
  const Operand base = unary_or_name(false);
  Operand out{
      .kind = OperandKind::address, .base = base.kind, .type = base.type, .index = base.index};
  if (base.kind == OperandKind::immediate) {
    out.offset = static_cast<std::int64_t>(base.bits);
  } else if (base.kind != OperandKind::reg && base.kind != OperandKind::variable &&
             base.kind != OperandKind::formal) {
    fail(line, "an address must start with a register, a variable or a number");
  }
  for (;;) {
    const bool minus = lexer_.peek().is('-');
    if (!minus && !lexer_.peek().is('+')) break;
    lexer_.take();
    const std::uint64_t value = constant_offset();
    out.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(out.offset) +
                                           (minus ? 0 - value : value));
  }
  if (lexer_.accept(',')) {
    const std::size_t first = function_.operands.size();
    if (lexer_.peek().is('{')) {
      braces();
    } else {
      function_.operands.push_back(unary_or_name(false));
    }
    out.coordinates = static_cast<std::uint32_t>(first);
    out.count = static_cast<std::uint32_t>(function_.operands.size() - first);
    if (lexer_.accept(',')) lexer_.peek().is('{') ? (void)braces() : (void)unary_or_name(false);
  }
  lexer_.expect(']');
  return out;
}

Operand BodyParser::name_or_label(bool label_allowed) {
  const std::uint32_t line = lexer_.line();
  const std::string_view name = lexer_.expect_word("a name");
  Operand out = named(name, line, label_allowed);
  if (out.kind == OperandKind::label) uses_.push_back({open_.back(), name, line, false, 0, 0});
  return out;
}

Operand BodyParser::unary_or_name(bool label_allowed) {
  const std::uint32_t line = lexer_.line();
  if (lexer_.peek().kind == TokenKind::word) return name_or_label(label_allowed);
  if (lexer_.accept('!')) {
    if (lexer_.peek().is('!')) fail(line, "'!' stands twice");
    Operand out = unary_or_name(false);
    if (out.kind != OperandKind::reg) fail(line, "'!' must stand before a predicate");
    out.negated = true;
    return out;
  }
  const bool negative = lexer_.accept('-'), inverted = !negative && lexer_.accept('~');
  if (!negative && !inverted && lexer_.peek().is('(')) return constant_expression();
  const TokenKind kind = lexer_.peek().kind;
  if (kind == TokenKind::integer || kind == TokenKind::float32 || kind == TokenKind::float64)
    return number(negative, inverted);
  fail(line,
       "expected an operand but found '" + std::string(lexer_.peek().text.substr(0, 40)) + "'");
}

Operand BodyParser::operand(bool label_allowed) {
  if (lexer_.peek().is('[')) return address();
  if (lexer_.peek().is('{')) return braces();
  Operand first = unary_or_name(label_allowed);
  if (first.kind == OperandKind::reg || first.kind == OperandKind::variable) {
    while (lexer_.peek().is('+') || lexer_.peek().is('-')) {
      const bool minus = lexer_.take().is('-');
      const std::uint64_t value = constant_offset();
      added_ += minus ? 0 - value : value;
    }
  }
  if (!lexer_.accept('|')) return first;
  // A label's place is filled in later, and only among the operands of the instruction itself.
  if (first.kind == OperandKind::label) fail(lexer_.line(), "a label stands alone");
  const std::size_t start = function_.operands.size();
  function_.operands.push_back(first);
  function_.operands.push_back(unary_or_name(false));
  Operand pair = vector_since(start);
  pair.pair = true;
  return pair;
}

}  // namespace cupilot::ptx
