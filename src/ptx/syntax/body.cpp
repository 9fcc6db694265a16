// Statements of a function body.
#include <algorithm>

#include "ptx/syntax/body_parser.hpp"

namespace cupilot::ptx {
namespace {

constexpr std::size_t max_table = 65536;
constexpr std::size_t max_scopes = 65536;
constexpr std::size_t max_operands = 32;

std::optional<Space> variable_space(std::string_view word) {
  if (word == ".param") return Space::param;
  if (word == ".local") return Space::local;
  if (word == ".shared") return Space::shared;
  if (word == ".global") return Space::global;
  if (word == ".const") return Space::constant;
  return std::nullopt;
}

}  // namespace

void BodyParser::open_scope() {
  if (open_.size() >= scope_.limits.depth) fail(lexer_.line(), "scopes nest deeper than the limit");
  if (scopes_.size() >= max_scopes) fail(lexer_.line(), "more scopes than the limit");
  scopes_.push_back({{}, {}, {}, open_.empty() ? 0 : open_.back()});
  open_.push_back(scopes_.size() - 1);
}

void BodyParser::close_scope() {
  if (!scopes_[open_.back()].groups.empty()) recent_ = {};
  open_.pop_back();
}

void BodyParser::add_name(std::string_view name, Symbol symbol, std::uint32_t line) {
  percent_names_ |= name.starts_with('%');
  if (!scopes_[open_.back()].names.add(name, symbol))
    fail(line, "'" + std::string(name) + "' is declared twice");
}

// Most texts are one body, and most of their lines are alike; a text of many bodies must not take
// this much for each.
void BodyParser::make_room() {
  constexpr std::size_t most_text = 256u << 10;
  const std::size_t bytes =
      scope_.module.functions.size() == 1 ? std::min(lexer_.bytes_left(), most_text) : 0;
  function_.operands.reserve(bytes / 16);
  function_.instructions.reserve(bytes / 48);
  function_.registers.reserve(bytes / 64);
}

void BodyParser::parse() {
  make_room();
  open_scope();
  for (std::uint32_t i = 0; i < function_.variables.size(); ++i) {
    const Variable& v = function_.variables[i];
    if (v.name.empty() || v.name == "_") continue;
    if (v.space == Space::reg) {
      add_name(v.name, {Symbol::Kind::registers, add_group(v.type, 0)}, v.line);
    } else {
      add_name(v.name, {Symbol::Kind::formal, i}, v.line);
    }
  }
  const std::uint32_t start = lexer_.line();
  lexer_.expect('{');
  while (!open_.empty()) {
    if (lexer_.peek().kind == TokenKind::end)
      fail(start, "the body of " + function_.name + " is never closed");
    statement();
  }
  resolve_labels();
}

void BodyParser::statement() {
  const Token& next = lexer_.peek();
  if (next.kind == TokenKind::word) {
    if (next.text[0] != '.') return instruction(none_index, false);
    if (!directive())
      fail(next.line, "the directive " + std::string(next.text) + " has no place in a body");
    return;
  }
  if (lexer_.accept('{')) return open_scope();
  if (lexer_.accept('}')) return close_scope();
  if (lexer_.accept(';')) return;
  if (lexer_.accept('@')) {
    const bool negated = lexer_.accept('!');
    const std::uint32_t line = lexer_.line();
    const std::uint32_t guard = find_register(lexer_.expect_word("a predicate"));
    if (guard == none_index || function_.registers[guard].type != Type::pred)
      fail(line, "a guard must be a predicate register");
    return instruction(guard, negated);
  }
  instruction(none_index, false);
}

bool BodyParser::directive() {
  const std::string_view word = lexer_.peek().text;
  if (word == ".loc") {
    location();
    return true;
  }
  const std::string_view stem = word.substr(0, word.find('.', 1));
  if (stem == ".reg") {
    registers();
  } else if (word == ".pragma") {
    lexer_.take();
    if (lexer_.peek().kind != TokenKind::text) fail(lexer_.line(), "a pragma needs a quoted text");
    function_.directives.push_back({"pragma", {}, std::string(lexer_.take().text)});
    while (lexer_.accept(',')) lexer_.take();
    lexer_.expect(';');
  } else if (const auto space = variable_space(stem)) {
    declare(*space);
  } else {
    return false;
  }
  return true;
}

// .reg .b32 %r<22>, %x;  The words may be glued: ".reg.b32".
void BodyParser::registers() {
  const std::uint32_t line = lexer_.line();
  std::string spelling(lexer_.take().text.substr(4));
  while (lexer_.peek().kind == TokenKind::word && lexer_.peek().text[0] == '.')
    spelling += lexer_.take().text;
  std::uint32_t parts = 1;
  if (spelling.starts_with(".v2") || spelling.starts_with(".v4")) {
    parts = static_cast<std::uint32_t>(spelling[2] - '0');
    spelling.erase(0, 3);
  }
  if (spelling.empty()) fail(line, ".reg without a type");
  const std::optional<Type> type = type_named(spelling.substr(1));
  if (!type) fail(line, "unknown register type " + spelling);
  do {
    const std::string_view name = lexer_.expect_word("a register name");
    std::uint64_t count = 0;
    if (lexer_.accept('<')) {
      count = lexer_.expect_integer("a register count");
      lexer_.expect('>');
    }
    if (parts > 1 && count != 0) fail(line, "vector registers are declared one by one");
    const std::uint32_t group = parts > 1 ? 0 : add_group(*type, count);
    if (parts > 1) {
      declare_vector(name, *type, parts, line);
    } else if (count == 0) {
      add_name(name, {Symbol::Kind::registers, group}, line);
    } else if (!scopes_[open_.back()].groups.add(name, group)) {
      fail(line, "'" + std::string(name) + "<' is declared twice");
    }
    recent_ = {};
    if (++scope_.variables > scope_.limits.instructions)
      fail(line, "more declarations than the limit");
  } while (lexer_.accept(','));
  lexer_.expect(';');
}

// Each member is a register of its own, by both of its names.
void BodyParser::declare_vector(std::string_view name, Type type, std::uint32_t parts,
                                std::uint32_t line) {
  constexpr std::string_view places = "xyzw", colours = "rgba";
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::uint32_t group = add_group(type, 0);
    for (const std::string_view letters : {places, colours}) {
      member_names_.push_back(std::string(name) + "." + letters[i]);
      add_name(member_names_.back(), {Symbol::Kind::registers, group}, line);
    }
  }
}

