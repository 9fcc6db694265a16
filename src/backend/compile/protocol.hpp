// Messages between the controller and a compile server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/compile/pool.hpp"
#include "backend/wire/frame.hpp"

namespace cupilot {

enum class CompileMessage : std::uint32_t { hello = 1, request = 2, answer = 3 };

// The end of one compile, as its server saw it.
struct CompileAnswer {
  enum class Kind : std::uint8_t {
    done,
    refused,
    crashed,
    out_of_memory,
    out_of_time,
    too_large,
    not_begun,
    no_assembler  // the last, as unpack_answer knows
  };
  Kind kind = Kind::done;
  std::string message;   // error name, signal, which cap, or why no process or assembler began
  CompileOutput output;  // refused: the log alone
  SandboxState sandbox;  // confinement of this compile; its compiler fields are empty
};

struct CompileOrder {
  CompileRequest request;
  std::vector<std::string> options;
  double cpu_seconds = 20;
};

std::string pack(const SandboxState& state);
std::string pack(const CompileOrder& order);
std::string pack(const CompileAnswer& answer);
std::optional<SandboxState> unpack_hello(std::string_view body);
std::optional<CompileOrder> unpack_order(std::string_view body);
std::optional<CompileAnswer> unpack_answer(std::string_view body);

bool is_too_large(const CompileOutput& output, const CompileCaps& caps);
// "PTX 5 bytes of 4, cubin 0 bytes of 8"
std::string sizes_text(const CompileOutput& output, const CompileCaps& caps);

// Well-formed UTF-8 of at most the cap: control characters other than newline and tab, and letters
// that turn the reading direction, removed; of a longer text the middle is left out.
std::string clean_log(std::string_view log);

}  // namespace cupilot
