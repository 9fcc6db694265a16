#include "backend/compile_protocol.hpp"

#include <fmt/format.h>

#include "backend/frame_body.hpp"

namespace cupilot {

std::string describe(const SandboxState& state) {
  return fmt::format("{}, {}, {}", state.landlock > 0 ? fmt::format("landlock {}", state.landlock) : "NO landlock",
                     state.seccomp ? "seccomp" : "NO seccomp", state.limits ? "rlimits" : "NO rlimits");
}

std::string pack(const SandboxState& state) {
  BodyWriter out;
  out.put(state.landlock).put(state.seccomp).put(state.limits).put(state.compiler).put(state.compiler_path);
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
  if (!in.whole()) return std::nullopt;
  return state;
}

std::string pack(const CompileOrder& order) {
  BodyWriter out;
  out.put(order.request.text).put(order.request.arch).put(order.request.options).put(order.request.name_expressions);
  out.put(order.request.ptx_only).put(order.options).put(order.cpu_seconds);
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
  order.options = in.texts();
  order.cpu_seconds = in.get<double>();
  if (!in.whole()) return std::nullopt;
  return order;
}

std::string pack(const CompileAnswer& answer) {
  BodyWriter out;
  out.put(answer.kind).put(answer.message).put(answer.output.ptx).put(answer.output.cubin).put(answer.output.log);
  out.put(static_cast<std::uint64_t>(answer.output.lowered_names.size()));
  for (const auto& [name, lowered] : answer.output.lowered_names) out.put(name).put(lowered);
  out.put(answer.output.seconds).put(answer.output.compiler);
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
  if (!in.whole() || answer.kind > CompileAnswer::Kind::too_large) return std::nullopt;
  return answer;
}

std::string clean_log(std::string_view log) {
  std::string clean;
  for (const char letter : log) {
    if (clean.size() >= log_cap) break;
    const auto code = static_cast<unsigned char>(letter);
    if (code == '\n' || code == '\t' || (code >= 0x20 && code != 0x7f)) clean.push_back(letter);
  }
  return clean;
}

}  // namespace cupilot
