#include "fuzz/ptx_mutants.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>

#include "fuzz/corpus.hpp"
#include "ptx/syntax/parser.hpp"

namespace cupilot::fuzz {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::vector<std::size_t> places_after(const std::string& text, const std::regex& pattern) {
  std::vector<std::size_t> places;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), pattern);
       at != std::sregex_iterator(); ++at) {
    places.push_back(static_cast<std::size_t>(at->position() + at->length()));
  }
  return places;
}

// Between two statements of a body: behind a line that begins with a tab and ends with a semicolon.
std::size_t place_in_body(const std::string& text, Dice& dice) {
  static const std::regex line("\n\t[^\n]*;(?=\n)");
  return dice.pick<std::size_t>(places_after(text, line));
}

Mutant inserted_in_body(const Seed& seed, Dice& dice, const std::string& what, std::string code) {
  std::string text = seed.text;
  const std::string statement = replaced(what, "$", std::to_string(dice.below(1000000)));
  text.insert(place_in_body(text, dice), "\n\t" + statement);
  return {std::move(text), std::move(code), statement};
}

std::string without_comments(const std::string& text) {
  static const std::regex comment(R"(//[^\n]*|/\*[^]*?\*/|"[^"\n]*")");
  return std::regex_replace(text, comment, " ");
}

std::vector<std::string> words_of(const std::string& text) {
  static const std::regex word(R"([A-Za-z0-9_$%.:]+|[^\s])");
  return {std::sregex_token_iterator(text.begin(), text.end(), word), std::sregex_token_iterator()};
}

}  // namespace

std::vector<Seed> seeds() {
  std::vector<Seed> all;
  for (const auto& file : std::filesystem::directory_iterator(sources() + "/tests/data/ptx-fuzz")) {
    std::ifstream in(file.path());
    Seed seed{file.path().stem(), std::string(std::istreambuf_iterator<char>(in), {}), {}};
    const auto module = ptx::parse(seed.text);
    if (!module) throw std::runtime_error(seed.name + " does not parse");
    for (const ptx::Function& function : module->functions) {
      if (!function.is_entry) continue;
      ptx::ExpectedEntry entry{function.name, function.name, {}, {}, {}};
      for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
        entry.parameters.push_back(
            {static_cast<std::uint32_t>(function.parameter(i).bytes), function.parameter(i).align});
      }
      seed.entries.push_back(std::move(entry));
    }
    all.push_back(std::move(seed));
  }
  std::sort(all.begin(), all.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return all;
}

Mutant with_second_entry(const Seed& seed, Dice& dice) {
  static const std::array<std::string, 6> items = {
      ".visible .entry evil$(.param .u64 a)\n{\n\tret;\n}\n",
      ".entry evil$()\n{\n\tret;\n}\n",
      ".weak .entry evil$()\n{\n\tret;\n}\n",
      ".visible .func evil$()\n{\n\tret;\n}\n",
      ".visible .entry evil$();\n.visible .entry evil$()\n{\n\tret;\n}\n",
      "/* .entry */ .visible\n.entry\nevil$\n()\n{ ret; }\n",
  };
  const std::string item =
      replaced(dice.pick<std::string>(items), "$", std::to_string(dice.below(1000)));
  Mutant mutant{seed.text, "gate.extra_entry", item};
  if (dice.below(3) == 0) {
    // By way of inline assembly; what follows the insertion may then name registers of the function
    // that was closed.
    mutant.text.insert(place_in_body(mutant.text, dice),
                       "\n\tret;\n}\n" + item + ".func rest$()\n{");
    mutant.code = "";
  } else if (dice.below(2) == 0) {
    static const std::regex start("\n(?=\\.visible \\.entry)");
    mutant.text.insert(dice.pick<std::size_t>(places_after(seed.text, start)), item);
  } else {
    mutant.text += item;
  }
  return mutant;
}

