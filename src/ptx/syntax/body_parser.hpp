// FillState of the parser: what module level, bodies and operands share.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/syntax/lexer.hpp"
#include "ptx/syntax/module.hpp"
#include "ptx/syntax/name_table.hpp"
#include "ptx/syntax/parser.hpp"

namespace cupilot::ptx {

// The meaning of a name.
struct Symbol {
  enum class Kind : std::uint8_t {
    registers,
    variable,
    formal,
    function,
    table
  } kind = Kind::variable;
  std::uint32_t index = 0;  // of variable, formal, function, table; of registers: group
};

// `.reg .b32 %r<22>;`: names are given indices when first used.
struct RegisterGroup {
  Type type = Type::none;
  std::uint64_t count = 0;                                  // of %r<count>; 0: a single name
  std::vector<std::uint32_t> indices{};                     // by number; none_index: not used yet
  std::unordered_map<std::uint64_t, std::uint32_t> some{};  // instead, of a group too large to list
};

// Names of module scope, and the budget of the whole text.
struct ModuleScope {
  Module module;
  ParseLimits limits;
  NameTable<Symbol> names;
  NameTable<std::uint32_t> forms;
  std::size_t instructions = 0;
  std::size_t initial_bytes = 0;
  std::size_t variables = 0;
};

// `.align 4 .b8 name[16] = {...}` after its state space; the semicolon stays. `parameter` allows
// .ptr and no initialiser.
Variable parse_variable(Lexer& lexer, ModuleScope& scope, Space space, bool parameter);
std::uint32_t form_index(ModuleScope& scope, std::string_view spelling, std::uint32_t line);

// Parses the body of one function, its opening brace being next.
class BodyParser {
 public:
  BodyParser(Lexer& lexer, ModuleScope& scope, Function& function)
      : lexer_(lexer), scope_(scope), function_(function) {}
  void parse();

 private:
  struct Scope {
    NameTable<Symbol> names;
    NameTable<std::uint32_t> groups;  // by the name before the number
    NameTable<std::uint32_t> labels;
    std::size_t parent = 0;
  };
  struct LabelUse {
    std::size_t scope = 0;
    std::string_view name;
    std::uint32_t line = 0;
    bool in_table = false;
    std::size_t table = 0;
    std::size_t slot = 0;  // operand, or row of the table
  };

  void make_room();
  void statement();
  bool directive();
  void registers();
  void location();
  void declare(Space space);
  void labelled(std::string_view name, std::uint32_t line);
  void label_table(std::string_view name, std::string_view kind);
  void instruction(std::uint32_t guard, bool negated);
  void call_operands();
  void open_scope();
  void close_scope();
  void add_name(std::string_view name, Symbol symbol, std::uint32_t line);
  void resolve_labels();

  Operand operand(bool label_allowed);
  Operand unary_or_name(bool label_allowed);
  Operand name_or_label(bool label_allowed);
  Operand number(bool negative, bool inverted);
  Operand whole_vector(std::string_view name);
  Operand constant_expression();
  std::uint64_t constant_offset();
  void declare_vector(std::string_view name, Type type, std::uint32_t parts, std::uint32_t line);
  void move_of_sum(Instruction& out);
  Operand named(std::string_view name, std::uint32_t line, bool label_allowed);
  Operand address();
  Operand vector_since(std::size_t first);
  Operand braces();
  Operand parentheses();
  std::uint32_t find_register(std::string_view name);  // none_index: no such register
  std::optional<Operand> special(std::string_view name);
  std::uint32_t add_group(Type type, std::uint64_t count);
  std::uint32_t make_register(std::uint32_t group, std::uint64_t number, std::string_view name);
  [[noreturn]] void fail(std::uint32_t line, std::string message) const {
    throw SyntaxError{line, std::move(message)};
  }

  Lexer& lexer_;
  ModuleScope& scope_;
  Function& function_;
  std::vector<Scope> scopes_;      // all ever opened
  std::vector<std::size_t> open_;  // indices into scopes_
  std::vector<RegisterGroup> groups_;
  std::uint64_t may_list_ = 65536;  // numbers of groups yet to come
  // Groups found by the name before the number, by its last letter. They are forgotten when what is
  // in reach changes, and not asked once some single name is like theirs.
  std::array<std::pair<std::string_view, std::uint32_t>, 16> recent_{};
  bool percent_names_ = false;
  std::deque<std::string> member_names_;  // of vector registers: "%v.x"
  std::uint64_t added_ = 0;               // to the operand read last, "%r1 + 4"; 0: nothing
  std::vector<LabelUse> uses_;
  std::vector<Operand> operands_;  // of the instruction being read
  std::uint32_t file_ = 0, source_line_ = 0;
};

}  // namespace cupilot::ptx
