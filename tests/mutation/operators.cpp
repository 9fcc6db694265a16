#include "operators.hpp"

#include <array>
#include <set>

namespace cupilot::mutation {
namespace {

using Sites = std::vector<Site>;

Edit replace(const SourceText& s, std::size_t token, std::string with) {
  return {s[token].begin, s[token].end, std::move(with)};
}
Edit insert_before(const SourceText& s, std::size_t token, std::string with) {
  return {s[token].begin, s[token].begin, std::move(with)};
}
Edit insert_after(const SourceText& s, std::size_t token, std::string with) {
  return {s[token].end, s[token].end, std::move(with)};
}

// The header of the `for` around token `at` as places of its `(` and its two `;`; nothing when `at`
// is in no header.
struct Header {
  std::size_t open = 0, first = 0, second = 0;
};
std::vector<Header> headers(const SourceText& s) {
  std::vector<Header> all;
  for (std::size_t i = 0; i + 1 < s.size(); ++i) {
    if (!s.is(i, "for") || !s.is_code(i)) continue;
    Header header{i + 1, 0, 0};
    for (std::size_t j = i + 2; j < s[i + 1].mate; ++j) {
      if (!s.is(j, ";")) continue;
      (header.first == 0 ? header.first : header.second) = j;
    }
    if (header.second != 0) all.push_back(header);
  }
  return all;
}
bool in_header(const SourceText& s, std::size_t at) {
  for (const Header& header : headers(s)) {
    if (at > header.open && at < s[header.open].mate) return true;
  }
  return false;
}

// A declaration's brackets hold sizes, not places.
bool declares(const SourceText& s, std::size_t bracket) {
  static const std::set<std::string_view> types = {"__shared__", "extern", "float",    "float2",
                                                   "float4",     "int",    "unsigned", "bool"};
  const std::size_t begin = s.statement_begin(bracket);
  if (!types.contains(s.spelling(begin))) return false;
  for (std::size_t i = begin; i < bracket; ++i) {
    if (s.is(i, "=")) return false;
  }
  return true;
}

Sites drop_barrier(const SourceText& s) {
  Sites sites;
  for (std::size_t i = 0; i + 3 < s.size(); ++i) {
    if (s.is_code(i) && (s.is(i, "__syncthreads") || s.is(i, "__syncwarp")))
      sites.push_back({{s[i].begin, s[i + 2].end, ""}});
  }
  return sites;
}

// Comparisons that guard an access or a choice: in `if`, `?:` and named conditions, not in loops.
std::vector<std::size_t> guards(const SourceText& s) {
  std::vector<std::size_t> all;
  for (std::size_t i = 1; i + 1 < s.size(); ++i) {
    const bool compares = s.is(i, "<") || s.is(i, ">=");
    if (compares && s.is_code(i) && s.is_binary(i) && !in_header(s, i)) all.push_back(i);
  }
  return all;
}

Sites relax_guard(const SourceText& s) {
  Sites sites;
  for (const std::size_t i : guards(s)) sites.push_back({replace(s, i, s.is(i, "<") ? "<=" : ">")});
  return sites;
}

// One less is let through: the last element, row or lane.
Sites drop_last(const SourceText& s) {
  Sites sites;
  for (const std::size_t i : guards(s)) sites.push_back({insert_after(s, i, " -1 +")});
  return sites;
}

// A loop whose body asks no further is led past its end by one turn more; one that asks does
// nothing there.
bool asks_nothing(const SourceText& s, const Header& header) {
  std::size_t i = s[header.open].mate + 1;
  for (const std::size_t end = s.is(i, "{") ? s[i].mate : s.statement_end(i); i < end; ++i) {
    if ((s.is(i, "<") || s.is(i, ">=") || s.is(i, "?")) && s.is_binary(i)) return false;
  }
  return true;
}
bool steps_by(const SourceText& s, const Header& header, std::string_view mark) {
  for (std::size_t i = header.second; i < s[header.open].mate; ++i) {
    if (s.is(i, mark)) return true;
  }
  return false;
}

Sites loop_bound(const SourceText& s) {
  Sites sites;
  for (const Header& header : headers(s)) {
    const bool longer = asks_nothing(s, header) && !steps_by(s, header, "*=");
    for (std::size_t i = header.first + 1; i < header.second; ++i) {
      if (!s.is_binary(i)) continue;
      if (s.is(i, "<") && longer) sites.push_back({insert_after(s, i, " 1 +")});
      if (s.is(i, "<")) sites.push_back({insert_after(s, i, " -1 +")});
      if (s.is(i, ">")) sites.push_back({insert_after(s, i, " 1 +")});
    }
  }
  return sites;
}

Sites same_thread(const SourceText& s) {
  Sites sites;
  for (std::size_t i = 0; i + 2 < s.size(); ++i) {
    const bool asks_for_one =
        s.is(i + 3, "==");  // two threads doing what one should is no fault of place
    if (s.is_code(i) && s.is(i, "threadIdx") && !asks_for_one)
      sites.push_back({insert_before(s, i, "("), insert_after(s, i + 2, " / 2)")});
  }
  return sites;
}

Sites plus_to_minus(const SourceText& s) {
  Sites sites;
  for (std::size_t i = 1; i + 1 < s.size(); ++i) {
    if (!s.is_code(i) || !s.is_binary(i)) continue;
    if (s.is(i, "+")) sites.push_back({replace(s, i, "-")});
    if (s.is(i, "+=") && !in_header(s, i)) sites.push_back({replace(s, i, "-=")});
  }
  return sites;
}

Sites shifted_index(const SourceText& s) {
  Sites sites;
  for (std::size_t i = 1; i < s.size(); ++i) {
    if (!s.is(i, "[") || !s.is_code(i) || s[i].mate <= i + 1 || declares(s, i)) continue;
    if (!s.is_word(i - 1) && !s.is(i - 1, "]") && !s.is(i - 1, ")"))
      continue;  // a lambda's captures
    sites.push_back({insert_before(s, i + 1, "1 + ")});
  }
  return sites;
}

Sites wrong_stride(const SourceText& s) {
  Sites sites;
  for (std::size_t i = 1; i + 1 < s.size(); ++i) {
    if (!s.is_code(i) || !s.is_binary(i) || !s.is(i, "*")) continue;
    const bool whole = s.is_word(i + 1) || (s[i + 1].kind == TokenKind::number &&
                                            s.spelling(i + 1).find('.') == std::string::npos);
    if (whole && !s.is(i + 2, ".") && !s.is(i + 2, "[") && !s.is(i + 2, "(")) {
      sites.push_back({replace(s, i + 1, "(" + std::string(s.spelling(i + 1)) + " + 1)")});
    }
  }
  for (const Header& header : headers(s)) {
    for (std::size_t i = header.second; i < s[header.open].mate; ++i) {
      if (s.is(i, "+=")) sites.push_back({insert_after(s, i, " 1 +")});
    }
  }
  return sites;
}

// Statements `place[…] = …;` and `*place = …;`: the place of their `=` or `+=`.
std::vector<std::size_t> stores(const SourceText& s) {
  std::vector<std::size_t> all;
  for (std::size_t i = 1; i + 1 < s.size(); ++i) {
    if (!s.is_code(i) || !s.is_binary(i) || (!s.is(i, "=") && !s.is(i, "+=")) || in_header(s, i))
      continue;
    const std::size_t begin = s.statement_begin(i);
    const bool indexed = s.is_word(begin) && s.is(begin + 1, "[");
    if (indexed || (s.is(begin, "*") && s.is_word(begin + 1))) all.push_back(i);
  }
  return all;
}

Sites drop_store(const SourceText& s) {
  Sites sites;
  for (const std::size_t i : stores(s))
    sites.push_back({{s[s.statement_begin(i)].begin, s[s.statement_end(i)].begin, ""}});
  return sites;
}

// Constants that are computed with. A size in a declaration, a value that is compared with, and the
// rounding up before a division may well be larger.
Sites constant_off_by_one(const SourceText& s) {
  static const std::set<std::string_view> before = {"*", "+", "-", "/", "%", "*=", "/="};
  Sites sites;
  for (std::size_t i = 1; i + 2 < s.size(); ++i) {
    const std::string_view number = s.spelling(i);
    const bool decimal = number.find_first_not_of("0123456789") == std::string_view::npos;
    if (!s.is_code(i) || s[i].kind != TokenKind::number || !decimal ||
        !before.contains(s.spelling(i - 1)))
      continue;
    const bool rounds_up = s.is(i + 1, ")") && s.is(i + 2, "/");
    bool sizes = false;
    for (std::size_t j = s.statement_begin(i); j < i; ++j)
      sizes |= s.is(j, "[") && s[j].mate > i && declares(s, j);
    if (rounds_up || sizes || s.is(i + 1, "==")) continue;
    sites.push_back({replace(s, i, std::to_string(std::stol(std::string(number)) + 1))});
  }
  return sites;
}

// A sum starts at one, a maximum at a value that may be above it, a rising loop one late.
Sites wrong_start(const SourceText& s) {
  Sites sites;
  for (std::size_t i = 1; i + 2 < s.size(); ++i) {
    if (!s.is_code(i) || !s.is(i, "=") || (!s.is_word(i - 1) && !s.is(i - 1, "]")) ||
        in_header(s, i))
      continue;
    const std::size_t from = i + 1;
    const bool zero = s.is(from, "0.0f") || s.is(from, "0");
    if (zero && (s.is(from + 1, ";") || s.is(from + 1, ",")))
      sites.push_back({replace(s, from, "1")});
    if (s.is(from, "__int_as_float"))
      sites.push_back({{s[from].begin, s[s[from + 1].mate].end, "1e6f"}});
    if (s.is(from, "{") && s.is(from + 1, "}")) sites.push_back({insert_before(s, from + 1, "1")});
  }
  for (const Header& header : headers(s)) {
    bool rises = false;
    for (std::size_t i = header.first; i < header.second; ++i) rises |= s.is(i, "<");
    for (std::size_t i = header.open; rises && i < header.first; ++i) {
      if (s.is(i, "=")) sites.push_back({insert_after(s, i, " 1 +")});
    }
  }
  return sites;
}

// Parameters of kernels: pointers to what is read, or to what is written.
struct Parameter {
  std::string name;
  std::size_t body = 0;  // the kernel's `{`
};
std::vector<Parameter> pointers(const SourceText& s, bool read) {
  std::vector<Parameter> all;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (!s.is(i, "__global__")) continue;
    std::size_t open = i;
    while (!s.is(open, "(") || s.is(open - 1, "__launch_bounds__")) ++open;
    const std::size_t close = s[open].mate;
    for (std::size_t j = open + 1; j < close; ++j) {
      if (!s.is(j, "*")) continue;
      bool constant = false;
      for (std::size_t k = j; k > open && !s.is(k, ","); --k) constant |= s.is(k, "const");
      const std::size_t name = s.is(j + 1, "__restrict__") ? j + 2 : j + 1;
      if (constant == read) all.push_back({std::string(s.spelling(name)), close + 1});
    }
  }
  return all;
}

// The value stays what it was.
Sites write_input(const SourceText& s) {
  Sites sites;
  for (const Parameter& p : pointers(s, true)) {
    sites.push_back({insert_after(s, p.body,
                                  " if (threadIdx.x == 0) *(volatile char*)" + p.name +
                                      " = *(const volatile char*)" + p.name + ";")});
  }
  return sites;
}

Sites read_output(const SourceText& s) {
  std::set<std::string> outputs;
  for (const Parameter& p : pointers(s, false)) outputs.insert(p.name);
  Sites sites;
  for (const std::size_t i : stores(s)) {
    const std::size_t begin = s.statement_begin(i);
    const std::size_t name = s.is(begin, "*") ? begin + 1 : begin;
    if (!s.is(i, "=") || !outputs.contains(std::string(s.spelling(name)))) continue;
    const std::string place = s.between(begin, i);
    sites.push_back({insert_before(s, begin, "{ (void)*(volatile char*)&(" + place + "); "),
                     insert_after(s, s.statement_end(i), " }")});
  }
  return sites;
}

// Names of numbers that are computed with: locals and arrays of float, and arrays of integers.
std::set<std::string, std::less<>> values(const SourceText& s) {
  std::set<std::string, std::less<>> names;
  for (std::size_t i = 0; i + 2 < s.size(); ++i) {
    const bool real = s.is(i, "float"), integer = s.is(i, "int") || s.is(i, "unsigned");
    if (!real && !integer) continue;
    for (std::size_t j = i + 1; j < s.size() && !s.is(j, ";") && !s.is(j, ")") && !s.is(j, "{");
         ++j) {
      if (s.is(j, "(") || s.is(j, "[")) j = s[j].mate;
      if (!s.is_word(j)) continue;
      const bool many = s.is(j + 1, "[") || s.is(j - 1, "*");
      if (many || (real && (s.is(j + 1, "=") || s.is(j + 1, ",")))) names.emplace(s.spelling(j));
    }
  }
  return names;
}

constexpr const char* narrow_text = R"(
template <class T>
__device__ __forceinline__ T mutant_narrow(T value) {
  return value & ~1;
}
template <>
__device__ __forceinline__ float mutant_narrow(float value) {
  unsigned short half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return __uint_as_float((unsigned)half << 16);
}
)";