// .loc file line column [, function_name label [+ offset], inlined_at file line column]
void BodyParser::location() {
  lexer_.take();
  file_ = static_cast<std::uint32_t>(lexer_.expect_integer("a file number"));
  const auto line = static_cast<std::uint32_t>(lexer_.expect_integer("a line"));
  lexer_.expect_integer("a column");
  // Line 0 marks code without a source of its own; the last real line serves a reader better.
  if (line != 0) source_line_ = line;
  while (lexer_.accept(',')) {
    const std::string_view key = lexer_.expect_word("an attribute of .loc");
    if (key == "inlined_at") {
      for (int i = 0; i < 3; ++i) lexer_.expect_integer("a number");
    } else {
      if (lexer_.peek().kind == TokenKind::word) lexer_.take();
      if (lexer_.accept('+')) lexer_.expect_integer("an offset");
    }
  }
}

void BodyParser::declare(Space space) {
  const std::uint32_t line = lexer_.line();
  do {
    Variable variable = parse_variable(lexer_, scope_, space, false);
    const std::string name = variable.name;
    if (space == Space::param || space == Space::local) {
      function_.variables.push_back(std::move(variable));
      add_name(name,
               {Symbol::Kind::formal, static_cast<std::uint32_t>(function_.variables.size() - 1)},
               line);
    } else {
      scope_.module.variables.push_back(std::move(variable));
      add_name(
          name,
          {Symbol::Kind::variable, static_cast<std::uint32_t>(scope_.module.variables.size() - 1)},
          line);
    }
  } while (false);
  lexer_.expect(';');
}

void BodyParser::labelled(std::string_view name, std::uint32_t line) {
  const Token& next = lexer_.peek();
  if (next.is(".branchtargets") || next.is(".calltargets") || next.is(".callprototype")) {
    label_table(name, lexer_.take().text);
    return;
  }
  const auto here = static_cast<std::uint32_t>(function_.instructions.size());
  if (!scopes_[open_.back()].labels.add(name, here)) {
    fail(line, "the label '" + std::string(name) + "' stands twice in one scope");
  }
}

void BodyParser::label_table(std::string_view name, std::string_view kind) {
  const std::uint32_t line = lexer_.line();
  Table table{std::string(name), {}, kind == ".branchtargets"};
  const std::size_t index = function_.tables.size();
  if (kind == ".callprototype") {
    while (!lexer_.peek().is(';') && lexer_.peek().kind != TokenKind::end) lexer_.take();
  } else {
    do {
      if (table.targets.size() >= max_table) fail(line, "a target list is too long");
      const std::string_view target = lexer_.expect_word("a target");
      if (table.is_branch) {
        uses_.push_back({open_.back(), target, line, true, index, table.targets.size()});
        table.targets.push_back(none_index);
      } else {
        const Symbol* found = scope_.names.find(target);
        if (found == nullptr || found->kind != Symbol::Kind::function) {
          fail(line, "'" + std::string(target) + "' is no function");
        }
        table.targets.push_back(found->index);
      }
    } while (lexer_.accept(','));
  }
  lexer_.expect(';');
  function_.tables.push_back(std::move(table));
  add_name(name, {Symbol::Kind::table, static_cast<std::uint32_t>(index)}, line);
}

