// Operands of an instruction.
#include <charconv>

#include "ptx/body_parser.hpp"

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
  for (std::string_view prefix : {"envreg", "pm", "reserved_smem_offset", "is_explicit_cluster"}) {
    if (key.rfind(prefix, 0) == 0) return Special::other;
  }
  return std::nullopt;
}

constexpr std::size_t max_parts = 512;  // of one vector or call list

}  // namespace

std::uint32_t BodyParser::make_register(RegisterGroup& group, std::uint64_t number, std::string_view name, std::uint32_t line) {
  const auto [place, fresh] = group.used.try_emplace(number, static_cast<std::uint32_t>(function_.registers.size()));
  if (fresh) {
    if (function_.registers.size() >= scope_.limits.registers) fail(line, "more registers than the limit");
    function_.registers.push_back({std::string(name), group.type});
  }
  return place->second;
}

std::optional<Operand> BodyParser::find_register(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string stem(name.substr(0, digits));
  std::uint64_t number = 0;
  bool numbered = digits < name.size() && (name[digits] != '0' || digits + 1 == name.size());
  if (numbered) numbered = std::from_chars(name.data() + digits, name.data() + name.size(), number).ec == std::errc{};
  const std::string whole(name);
  for (std::size_t i = open_.size(); i-- > 0;) {
    const auto& names = scopes_[open_[i]].names;
    if (const auto found = names.find(whole); found != names.end()) {
      if (found->second.kind != Symbol::Kind::registers) return std::nullopt;
      RegisterGroup& group = groups_[found->second.index];
      if (group.count == 0) {
        const std::uint32_t index = make_register(group, 0, name, lexer_.line());
        return Operand{.kind = OperandKind::reg, .type = group.type, .index = index};
      }
    }
    if (!numbered) continue;
    if (const auto found = names.find(stem + "<"); found != names.end()) {
      RegisterGroup& group = groups_[found->second.index];
      if (number < group.count) {
        const std::uint32_t index = make_register(group, number, name, lexer_.line());
        return Operand{.kind = OperandKind::reg, .type = group.type, .index = index};
      }
    }
  }
  return std::nullopt;
}

std::optional<Operand> BodyParser::special(std::string_view name) {
  if (name == "WARP_SZ") return Operand{.kind = OperandKind::immediate, .type = Type::s64, .bits = 32};
  if (name[0] != '%') return std::nullopt;
  const std::optional<Special> found = special_named(name);
  if (!found) return std::nullopt;
  return Operand{.kind = OperandKind::special, .index = static_cast<std::uint32_t>(*found)};
}

