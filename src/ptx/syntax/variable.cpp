// Declarations of variables with their initialisers, and the reading of dotted spellings.
#include <algorithm>
#include <bit>
#include <limits>

#include "ptx/syntax/body_parser.hpp"

namespace cupilot::ptx {
namespace {

constexpr std::uint64_t most_bytes = 1ull << 62;

class Initialiser {
 public:
  Initialiser(Lexer& lexer, ModuleScope& scope, Variable& variable)
      : lexer_(lexer), scope_(scope), variable_(variable) {}

  void parse() {
    if (lexer_.peek().is('{')) {
      list(0);
    } else {
      value();
    }
  }

 private:
  void list(std::size_t depth) {
    if (depth > 8) throw SyntaxError{lexer_.line(), "an initialiser nests too deep"};
    lexer_.expect('{');
    if (lexer_.accept('}')) return;
    do {
      if (lexer_.peek().is('{')) {
        list(depth + 1);
      } else {
        value();
      }
    } while (lexer_.accept(','));
    lexer_.expect('}');
  }

  void value() {
    const bool negative = lexer_.accept('-');
    const Token token = lexer_.take();
    const std::uint32_t size = bytes_of(variable_.type);
    std::uint64_t bits = token.bits;
    if (token.kind == TokenKind::word) {
      symbol(token);
      bits = 0;
    } else if (token.kind == TokenKind::integer) {
      if (negative) bits = 0 - bits;
      if (lexer_.peek().is('(')) {  // mask(symbol)
        lexer_.take();
        symbol(lexer_.take());
        lexer_.expect(')');
        bits = 0;
      }
    } else if (token.kind == TokenKind::float32 || token.kind == TokenKind::float64) {
      bits = as_type(token, negative);
    } else {
      throw SyntaxError{token.line, "expected a value in the initialiser of " + variable_.name};
    }
    scope_.initial_bytes += size;
    if (scope_.initial_bytes > scope_.limits.initial_bytes)
      throw SyntaxError{token.line, "initialisers pass the limit"};
    for (std::uint32_t i = 0; i < size; ++i)
      variable_.initial.push_back(i < 8 ? static_cast<std::uint8_t>(bits >> (8 * i)) : 0);
  }

  void symbol(const Token& token) {
    variable_.symbolic_initial = true;
    if (token.text == "generic" && lexer_.accept('(')) {
      lexer_.expect_word("a name");
      lexer_.expect(')');
    }
    while (lexer_.accept('+') || lexer_.accept('-')) lexer_.expect_integer("an offset");
  }

  std::uint64_t as_type(const Token& token, bool negative) const {
    double number =
        token.kind == TokenKind::float32
            ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(token.bits)))
            : std::bit_cast<double>(token.bits);
    if (negative) number = -number;
    if (variable_.type == Type::f64) return std::bit_cast<std::uint64_t>(number);
    if (token.kind == TokenKind::float32 && variable_.type == Type::f32) {
      return token.bits ^ (negative ? 0x80000000ull : 0);
    }
    return std::bit_cast<std::uint32_t>(static_cast<float>(number));
  }

  Lexer& lexer_;
  ModuleScope& scope_;
  Variable& variable_;
};

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > most_bytes / b ? most_bytes : a * b;
}

// Reads ".align 4", ".ptr .global", a type and vector width, in any order; words may be glued
// (".v4.f32").
void attributes(Lexer& lexer, Variable& variable, std::uint32_t& vector, bool parameter) {
  while (lexer.peek().kind == TokenKind::word && lexer.peek().text[0] == '.') {
    const Token token = lexer.take();
    std::string_view rest = token.text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('.', 1);
      const std::string_view word = rest.substr(1, end == std::string_view::npos ? end : end - 1);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
      if (word == "align") {
        const std::uint64_t align = lexer.expect_integer("an alignment");
        if (!std::has_single_bit(align) || align > 4096)
          throw SyntaxError{token.line, "an alignment must be a power of two up to 4096"};
        // Behind .ptr it is the alignment of what the parameter points to.
        if (!variable.pointer) variable.align = static_cast<std::uint32_t>(align);
      } else if (word == "ptr" && parameter) {
        variable.pointer = true;
      } else if (word == "attribute") {
        lexer.expect('(');
        while (!lexer.peek().is(')') && lexer.peek().kind != TokenKind::end) lexer.take();
        lexer.expect(')');
      } else if (word == "v2" || word == "v4" || word == "v8") {
        vector = static_cast<std::uint32_t>(word[1] - '0');
      } else if (variable.pointer &&
                 (word == "global" || word == "shared" || word == "const" || word == "local")) {
        variable.pointee = word == "global"   ? Space::global
                           : word == "shared" ? Space::shared
                           : word == "const"  ? Space::constant
                                              : Space::local;
      } else if (const auto type = type_named(word); type && *type != Type::pred) {
        variable.type = *type;
      } else if (word == "texref" || word == "samplerref" || word == "surfref") {
        variable.type = Type::b64;
      } else {
        throw SyntaxError{token.line, "unknown attribute ." + std::string(word) + " of a variable"};
      }
    }
  }
}

}  // namespace