// A sum's or a store's new value passes through fewer bits: bf16, or an integer without its lowest.
Sites lost_bits(const SourceText& s) {
  const auto names = values(s);
  Sites sites;
  for (std::size_t i = 1; i + 1 < s.size(); ++i) {
    if (!s.is_code(i) || !s.is_binary(i) || (!s.is(i, "=") && !s.is(i, "+=")) || in_header(s, i))
      continue;
    std::size_t name = i - 1;
    while (s.is(name, "]")) name = s[name].mate - 1;
    const std::size_t end = s.statement_end(i);
    if (!names.contains(s.spelling(name)) || s.is(name - 1, "*") || s.is(i + 1, "__int_as_float") ||
        !s.is(end, ";") || s.is(i + 1, "{"))
      continue;
    if (end == i + 2 && !s.is_word(i + 1)) continue;  // a literal
    bool list = false;
    for (std::size_t j = i; j < end; ++j) {
      if (s.is(j, "(") || s.is(j, "[")) j = s[j].mate;
      list |= s.is(j, ",");
    }
    if (list) continue;
    sites.push_back({{0, 0, narrow_text},
                     insert_before(s, i + 1, "mutant_narrow("),
                     insert_before(s, end, ")")});
  }
  return sites;
}

constexpr std::array<Operator, 14> all_operators = {{
    {"drop_barrier", "a barrier is missing", drop_barrier},
    {"relax_guard", "a guard lets one more through", relax_guard},
    {"drop_last", "a guard lets one less through", drop_last},
    {"loop_bound", "a loop runs once more or less", loop_bound},
    {"same_thread", "two threads take one place", same_thread},
    {"plus_to_minus", "a sum is a difference", plus_to_minus},
    {"shifted_index", "the next element is taken", shifted_index},
    {"wrong_stride", "a factor or a step is one too large", wrong_stride},
    {"drop_store", "a store is missing", drop_store},
    {"constant_off_by_one", "a constant is one too large", constant_off_by_one},
    {"wrong_start", "a sum, a maximum or a loop starts wrong", wrong_start},
    {"write_input", "an input is written, with the value it had", write_input},
    {"read_output", "an output is read before it is written", read_output},
    {"lost_bits", "a value passes through fewer bits", lost_bits},
}};

}  // namespace

std::span<const Operator> operators() { return all_operators; }

std::string apply(const std::string& text, const Site& site) {
  std::string out;
  std::size_t from = 0;
  for (const Edit& edit : site) {
    out += text.substr(from, edit.begin - from) + edit.with;
    from = edit.end;
  }
  return out + text.substr(from);
}

}  // namespace cupilot::mutation