Mutant with_hidden_state(const Seed& seed, Dice& dice) {
  // Ways to write H, or to let its address out, each within a block of its own.
  static const std::array<std::string, 20> ways = {
      "st.global.u32 [H], 1;",
      "st.volatile.global.u32 [H+8], 1;",
      "red.global.add.u32 [H], 1;",
      ".reg .u32 v; atom.global.add.u32 v, [H], 1;",
      ".reg .u32 v; atom.global.cas.b32 v, [H], 0, 1;",
      ".reg .u64 a; mov.u64 a, H; add.s64 a, a, 8; st.global.u32 [a], 1;",
      ".reg .u64 a; mov.u64 a, H; cvta.global.u64 a, a; st.u32 [a+4], 1;",
      ".reg .u64 a, b; .reg .u32 l, h; mov.u64 a, H; mov.b64 {l, h}, a; mov.b64 b, {l, h}; "
      "st.global.u32 [b], 1;",
      ".reg .u64 a, b; .reg .pred p; mov.u64 a, H; setp.ne.u64 p, a, 0; selp.u64 b, a, 0, p; "
      "st.global.u32 [b], 1;",
      ".reg .u64 a, b; .reg .pred p; mov.u64 a, H; setp.ne.u64 p, a, 0; mov.u64 b, 0; @p add.u64 "
      "b, b, 1; st.global.u32 [b], 1;",
      ".reg .u64 a; .shared .align 8 .b64 s; mov.u64 a, H; st.shared.u64 [s], a;",
      ".reg .u64 a; .param .b64 q; mov.u64 a, H; st.param.b64 [q], a;",
      ".reg .u64 a; mov.u64 a, H; xor.b64 a, a, 255; xor.b64 a, a, 255; st.global.u32 [a], 1;",
      ".reg .u64 a; .reg .u32 l; mov.u64 a, H; cvt.u32.u64 l, a; add.cc.u32 l, l, 1; addc.u32 l, "
      "0, 0; st.global.u32 [a], l;",
      ".shared .align 16 .b8 s[16]; cp.async.bulk.global.shared::cta.bulk_group [H], [s], 16;",
      ".shared .align 16 .b8 s[16]; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 "
      "[H], [s], 16;",
      ".reg .u64 a; mov.u64 a, H; discard.global.L2 [a], 128;",
      ".reg .u64 a; .reg .u32 l, v; mov.u64 a, H; shr.u64 a, a, 3; cvt.u32.u64 l, a; ld.shared.u32 "
      "v, [l]; st.global.u32 [a], v;",
      ".reg .u64 a; .reg .pred p; mov.u64 a, H; setp.gt.u64 p, a, 65536; @p bra on; on:",
      ".reg .u64 a, b; mov.u64 a, H; sub.u64 b, 0, a; st.global.u32 [b], 1;",
  };
  static const std::array<std::string, 3> spaces = {".global .align 8 .b8 H[64];",
                                                    ".global .align 16 .b8 H[64] = {1, 2, 3};",
                                                    ".const .align 16 .b8 H[64];"};
  const std::string name = "hidden" + std::to_string(dice.below(1000));
  const std::string space = replaced(dice.pick<std::string>(spaces), "H", name);
  const std::string way = replaced(dice.pick<std::string>(ways), "H", name);
  const std::string code =
      way.find("discard") == std::string::npos ? "gate.state" : "gate.forbidden";
  if (dice.below(2) == 0)
    return inserted_in_body(seed, dice, "{ " + space + " " + way + " }", code);
  Mutant mutant = inserted_in_body(seed, dice, "{ " + way + " }", code);
  static const std::regex header("\\.address_size 64\n");
  mutant.text.insert(places_after(mutant.text, header).at(0), space + "\n");
  return mutant;
}

Mutant with_forbidden_instruction(const Seed& seed, Dice& dice) {
  static const std::array<std::string, 16> ways = {
      "trap;",
      "brkpt;",
      "pmevent 7;",
      "frobnicate.sync.aligned.b32;",
      "{ .reg .u32 v; mov.u32 v, %clock; }",
      "{ .reg .u64 v; mov.u64 v, %clock64; }",
      "{ .reg .u64 v; mov.u64 v, %globaltimer; }",
      "{ .reg .u32 v; mov.u32 v, %gridid; }",
      "{ .reg .u32 v; mov.u32 v, %pm3; }",
      "{ .reg .u32 v; mov.u32 v, %envreg1; }",
      "{ .reg .u64 a; discard.global.L2 [a], 128; }",
      "{ .reg .u64 a; red.relaxed.sys.global.add.u32 [a], 1; }",
      "{ .reg .u64 a; .reg .u32 v; atom.sys.global.exch.b32 v, [a], 1; }",
      "{ .reg .u64 a; multimem.red.relaxed.sys.global.add.u32 [a], 1; }",
      "{ .reg .u64 a; .reg .f32 v; tex.1d.v4.f32.s32 {v, v, v, v}, [a, {0}]; }",
      ".pragma \"frobnicate\";",
  };
  return inserted_in_body(seed, dice, dice.pick<std::string>(ways), "gate.forbidden");
}

Mutant with_oversize_variable(const Seed& seed, Dice& dice) {
  static const std::array<std::string, 6> ways = {
      "{ .local .align 4 .b8 much$[1099511627776]; }",
      "{ .shared .align 4 .b8 much$[1099511627776]; }",
      "{ .shared .align 16 .b8 much$[232464]; .reg .u32 v; ld.shared.u32 v, [much$]; }",
      "{ .global .align 4 .b8 much$[8589934592]; }",
      "{ .const .align 4 .b8 much$[65552]; }",
      "{ .param .align 4 .b8 much$[1073741824]; }",
  };
  return inserted_in_body(seed, dice, dice.pick<std::string>(ways), "gate.size");
}