Variable parse_variable(Lexer& lexer, ModuleScope& scope, Space space, bool parameter) {
  Variable variable;
  variable.space = space;
  variable.line = lexer.line();
  if (++scope.variables > scope.limits.instructions)
    throw SyntaxError{variable.line, "more declarations than the limit"};
  // The state space may carry glued attributes: ".param.b64".
  const Token first = lexer.peek();
  std::uint32_t vector = 1;
  if (first.kind == TokenKind::word && first.text[0] == '.') {
    const std::size_t dot = first.text.find('.', 1);
    lexer.take();
    if (dot != std::string_view::npos) {
      Lexer glued(first.text.substr(dot));
      attributes(glued, variable, vector, parameter);
    }
  }
  attributes(lexer, variable, vector, parameter);
  if (variable.type == Type::none) throw SyntaxError{variable.line, "a variable without a type"};
  variable.name = std::string(lexer.expect_word("a variable name"));
  const std::uint64_t element = times(bytes_of(variable.type), vector);
  variable.bytes = element;
  bool open_ended = false;
  while (lexer.accept('[')) {
    variable.is_array = true;
    if (lexer.accept(']')) {
      open_ended = true;
      continue;
    }
    variable.bytes = times(variable.bytes, lexer.expect_integer("an array size"));
    lexer.expect(']');
  }
  if (variable.align == 0) variable.align = static_cast<std::uint32_t>(element);
  if (open_ended) variable.bytes = 0;
  if (!parameter && lexer.accept('=')) {
    Initialiser(lexer, scope, variable).parse();
    if (open_ended) variable.bytes = variable.initial.size();
    if (variable.initial.size() > variable.bytes)
      throw SyntaxError{variable.line, "the initialiser of " + variable.name + " is too long"};
  }
  return variable;
}

namespace {

// ptxas takes some modifiers in another order than the one that is written from here on: of
// `div.ftz.rn` the rounding stands first, of `mma…s32.s4.s4.s32.satfinite` the types last.
void order_modifiers(Form& form) {
  constexpr std::string_view roundings[] = {"rn", "rz", "rm", "rp", "approx", "full"};
  std::vector<std::string>& words = form.modifiers;
  const auto is_rounding = [&](const std::string& word) {
    return std::find(std::begin(roundings), std::end(roundings), word) != std::end(roundings);
  };
  const auto ftz = std::adjacent_find(
      words.begin(), words.end(),
      [&](const auto& a, const auto& b) { return a == "ftz" && is_rounding(b); });
  const bool saturates = form.opcode == Opcode::op_mma && words.back() == "satfinite";
  if (ftz != words.end()) {
    std::iter_swap(ftz, ftz + 1);
  } else if (saturates) {
    const auto first_type = std::find_if(words.begin(), words.end(), [](const std::string& word) {
      return type_named(word).has_value();
    });
    std::rotate(first_type, words.end() - 1, words.end());
  } else {
    return;
  }
  form.text.erase(form.text.find('.'));
  for (const std::string& word : words) form.text += "." + word;
}

}  // namespace

std::uint32_t form_index(ModuleScope& scope, std::string_view spelling, std::uint32_t line) {
  if (const std::uint32_t* known = scope.forms.find(spelling)) return *known;
  if (scope.module.forms.size() >= 65536)
    throw SyntaxError{line, "more distinct instruction forms than the limit"};
  Form form;
  form.text = std::string(spelling);
  std::string_view rest = spelling;
  const std::size_t dot = rest.find('.');
  form.opcode = opcode_named(rest.substr(0, dot));
  bool space_seen = false;
  while (rest.find('.') != std::string_view::npos) {
    rest = rest.substr(rest.find('.') + 1);
    const std::string_view word = rest.substr(0, rest.find('.'));
    form.modifiers.emplace_back(word);
    if (const auto type = type_named(word)) form.types.push_back(*type);
    if (word == "v2" || word == "v4" || word == "v8")
      form.vector = static_cast<std::uint8_t>(word[1] - '0');
    const std::string_view stem = word.substr(0, word.find("::"));
    constexpr std::pair<std::string_view, Space> spaces[] = {{"param", Space::param},
                                                             {"shared", Space::shared},
                                                             {"global", Space::global},
                                                             {"local", Space::local},
                                                             {"const", Space::constant}};
    for (const auto& [name, space] : spaces) {
      if (stem == name && !space_seen) {
        form.space = space;
        space_seen = true;
      }
    }
  }
  if (!form.modifiers.empty()) order_modifiers(form);
  const auto index = static_cast<std::uint32_t>(scope.module.forms.size());
  scope.module.forms.push_back(std::move(form));
  scope.forms.add(spelling, index);
  return index;
}

}  // namespace cupilot::ptx
