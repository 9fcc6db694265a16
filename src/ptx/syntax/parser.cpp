// Module scope: directives, variables, functions.
#include "ptx/syntax/parser.hpp"

#include <algorithm>
#include <string>

#include <cupilot/parts/rejection.hpp>
#include "ptx/syntax/body_parser.hpp"

namespace cupilot::ptx {
namespace {

struct Linkage {
  bool is_visible = false, is_extern = false, is_weak = false;
};

class ModuleParser {
 public:
  ModuleParser(std::string_view text, const ParseLimits& limits) : lexer_(text) {
    scope_.limits = limits;
  }

  Module parse() {
    while (lexer_.peek().kind != TokenKind::end) item();
    if (scope_.module.version_major == 0) throw SyntaxError{1, "the .version directive is missing"};
    return std::move(scope_.module);
  }

 private:
  void item();
  void header(std::string_view word);
  void section();
  void variable(Space space, const Linkage& linkage);
  void function(bool is_entry, const Linkage& linkage);
  void parameter_list(Function& function);
  void directives(Function& function);
  Function& declare(Function&& function);

  Lexer lexer_;
  ModuleScope scope_;
};

void ModuleParser::item() {
  Linkage linkage;
  for (;;) {
    const Token& next = lexer_.peek();
    if (next.is(".visible")) {
      linkage.is_visible = true;
    } else if (next.is(".extern")) {
      linkage.is_extern = true;
    } else if (next.is(".weak") || next.is(".common")) {
      linkage.is_weak = true;
    } else {
      break;
    }
    lexer_.take();
  }
  const Token next = lexer_.peek();
  if (next.kind != TokenKind::word || next.text[0] != '.') {
    if (lexer_.accept(';')) return;
    throw SyntaxError{
        next.line, "expected a directive but found '" + std::string(next.text.substr(0, 60)) + "'"};
  }
  const std::string_view stem = next.text.substr(0, next.text.find('.', 1));
  if (stem == ".global") return variable(Space::global, linkage);
  if (stem == ".const") return variable(Space::constant, linkage);
  if (stem == ".shared") return variable(Space::shared, linkage);
  if (stem == ".entry" || stem == ".func") {
    lexer_.take();
    return function(stem == ".entry", linkage);
  }
  lexer_.take();
  header(next.text);
}

void ModuleParser::header(std::string_view word) {
  Module& module = scope_.module;
  const std::uint32_t line = lexer_.line();
  if (word == ".version") {
    const Token token = lexer_.take();
    const std::size_t dot = token.text.find('.');
    if (token.kind != TokenKind::float64 || dot == std::string_view::npos)
      throw SyntaxError{line, ".version needs major.minor"};
    module.version_major = static_cast<std::uint32_t>(
        std::strtoul(std::string(token.text.substr(0, dot)).c_str(), nullptr, 10));
    module.version_minor = static_cast<std::uint32_t>(
        std::strtoul(std::string(token.text.substr(dot + 1)).c_str(), nullptr, 10));
    if (module.version_major == 0 || module.version_major > 99)
      throw SyntaxError{line, "no such PTX version"};
  } else if (word == ".target") {
    module.target = std::string(lexer_.expect_word("a target"));
    while (lexer_.accept(',')) lexer_.expect_word("a target option");
  } else if (word == ".address_size") {
    module.address_bits = static_cast<std::uint32_t>(lexer_.expect_integer("32 or 64"));
    if (module.address_bits != 64) throw SyntaxError{line, "only 64-bit addresses are supported"};
  } else if (word == ".file") {
    const auto number = static_cast<std::uint32_t>(lexer_.expect_integer("a file number"));
    if (lexer_.peek().kind != TokenKind::text) throw SyntaxError{line, ".file needs a quoted name"};
    module.files.push_back({number, std::string(lexer_.take().text)});
    if (module.files.size() > 65536) throw SyntaxError{line, "too many .file directives"};
    while (lexer_.accept(',')) lexer_.expect_integer("a number");
  } else if (word == ".section") {
    lexer_.expect_word("a section name");
    section();
  } else if (word == ".pragma" || word == ".alias") {
    const bool pragma = word == ".pragma";
    Directive directive{std::string(word.substr(1)), {}, std::string(lexer_.peek().text)};
    do {
      const TokenKind kind = lexer_.take().kind;
      if (kind != (pragma ? TokenKind::text : TokenKind::word))
        throw SyntaxError{line, "a pragma needs quoted text, an alias names"};
    } while (lexer_.accept(','));
    lexer_.expect(';');
    if (module.directives.size() >= 4096) throw SyntaxError{line, "too many directives"};
    module.directives.push_back(std::move(directive));
  } else {
    throw SyntaxError{line, "unknown directive " + std::string(word.substr(0, 60))};
  }
}

// .section .debug_info { .b8 1, 2  label: .b32 .debug_abbrev+4 }: data alone, so that nothing else
// hides there.
void ModuleParser::section() {
  lexer_.expect('{');
  while (!lexer_.accept('}')) {
    const Token token = lexer_.take();
    const bool directive = token.kind == TokenKind::word && token.text[0] == '.';
    const bool data = token.is(".b8") || token.is(".b16") || token.is(".b32") || token.is(".b64") ||
                      token.text.rfind(".debug", 0) == 0;
    if (token.kind == TokenKind::end || token.is('{') || (directive && !data)) {
      throw SyntaxError{token.line, "a section may hold data alone"};
    }
  }
}

void ModuleParser::variable(Space space, const Linkage& linkage) {
  const std::uint32_t line = lexer_.line();
  Variable variable = parse_variable(lexer_, scope_, space, false);
  lexer_.expect(';');
  variable.is_extern = linkage.is_extern;
  const auto index = static_cast<std::uint32_t>(scope_.module.variables.size());
  if (const Symbol* known = scope_.names.find(variable.name)) {
    if (known->kind != Symbol::Kind::variable)
      throw SyntaxError{line, variable.name + " is declared twice"};
    Variable& earlier = scope_.module.variables[known->index];
    if (earlier.space != space || !(earlier.is_extern || variable.is_extern)) {
      throw SyntaxError{line, variable.name + " is declared twice"};
    }
    if (earlier.is_extern && !variable.is_extern) earlier = std::move(variable);
    return;
  }
  scope_.names.add(variable.name, {Symbol::Kind::variable, index});
  scope_.module.variables.push_back(std::move(variable));
}

void ModuleParser::parameter_list(Function& function) {
  lexer_.expect('(');
  if (lexer_.accept(')')) return;
  do {
    const Token next = lexer_.peek();
    if (next.kind != TokenKind::word ||
        (next.text.rfind(".param", 0) != 0 && next.text.rfind(".reg", 0) != 0)) {
      throw SyntaxError{next.line, "a parameter must start with .param or .reg"};
    }
    if (function.variables.size() >= 4096) throw SyntaxError{next.line, "too many parameters"};
    const Space space = next.text.rfind(".param", 0) == 0 ? Space::param : Space::reg;
    function.variables.push_back(parse_variable(lexer_, scope_, space, true));
  } while (lexer_.accept(','));
  lexer_.expect(')');
}

// .maxntid 256, 1, 1  .minnctapersm 2  .noreturn  .pragma "…";
void ModuleParser::directives(Function& function) {
  while (lexer_.peek().kind == TokenKind::word && lexer_.peek().text[0] == '.') {
    const Token token = lexer_.take();
    Directive directive{std::string(token.text.substr(1)), {}, {}};
    if (lexer_.peek().kind == TokenKind::text) directive.text = std::string(lexer_.take().text);
    if (lexer_.peek().kind == TokenKind::integer) {
      directive.values.push_back(lexer_.take().bits);
      while (lexer_.accept(',')) directive.values.push_back(lexer_.expect_integer("a number"));
    }
    if (function.directives.size() >= 4096 || directive.values.size() > 16)
      throw SyntaxError{token.line, "too many directives"};
    if (directive.name == "pragma") lexer_.accept(';');
    function.directives.push_back(std::move(directive));
  }
}

Function& ModuleParser::declare(Function&& function) {
  Module& module = scope_.module;
  const auto index = static_cast<std::uint32_t>(module.functions.size());
  const Symbol* known = scope_.names.find(function.name);
  if (known == nullptr) {
    scope_.names.add(function.name, {Symbol::Kind::function, index});
    module.functions.push_back(std::move(function));
    return module.functions.back();
  }
  if (known->kind != Symbol::Kind::function)
    throw SyntaxError{function.line, function.name + " is declared twice"};
  Function& earlier = module.functions[known->index];
  if (earlier.is_entry != function.is_entry ||
      earlier.variables.size() != function.variables.size()) {
    throw SyntaxError{function.line, function.name + " is declared twice, differently"};
  }
  if (!earlier.has_body) earlier = std::move(function);
  return earlier;
}

void ModuleParser::function(bool is_entry, const Linkage& linkage) {
  Function parsed;
  parsed.line = lexer_.line();
  parsed.is_entry = is_entry;
  parsed.is_visible = linkage.is_visible;
  parsed.is_extern = linkage.is_extern;
  parsed.is_weak = linkage.is_weak;
  if (!is_entry && lexer_.peek().is('(')) parameter_list(parsed);
  parsed.result_count = static_cast<std::uint32_t>(parsed.variables.size());
  parsed.name = std::string(lexer_.expect_word("a function name"));
  if (lexer_.peek().is('(')) parameter_list(parsed);
  parsed.parameter_count =
      static_cast<std::uint32_t>(parsed.variables.size()) - parsed.result_count;
  directives(parsed);
  const bool has_body = lexer_.peek().is('{');
  const std::uint32_t line = parsed.line;
  Function& function = declare(std::move(parsed));
  if (!has_body) {
    lexer_.expect(';');
    return;
  }
  if (function.has_body) throw SyntaxError{line, function.name + " has two bodies"};
  function.has_body = true;
  if (scope_.module.functions.size() > 65536) throw SyntaxError{line, "too many functions"};
  BodyParser(lexer_, scope_, function).parse();
}

}  // namespace

Attempt<Module> parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > limits.bytes) {
    return reject("gate.ptx_syntax",
                  "the PTX text has " + std::to_string(text.size()) + " bytes, more than the limit",
                  "ptx line 1");
  }
  try {
    return ModuleParser(text, limits).parse();
  } catch (const SyntaxError& error) {
    return reject("gate.ptx_syntax", error.message, "ptx line " + std::to_string(error.line));
  }
}

}  // namespace cupilot::ptx