Operand BodyParser::named(std::string_view name, std::uint32_t line, bool label_allowed) {
  if (name == "_") return Operand{.kind = OperandKind::sink};
  if (const auto found = find_register(name)) return *found;
  if (const auto found = special(name)) return *found;
  const std::string key(name);
  const Symbol* symbol = nullptr;
  for (std::size_t i = open_.size(); i-- > 0 && symbol == nullptr;) {
    const auto& names = scopes_[open_[i]].names;
    if (const auto found = names.find(key); found != names.end()) symbol = &found->second;
  }
  if (symbol == nullptr) {
    if (const auto found = scope_.names.find(key); found != scope_.names.end()) symbol = &found->second;
  }
  if (symbol != nullptr) {
    constexpr OperandKind kinds[] = {OperandKind::none, OperandKind::variable, OperandKind::formal, OperandKind::function,
                                     OperandKind::table};
    return Operand{.kind = kinds[static_cast<int>(symbol->kind)], .index = symbol->index};
  }
  if (!label_allowed) fail(line, "'" + key + "' is not declared");
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

Operand BodyParser::vector_of(std::vector<Operand> parts, bool pair) {
  Operand out{.kind = OperandKind::vector, .pair = pair};
  out.index = static_cast<std::uint32_t>(function_.operands.size());
  out.count = static_cast<std::uint32_t>(parts.size());
  function_.operands.insert(function_.operands.end(), parts.begin(), parts.end());
  return out;
}

Operand BodyParser::braces() {
  const std::uint32_t line = lexer_.line();
  lexer_.expect("{");
  std::vector<Operand> parts;
  do {
    if (parts.size() >= max_parts) fail(line, "a vector with too many parts");
    parts.push_back(unary_or_name(false));
  } while (lexer_.accept(","));
  lexer_.expect("}");
  return vector_of(std::move(parts), false);
}

Operand BodyParser::parentheses() {
  const std::uint32_t line = lexer_.line();
  lexer_.expect("(");
  std::vector<Operand> parts;
  if (!lexer_.peek().is(")")) {
    do {
      if (parts.size() >= max_parts) fail(line, "a call with too many arguments");
      parts.push_back(unary_or_name(false));
    } while (lexer_.accept(","));
  }
  lexer_.expect(")");
  return vector_of(std::move(parts), false);
}

Operand BodyParser::address() {
  const std::uint32_t line = lexer_.line();
  lexer_.expect("[");
  const Operand base = unary_or_name(false);
  Operand out{.kind = OperandKind::address, .base = base.kind, .type = base.type, .index = base.index};
  if (base.kind == OperandKind::immediate) {
    out.offset = static_cast<std::int64_t>(base.bits);
  } else if (base.kind != OperandKind::reg && base.kind != OperandKind::variable && base.kind != OperandKind::formal) {
    fail(line, "an address must start with a register, a variable or a number");
  }
  for (;;) {
    const bool minus = lexer_.peek().is("-");
    if (!minus && !lexer_.peek().is("+")) break;
    lexer_.take();
    const bool second = lexer_.accept("-");
    const std::uint64_t value = lexer_.expect_integer("an offset");
    out.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(out.offset) + (minus != second ? 0 - value : value));
  }
  if (lexer_.accept(",")) {
    const Operand coordinates = lexer_.peek().is("{") ? braces() : vector_of({unary_or_name(false)}, false);
    out.coordinates = coordinates.index;
    out.count = coordinates.count;
    if (lexer_.accept(",")) lexer_.peek().is("{") ? (void)braces() : (void)unary_or_name(false);
  }
  lexer_.expect("]");
  return out;
}

Operand BodyParser::unary_or_name(bool label_allowed) {
  const std::uint32_t line = lexer_.line();
  if (lexer_.accept("!")) {
    if (lexer_.peek().is("!")) fail(line, "'!' stands twice");
    Operand out = unary_or_name(false);
    if (out.kind != OperandKind::reg) fail(line, "'!' must stand before a predicate");
    out.negated = true;
    return out;
  }
  bool negative = false, inverted = false;
  if (lexer_.peek().is("-")) {
    lexer_.take();
    negative = true;
  } else if (lexer_.peek().is("~")) {
    lexer_.take();
    inverted = true;
  }
  const TokenKind kind = lexer_.peek().kind;
  if (kind == TokenKind::integer || kind == TokenKind::float32 || kind == TokenKind::float64) return number(negative, inverted);
  if (kind != TokenKind::word || negative || inverted) {
    fail(line, "expected an operand but found '" + std::string(lexer_.peek().text.substr(0, 40)) + "'");
  }
  const std::string_view name = lexer_.take().text;
  Operand out = named(name, line, label_allowed);
  if (out.kind == OperandKind::label) uses_.push_back({open_.back(), std::string(name), line, false, 0, 0});
  return out;
}

Operand BodyParser::operand(bool label_allowed) {
  if (lexer_.peek().is("[")) return address();
  if (lexer_.peek().is("{")) return braces();
  Operand first = unary_or_name(label_allowed);
  if (!lexer_.accept("|")) return first;
  // A label's place is filled in later, and only among the operands of the instruction itself.
  if (first.kind == OperandKind::label) fail(lexer_.line(), "a label stands alone");
  Operand second = unary_or_name(false);
  return vector_of({first, second}, true);
}

}  // namespace cupilot::ptx
