// A tuner's lists and a kernel, made into a tunable (docs/formats/kernel-tuner.md).
#include <cupilot/parts/kernel_tuner.hpp>

#include <algorithm>
#include <sstream>

#include <fmt/core.h>

#include <cupilot/parts/tunable.hpp>

#include "kernel/cuda_signature.hpp"
#include "kernel/expr_names.hpp"
#include "kernel/python_literal.hpp"
#include "kernel/tuner_list.hpp"

namespace cupilot {
namespace {

constexpr const char* tuner_guide = "docs/formats/kernel-tuner.md";

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

// A parameter is a constant of the language, which the preprocessor does not see.
Result<void> check_directives(std::string_view kernel, const TunerList& list) {
  std::istringstream lines{std::string(kernel)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] != '#') continue;
    const std::set<std::string> names = names_in(line);
    for (const auto& [name, values] : list.parameters) {
      if (!names.contains(name)) continue;
      return Error{
          ErrorCode::usage,
          fmt::format("the kernel's line {}: '{}' names the parameter {} to the preprocessor",
                      number, line.substr(first), name),
          "parameters become `constexpr int`: use `if constexpr`, and remove defaults"};
    }
  }
  return {};
}

std::string template_name(const std::string& wanted, const std::string& kernel) {
  std::string name;
  for (const char c : wanted.empty() ? kernel : wanted)
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

std::string args_text(const std::vector<KernelParameter>& parameters) {
  std::string out;
  for (const KernelParameter& parameter : parameters) {
    if (!out.empty()) out += ", ";
    const bool number = parameter.kind == KernelParameter::Kind::i32 ||
                        parameter.kind == KernelParameter::Kind::i64;
    const char* width = parameter.kind == KernelParameter::Kind::i32 ? "i32" : "i64";
    out += number ? fmt::format("{{\"{}\": {}}}", width, quoted(parameter.name))
                  : quoted(parameter.name);
  }
  return "[" + out + "]";
}

std::string exprs_text(const std::vector<Expr>& exprs) {
  std::string out;
  for (const Expr& expr : exprs) out += (out.empty() ? "" : ", ") + quoted(expr.text);
  return "[" + out + "]";
}

std::string header_text(const TunerList& list, const std::vector<KernelParameter>& parameters,
                        const TunerImport& options, const std::string& origin) {
  std::string out = "/* cupilot tunable 1\n{\n";
  out +=
      fmt::format("  \"name\": {},\n  \"family\": {},\n  \"summary\": {},\n  \"parameters\": {{\n",
                  quoted(template_name(options.name, list.kernel)), quoted(options.family),
                  quoted("from " + origin));
  for (std::size_t i = 0; i < list.parameters.size(); ++i) {
    const auto& [name, domain] = list.parameters[i];
    out += fmt::format("    {}: {{\"domain\": {}}}{}\n", quoted(name), Json(domain).dump(),
                       i + 1 < list.parameters.size() ? "," : "");
  }
  out += "  },\n  \"restrict\": [";
  for (std::size_t i = 0; i < list.restrictions.size(); ++i) {
    out += fmt::format("{}\n    {}", i == 0 ? "" : ",", quoted(list.restrictions[i].text));
  }
  out += list.restrictions.empty() ? "],\n" : "\n  ],\n";
  out += fmt::format(
      "  \"plan\": {{\n    \"launches\": [\n      {{\"entry\": {}, \"grid\": {}, \"block\": {}, ",
      quoted(list.kernel), exprs_text(list.grid), exprs_text(list.block));
  if (list.shared.text != "0") out += fmt::format("\"shared\": {}, ", quoted(list.shared.text));
  return out + fmt::format("\"args\": {}}}\n    ]\n  }}\n}}\n*/\n", args_text(parameters));
}

std::vector<Expr> problem_from(const std::string& text) {
  std::vector<Expr> sizes;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) sizes.emplace_back(word);
  return sizes;
}

}  // namespace

Result<std::string> import_tuner_list(std::string_view text, const std::string& origin,
                                      std::string_view kernel, const TunerImport& options) {
  if (options.family.empty())
    return Error{ErrorCode::usage, origin + ": no family is given",
                 "say which tasks the kernel serves: --family NAME"};
  auto json = read_json_object(text, origin);
  if (!json) {
    // A script's literals are no JSON; what is broken JSON is told as such.
    const bool script =
        text.find('=') != std::string_view::npos || text.find('\'') != std::string_view::npos;
    if (!script) return json.error();
    json = read_python_object(text, origin);
  }
  if (!json) return json.error();
  JsonFaults faults(origin, tuner_guide);
  const TunerList list = tuner_list_from(faults, *json, problem_from(options.problem));
  if (faults.first()) return *faults.first();
  if (auto read = check_directives(kernel, list); !read) return read.error();
  const auto parameters = kernel_signature(kernel, list.kernel);
  if (!parameters) return parameters.error();
  std::string out = header_text(list, *parameters, options, origin) + std::string(kernel);
  if (auto tunable = parse_tunable(out, origin); !tunable) return tunable.error();
  return out;
}

}  // namespace cupilot
