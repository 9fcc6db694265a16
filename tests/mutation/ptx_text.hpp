// The instructions of a PTX text, with what an operator asks about them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupilot::mutation {

// One instruction, its `;` included.
struct Instruction {
  std::size_t begin = 0, end = 0;  // offsets in the text
  std::string_view guard{};        // "%p1" or "!%p1"; empty: none
  std::string_view opcode{};       // dotted, as written
  std::vector<std::string_view> operands{};
  std::size_t block = 0;  // of straight code: no label and no branch within
  std::size_t body = 0;   // offset behind the `{` of its function

  bool is(std::string_view start) const { return opcode.starts_with(start); }
  bool has(std::string_view modifier) const;  // ".gpu"
};

class PtxText {
 public:
  explicit PtxText(std::string text);
  PtxText(const PtxText&) = delete;
  PtxText& operator=(const PtxText&) = delete;

  const std::string& text() const { return text_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  std::string spelled(const Instruction& one) const;
  // The first instruction behind a label of the same function; nullopt: no such label.
  std::optional<std::size_t> target(const Instruction& branch) const;
  std::size_t offset_of(std::string_view part) const {  // of a view of an instruction
    return static_cast<std::size_t>(part.data() - code_.data());
  }

 private:
  struct Label {
    std::string_view name;
    std::size_t at = 0, body = 0;
  };
  void read();
  std::size_t read_statement(std::size_t at);
  void take(std::size_t begin, std::size_t end);

  std::string text_, code_;  // code_: blanks in place of comments and quoted texts
  std::vector<Instruction> instructions_;
  std::vector<Label> labels_;
  std::size_t block_ = 0, body_ = 0;
};

}  // namespace cupilot::mutation