Mutant with_other_interface(const Seed& seed, Dice& dice) {
  Mutant mutant{seed.text, "", ""};
  const std::size_t entry = mutant.text.find(".entry");
  const std::size_t open = mutant.text.find('(', entry), close = mutant.text.find(')', open);
  const std::string list = mutant.text.substr(open + 1, close - open - 1);
  switch (dice.below(6)) {
    case 0:  // one more
      mutant.text.insert(close, ",\n\t.param .u" + std::to_string(8 << dice.below(4)) + " more\n");
      mutant.code = "gate.parameters";
      break;
    case 1:  // one twice as wide, or half
      mutant.text.replace(open + 1, list.size(),
                          list.find(".u64") != std::string::npos ? replaced(list, ".u64", ".u32")
                                                                 : replaced(list, ".u32", ".u64"));
      mutant.code = "gate.parameters";
      break;
    case 2:  // the last one gone
      mutant.text.erase(
          list.find(',') == std::string::npos ? open + 1 : mutant.text.rfind(',', close),
          list.find(',') == std::string::npos ? list.size()
                                              : close - mutant.text.rfind(',', close));
      break;
    case 3:  // an array of the first one's type
      mutant.text.insert(open + 1 + list.find_first_of(",\n", list.find(".param")), "[2]");
      break;
    case 4:  // another name
      mutant.text.insert(mutant.text.find_first_not_of(' ', entry + 6), "other_");
      mutant.code = "gate.extra_entry";
      break;
    default:  // no kernel any more
      mutant.text.replace(mutant.text.rfind('.', entry - 1),
                          entry + 6 - mutant.text.rfind('.', entry - 1), ".func");
  }
  mutant.what = mutant.text.substr(entry > 20 ? entry - 20 : 0, 200);
  return mutant;
}

std::string scrambled(const Seed& seed, std::span<const Seed> others, Dice& dice) {
  static const std::array<std::string, 24> words = {"{",
                                                    "}",
                                                    "(",
                                                    ")",
                                                    "[",
                                                    "]",
                                                    ";",
                                                    ",",
                                                    "!",
                                                    "-",
                                                    "|",
                                                    "@",
                                                    "\"",
                                                    "/*",
                                                    "*/",
                                                    "//",
                                                    ".entry",
                                                    ".func",
                                                    ".global .u32 x;",
                                                    "<",
                                                    "99999999999999999999",
                                                    "0x",
                                                    ".",
                                                    "\0"};
  std::string text = seed.text;
  for (std::size_t changes = 1 + dice.below(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = dice.below(text.size()),
                      length = std::min(text.size() - at, dice.below(40));
    switch (dice.below(9)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = dice.byte();
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(dice.below(text.size()), length));
        break;
      case 4:
        text.insert(at, dice.pick<std::string>(words));
        break;
      case 5:  // a digit
        if (const std::size_t digit = text.find_first_of("0123456789", at);
            digit != std::string::npos) {
          text[digit] = static_cast<char>('0' + dice.below(10));
        }
        break;
      case 6: {  // a line twice, or somewhere else
        const std::size_t begin = text.rfind('\n', at), end = text.find('\n', at + 1);
        if (begin == std::string::npos || end == std::string::npos) break;
        const std::string line = text.substr(begin, end - begin);
        if (dice.below(2) == 0) text.erase(begin, line.size());
        text.insert(text.find('\n', dice.below(text.size())) == std::string::npos
                        ? 0
                        : text.find('\n', dice.below(text.size())) % text.size(),
                    line);
        break;
      }
      case 7: {  // a piece of another module
        const std::string& other = dice.pick<Seed>(others).text;
        text.insert(at, other.substr(dice.below(other.size()), dice.below(300)));
        break;
      }
      default:
        text.insert(at, std::string(dice.below(3000), dice.pick<std::string>(words).front()));
    }
  }
  return text;
}

std::string complaint(const std::string& text, const Seed& seed) {
  const std::vector<std::string> words = words_of(without_comments(text));
  std::set<std::string> entries, wanted, variables;
  for (const ptx::ExpectedEntry& entry : seed.entries) wanted.insert(entry.name);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == ".entry") entries.insert(words[i + 1]);
    if (words[i] == "trap" || words[i] == "brkpt") return words[i];
    if (words[i].rfind("%clock", 0) == 0 || words[i].rfind("%globaltimer", 0) == 0 ||
        words[i] == "%gridid")
      return words[i];
    if (words[i] == ".extern" && words[i + 1] == ".func") return ".extern .func";
    if (words[i] == ".global" || words[i] == ".const") {
      for (std::size_t j = i + 1; j < std::min(words.size(), i + 6); ++j) {
        if (std::isalpha(static_cast<unsigned char>(words[j][0])) || words[j][0] == '_') {
          variables.insert(words[j]);
          break;
        }
      }
    }
  }
  if (entries != wanted) return "entries";
  // A store, an atomic or a reduction whose address names a module variable.
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const std::string& word = words[i];
    const bool stores = word.rfind("st.", 0) == 0 || word.rfind("red.", 0) == 0;
    if (stores && words[i + 1] == "[" && variables.contains(words[i + 2]))
      return "writes " + words[i + 2];
  }
  return "";
}

}  // namespace cupilot::fuzz
