#include "backend/compile/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backend/wire/body.hpp"

namespace cupilot {

std::string describe(const SandboxState& state) {
  return fmt::format(
      "{}, {}, {}", state.landlock > 0 ? fmt::format("landlock {}", state.landlock) : "NO landlock",
      state.seccomp ? "seccomp" : "NO seccomp", state.limits ? "rlimits" : "NO rlimits");
}

std::vector<std::string> lacks_of(const SandboxState& state) {
  std::vector<std::string> lacks;
  if (state.landlock == 0) {
    lacks.emplace_back(
        "no Landlock: sources that say include are refused, and a compromised compiler may read "
        "this user's files");
  }
  if (!state.seccomp)
    lacks.emplace_back("no seccomp: a compromised compiler may make any system call");
  if (!state.limits)
    lacks.emplace_back("no limits on processes: a hostile source may exhaust this machine");
  return lacks;
}

std::string pack(const SandboxState& state) {
  BodyWriter out;
  out.put(state.landlock)
      .put(state.seccomp)
      .put(state.limits)
      .put(state.compiler)
      .put(state.compiler_path)
      .put(state.compiler_digest);
  return out.take();
}

std::optional<SandboxState> unpack_hello(std::string_view body) {
  BodyReader in(body);
  SandboxState state;
  state.landlock = in.get<int>();
  state.seccomp = in.get<bool>();
  state.limits = in.get<bool>();
  state.compiler = in.text();
  state.compiler_path = in.text();
  state.compiler_digest = in.text();
  if (!in.whole()) return std::nullopt;
  return state;
}

bool is_too_large(const CompileOutput& output, const CompileCaps& caps) {
  return output.ptx.size() > caps.ptx || output.cubin.size() > caps.cubin;
}

std::string sizes_text(const CompileOutput& output, const CompileCaps& caps) {
  return fmt::format("PTX {} bytes of {}, cubin {} bytes of {}", output.ptx.size(), caps.ptx,
                     output.cubin.size(), caps.cubin);
}

std::string pack(const CompileOrder& order) {
  BodyWriter out(order.request.text.size() + 4096);
  out.put(order.request.text)
      .put(order.request.arch)
      .put(order.request.options)
      .put(order.request.name_expressions);
  out.put(order.request.ptx_only)
      .put(order.request.is_ptx)
      .put(order.options)
      .put(order.cpu_seconds);
  return out.take();
}

std::optional<CompileOrder> unpack_order(std::string_view body) {
  BodyReader in(body);
  CompileOrder order;
  order.request.text = in.text();
  order.request.arch = in.text();
  order.request.options = in.texts();
  order.request.name_expressions = in.texts();
  order.request.ptx_only = in.get<bool>();
  order.request.is_ptx = in.get<bool>();
  order.options = in.texts();
  order.cpu_seconds = in.get<double>();
  if (!in.whole()) return std::nullopt;
  return order;
}

std::string pack(const CompileAnswer& answer) {
  BodyWriter out;
  out.put(answer.kind)
      .put(answer.message)
      .put(answer.output.ptx)
      .put(answer.output.cubin)
      .put(answer.output.log);
  out.put(static_cast<std::uint64_t>(answer.output.lowered_names.size()));
  for (const auto& [name, lowered] : answer.output.lowered_names) out.put(name).put(lowered);
  out.put(answer.output.seconds).put(answer.output.compiler);
  out.put(answer.sandbox.landlock).put(answer.sandbox.seccomp).put(answer.sandbox.limits);
  return out.take();
}

std::optional<CompileAnswer> unpack_answer(std::string_view body) {
  BodyReader in(body);
  CompileAnswer answer;
  answer.kind = in.get<CompileAnswer::Kind>();
  answer.message = in.text();
  answer.output.ptx = in.text();
  answer.output.cubin = in.values<std::uint8_t>();
  answer.output.log = in.text();
  const auto names = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < names && !in.failed(); ++i) {
    const std::string name = in.text();
    answer.output.lowered_names[name] = in.text();
  }
  answer.output.seconds = in.get<double>();
  answer.output.compiler = in.text();
  answer.sandbox.landlock = in.get<int>();
  answer.sandbox.seccomp = in.get<bool>();
  answer.sandbox.limits = in.get<bool>();
  if (!in.whole() || answer.kind > CompileAnswer::Kind::no_assembler) return std::nullopt;
  return answer;
}

namespace {

// Length of the UTF-8 letter that a text begins with and may be shown; 0: a byte to drop. What
// moves a cursor (control characters of either table) and what turns the reading direction is
// dropped.
std::size_t letter_at(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80)
    return first == '\n' || first == '\t' || (first >= 0x20 && first != 0x7f) ? 1 : 0;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : (first & 0xf0) == 0xe0        ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  unsigned code = length == 2 ? first & 0x1f : length == 3 ? first & 0x0f : first & 0x07;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool shown = code >= std::max(least[length], 0xa0u) && code <= 0x10ffff &&
                     (code < 0xd800 || code > 0xdfff);
  const bool turns = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                     (code >= 0x2060 && code <= 0x206f);
  return shown && !turns && code != 0xfeff ? length : 0;
}

// The first and the last half of the cap, cut at line ends where there are any.
std::string shortened(std::string text) {
  if (text.size() <= log_cap) return text;
  constexpr std::string_view gap = "\n[...]\n";
  constexpr std::size_t half = (log_cap - gap.size()) / 2;
  std::size_t head = text.rfind('\n', half), tail = text.find('\n', text.size() - half);
  if (head == std::string::npos || head < half / 2) head = half;
  if (tail == std::string::npos || text.size() - tail < half / 2) tail = text.size() - half;
  // Not within a letter.
  while (head > 0 && (static_cast<unsigned char>(text[head]) & 0xc0) == 0x80) --head;
  while (tail < text.size() && (static_cast<unsigned char>(text[tail]) & 0xc0) == 0x80) ++tail;
  return text.substr(0, head) + std::string(gap) + text.substr(tail);
}

}  // namespace

std::string clean_log(std::string_view log) {
  std::string clean;
  while (!log.empty()) {
    const std::size_t length = letter_at(log);
    clean += log.substr(0, length);
    log.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shortened(std::move(clean));
}

}  // namespace cupilot
