#include <fmt/format.h>

#include <cupilot/backend.hpp>
#include <cupilot/parts/technique.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "screens/json_out.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {

int tasks_command(const CommonFlags& flags) {
  if (flags.json) {
    say(tasks_json());
    return 0;
  }
  say("gemm   D = act(alpha op(A) op(B) + beta C + bias), row-major, fp32 accumulate");
  say("       m n k batch     whole numbers >= 1");
  say("       dtype           fp32, bf16, fp16, e4m3, e5m2: of A and B");
  say("       out             type of C and D (default: dtype; bf16 for 8-bit operands)");
  say("       precision       numeric class (default: the strict one of dtype); fp32 also takes "
      "tf32,");
  say("                       fp32-emulated (tf32x3, bf16x6 mean the same), bf16x3");
  say("       scale           none, tensor, block: factors that come with 8-bit operands");
  say("       layout          nn, nt, tn, tt: op(A), op(B) as stored or transposed");
  say("       alpha beta      numbers; bias: 0 or 1; act: none relu gelu silu tanh sigmoid");
  say("FILE   a task file of your own with its reference (docs/formats/task.md)");
  return 0;
}

int techniques_command(const CommonFlags& flags) {
  if (flags.json) {
    say(techniques_json());
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"technique", "parameters", "relieves", "what it does"}};
  for (const Technique& technique : catalogue()) {
    std::string parameters;
    for (const TechniqueParameter& p : technique.parameters)
      parameters += (parameters.empty() ? "" : " ") + p.name;
    std::string targets;
    for (const Resource resource : technique.targets)
      targets += (targets.empty() ? "" : " ") + std::string(name_of(resource));
    rows.push_back({technique.name, parameters, targets, technique.summary});
  }
  say(table(rows));
  return 0;
}

int doctor_command(const CommonFlags& flags) {
  const std::vector<Finding> findings = examine_machine(backend_options());
  if (flags.json) {
    say(findings_json(findings));
    return 0;
  }
  for (const Finding& finding : findings) {
    say(fmt::format("{:<8} {:<12} {}", finding.present ? "ok" : "missing", finding.name,
                    finding.detail));
    if (!finding.present && !finding.cost.empty())
      say("                      costs: " + finding.cost);
  }
  return 0;
}

}  // namespace cupilot::cli