// call.uni (results), target, (arguments) [, table]; every part but the target may be absent.
void BodyParser::call_operands() {
  Operand results = vector_since(function_.operands.size());
  if (lexer_.peek().is('(')) {
    results = parentheses();
    lexer_.expect(',');
  }
  operands_.push_back(results);
  operands_.push_back(unary_or_name(false));
  Operand arguments = vector_since(function_.operands.size());
  bool more = lexer_.accept(',');
  if (more && lexer_.peek().is('(')) {
    arguments = parentheses();
    more = lexer_.accept(',');
  }
  operands_.push_back(arguments);
  if (more) operands_.push_back(unary_or_name(false));
}

void BodyParser::instruction(std::uint32_t guard, bool negated) {
  const std::uint32_t line = lexer_.line();
  const std::string_view word = lexer_.expect_word("an instruction");
  if (guard == none_index && lexer_.accept(':')) {
    labelled(word, line);
    return;
  }
  if (word[0] == '%' || word[0] == '$' || word[0] == '.')
    fail(line, "'" + std::string(word.substr(0, 60)) + "' is no instruction");
  if (++scope_.instructions > scope_.limits.instructions)
    fail(line, "more instructions than the limit");
  Instruction out{.guard = guard,
                  .guard_negated = negated,
                  .line = line,
                  .source_file = file_,
                  .source_line = source_line_};
  out.form = form_index(scope_, word, line);
  added_ = 0;
  const Opcode opcode = scope_.module.forms[out.form].opcode;
  const std::size_t first_use = uses_.size();
  operands_.clear();
  if (opcode == Opcode::op_call) {
    call_operands();
  } else if (!lexer_.peek().is(';')) {
    const bool labels = opcode == Opcode::op_bra;
    do {
      if (operands_.size() >= max_operands) fail(line, "too many operands");
      operands_.push_back(operand(labels));
      if (added_ != 0) move_of_sum(out);
    } while (lexer_.accept(','));
  }
  lexer_.expect(';');
  out.first_operand = static_cast<std::uint32_t>(function_.operands.size());
  out.operand_count = static_cast<std::uint32_t>(operands_.size());
  std::size_t use = first_use;
  for (std::size_t i = 0; i < operands_.size() && use < uses_.size(); ++i) {
    if (operands_[i].kind == OperandKind::label) uses_[use++].slot = out.first_operand + i;
  }
  function_.operands.insert(function_.operands.end(), operands_.begin(), operands_.end());
  function_.instructions.push_back(out);
}

// `mov.u64 %rd1, name + 8` is the addition that it stands for.
void BodyParser::move_of_sum(Instruction& out) {
  const Form& form = scope_.module.forms[out.form];
  const bool fits = form.opcode == Opcode::op_mov && operands_.size() == 2 &&
                    form.types.size() == 1 && form.modifiers.size() == 1 &&
                    bytes_of(form.types[0]) >= 2 && bytes_of(form.types[0]) <= 8 &&
                    !is_float(form.types[0]);
  if (!fits) fail(out.line, "a sum stands alone in a mov or an address");
  const std::uint32_t bytes = bytes_of(form.types[0]);
  out.form = form_index(scope_,
                        bytes == 2   ? "add.u16"
                        : bytes == 4 ? "add.u32"
                                     : "add.u64",
                        out.line);
  operands_.push_back(Operand{.kind = OperandKind::immediate, .type = Type::s64, .bits = added_});
  added_ = 0;
}

void BodyParser::resolve_labels() {
  for (const LabelUse& use : uses_) {
    std::size_t scope = use.scope;
    const std::uint32_t* target = nullptr;
    for (;;) {
      target = scopes_[scope].labels.find(use.name);
      if (target != nullptr || scope == 0) break;
      scope = scopes_[scope].parent;
    }
    if (target == nullptr)
      fail(use.line, "the label '" + std::string(use.name) + "' is not in reach");
    if (use.in_table) {
      function_.tables[use.table].targets[use.slot] = *target;
    } else {
      function_.operands[use.slot].index = *target;
    }
  }
}

}  // namespace cupilot::ptx
