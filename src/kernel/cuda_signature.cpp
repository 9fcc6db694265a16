#include "kernel/cuda_signature.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "kernel/expr_names.hpp"
#include "kernel/plan_json.hpp"

namespace cupilot {
namespace {

// Comments as spaces, so that places stay.
std::string without_comments(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i] != '/' || (out[i + 1] != '/' && out[i + 1] != '*')) continue;
    const bool line = out[i + 1] == '/';
    std::size_t end = line ? out.find('\n', i) : out.find("*/", i + 2);
    end = end == std::string::npos ? out.size() : line ? end : end + 2;
    for (; i < end; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  }
  return out;
}

// Where the parameter list of `kernel` opens; npos: nowhere after a __global__.
std::size_t opening(const std::string& text, const std::string& kernel) {
  for (std::size_t at = text.find(kernel); at != std::string::npos;
       at = text.find(kernel, at + 1)) {
    const std::size_t end = at + kernel.size();
    if ((at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]))) continue;
    const std::size_t open = text.find_first_not_of(" \t\r\n", end);
    const std::size_t global = text.rfind("__global__", at);
    const std::size_t other = global == std::string::npos ? 0 : text.find_first_of(";{}", global);
    if (open != std::string::npos && text[open] == '(' && global != std::string::npos && other > at)
      return open;
  }
  return std::string::npos;
}

Result<KernelParameter> parameter_from(const std::string& text, const std::string& kernel) {
  std::size_t end = text.size();
  while (end > 0 && !is_word(text[end - 1])) --end;
  std::size_t start = end;
  while (start > 0 && is_word(text[start - 1])) --start;
  KernelParameter parameter;
  parameter.name = text.substr(start, end - start);
  const std::string type = text.substr(0, start);
  const std::set<std::string> words = names_in(type);
  const auto holds = [&](auto list) {
    return std::any_of(list.begin(), list.end(), [&](const char* w) { return words.contains(w); });
  };
  if (type.find('*') != std::string::npos && type.find('*') == type.rfind('*')) return parameter;
  const bool by_value = type.find_first_of("*&") == std::string::npos;
  if (by_value && holds(std::array{"long", "size_t", "int64_t", "uint64_t"})) {
    parameter.kind = KernelParameter::Kind::i64;
  } else if (by_value && holds(std::array{"int", "unsigned", "int32_t", "uint32_t"})) {
    parameter.kind = KernelParameter::Kind::i32;
  } else if (by_value && holds(std::array{"float", "double"})) {
    parameter.kind = KernelParameter::Kind::real;
  } else {
    return Error{ErrorCode::usage,
                 fmt::format("kernel {}: no plan passes a parameter such as '{}'", kernel, text),
                 "take pointers, int, long long, float or double"};
  }
  return parameter;
}

std::string squeezed(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

Result<std::vector<KernelParameter>> kernel_signature(std::string_view source,
                                                      const std::string& kernel) {
  const std::string text = without_comments(source);
  const std::size_t open = opening(text, kernel);
  const std::size_t close = open == std::string::npos ? open : text.find(')', open);
  if (close == std::string::npos) {
    return Error{ErrorCode::usage,
                 fmt::format("the kernel's text defines no __global__ function '{}'", kernel),
                 "name it in kernel_name as the text does"};
  }
  std::vector<KernelParameter> parameters;
  const std::string list = text.substr(open + 1, close - open - 1);
  for (std::size_t at = 0; at <= list.size() && !squeezed(list).empty();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    auto parameter = parameter_from(squeezed(list.substr(at, comma - at)), kernel);
    if (!parameter) return parameter.error();
    parameters.push_back(std::move(*parameter));
    at = comma + 1;
  }
  return parameters;
}

}  // namespace cupilot
