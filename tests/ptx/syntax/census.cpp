#include "ptx/syntax/census.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "ptx/syntax/module.hpp"

namespace support {
namespace {

namespace ptx = cupilot::ptx;
using Strings = std::vector<std::string>;

// Every way to choose one of each (a|b|).
void alternatives(const std::string& line, Strings& out) {
  for (std::size_t open = line.find('('); open != std::string::npos;
       open = line.find('(', open + 1)) {
    const std::size_t close = line.find(')', open);
    if (line.substr(open, close - open).find('|') == std::string::npos) continue;
    for (std::size_t at = open + 1; at <= close;) {
      const std::size_t end = std::min(line.find('|', at), close);
      alternatives(line.substr(0, open) + line.substr(at, end - at) + line.substr(close + 1), out);
      at = end + 1;
    }
    return;
  }
  out.push_back(line);
}

Strings modifiers_of(const std::string& form) {
  Strings out;
  for (std::size_t dot = form.find('.'); dot != std::string::npos;) {
    const std::size_t next = form.find('.', dot + 1);
    out.push_back(form.substr(dot + 1, next - dot - 1));
    dot = next;
  }
  return out;
}

char letter_of(ptx::Type type, unsigned times) {
  if (type == ptx::Type::pred) return 'p';
  const unsigned bytes = std::max(2u, ptx::bytes_of(type)) * times;
  return bytes == 2 ? 'h' : bytes == 4 ? 'r' : bytes == 8 ? 'd' : 'q';
}

std::string registers(char letter, unsigned first, unsigned count) {
  std::string out;
  for (unsigned i = 0; i < count; ++i)
    out += fmt::format("{}{}{}", i == 0 ? "" : ", ", letter, first + i);
  return out;
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::string address_of(const Strings& modifiers) {
  for (const std::string& m : modifiers) {
    if (m.rfind("shared", 0) == 0) return "%s";
    if (m == "global") return "%g";
    if (m == "local") return "%l";
    if (m == "const") return "%k";
  }
  return "%g";
}

// One letter and its number in the operands of a form.
std::string operand(char kind, unsigned number, ptx::Type first, ptx::Type last, unsigned vector) {
  switch (kind) {
    case 'T':
      return registers(letter_of(last, 1), number, 1);
    case 'U':
      return registers(letter_of(first, 1), number, 1);
    case 'W':
      return registers(letter_of(last, 2), number, 1);
    case 'F':
      return "{" + registers('r', 1, number) + "}";
    case 'G':
      return "{" + registers('d', 1, number) + "}";
    default:
      return vector == 1
                 ? registers(letter_of(last, 1), number, 1)
                 : "{" + registers(letter_of(last, 1), (number - 1) * vector % 8 + 1, vector) + "}";
  }
}

std::string filled(const std::string& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string::npos) return line;
  const std::string form = line.substr(0, space), text = line.substr(space);
  const Strings modifiers = modifiers_of(form);
  ptx::Type first = ptx::Type::b32, last = ptx::Type::b32;
  unsigned vector = 1, types = 0;
  bool hint = false, shared = false;
  for (const std::string& m : modifiers) {
    if (const auto type = ptx::type_named(m)) {
      first = types++ == 0 ? *type : first;
      last = *type;
    }
    if (m == "v2" || m == "v4" || m == "v8") vector = static_cast<unsigned>(m[1] - '0');
    hint = hint || m == "L2::cache_hint";
    shared = shared || m.rfind("shared", 0) == 0;
  }
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = std::string(" {[,!").find(i == 0 ? ' ' : text[i - 1]) != std::string::npos;
    const bool digit = i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9';
    if (starts && digit && std::string("TUWVFG").find(text[i]) != std::string::npos) {
      out += operand(text[i], static_cast<unsigned>(text[i + 1] - '0'), first, last, vector);
      ++i;
    } else if (text[i] == 'H' && (i + 1 == text.size() || text[i + 1] == ',')) {
      out += hint ? ", d9" : "";
    } else {
      out += text[i];
    }
  }
  replace_all(out, "[A]", "[" + address_of(modifiers) + "]");
  replace_all(out, "[M]", shared ? "[%m]" : "[%mg]");
  return form + out;
}

std::vector<CensusForm> read_census() {
  std::ifstream in(CUPILOT_SOURCE_DIR "/tests/ptx/syntax/isa_census.txt");
  if (!in) throw std::runtime_error("tests/ptx/syntax/isa_census.txt cannot be read");
  std::vector<CensusForm> out;
  bool refused = false;
  for (std::string line; std::getline(in, line);) {
    refused = refused || line.rfind("#! refused", 0) == 0;
    if (line.empty() || line[0] == '#') continue;
    Strings each;
    alternatives(line, each);
    for (const std::string& one : each) out.push_back({filled(one), refused});
  }
  return out;
}

}  // namespace

const std::vector<CensusForm>& census() {
  static const std::vector<CensusForm> forms = read_census();
  return forms;
}

std::string census_kernel(const std::string& name, const std::string& form) {
  std::string body = form + ";\n";
  if (form.rfind("brx", 0) == 0)
    body = "targets: .branchtargets done, other;\n" + body + "other:\n";
  if (form.rfind("call", 0) == 0) {
    body =
        "{\n.param .b32 result;\n.param .b32 argument;\nprototype: .callprototype (.param .b32 _) "
        "_ (.param .b32 _);\n"
        "prototype0: .callprototype _ ();\nst.param.b32 [argument], r1;\n" +
        body + "}\n";
  }
  return ".entry " + name +
         " (.param .align 64 .b8 map[128], .param .u64 buffer, .param .align 16 .b8 parameter[16]) "
         ".maxntid 128\n{\n"
         ".reg .b8 c<10>;\n.reg .b16 h<10>;\n.reg .b32 r<10>;\n.reg .b64 d<10>;\n.reg .b128 "
         "q<10>;\n.reg .pred p<10>;\n"
         ".reg .b64 %g, %l, %k, %sg, %mg, %t;\n.reg .b32 %s, %m, %sc, %mc;\n.local .align 16 .b8 "
         "stack[256];\n"
         ".shared .align 128 .b8 tile[1024];\n.shared .align 8 .b64 barrier;\n"
         "ld.param.u64 %g, [buffer];\nmov.u64 %l, stack;\nmov.u64 %k, constants;\nmov.u32 %s, "
         "tile;\nmov.u32 %m, barrier;\n"
         "cvt.u64.u32 %sg, %s;\ncvta.shared.u64 %sg, %sg;\ncvt.u64.u32 %mg, %m;\ncvta.shared.u64 "
         "%mg, %mg;\nmov.u64 %t, map;\n"
         "mov.u32 %sc, %s;\nmov.u32 %mc, %m;\nmbarrier.init.shared.b64 [%m], 1;\nmov.u32 r1, "
         "1;\nmov.u32 r2, 32;\n" +
         body + "done: ret;\n}\n";
}

}  // namespace support
