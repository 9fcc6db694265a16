#include <fmt/core.h>

#include <utility>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/rejection.hpp>

#include "agents/write/template_kernel.hpp"
#include "kernel/template_choice.hpp"
#include "kernel/tunable_values.hpp"

namespace cupilot {
namespace {

class TemplateWriter : public KernelWriter {
 public:
  explicit TemplateWriter(std::vector<Tunable> tunables) : tunables_(std::move(tunables)) {}

  std::optional<std::string> lacks(const Task& task, const Strategy& strategy) const override {
    const auto choice = choose_template(tunables_, task, strategy);
    const auto* reason = std::get_if<std::string>(&choice);
    return reason ? std::optional(*reason) : std::nullopt;
  }

  Attempt<KernelSource> write(const WriterBrief& brief) override {
    if (!brief.task || !brief.strategy)
      return Error{ErrorCode::failure, "a writer needs a task and a strategy", {}};
    const auto choice = choose_template(tunables_, *brief.task, *brief.strategy);
    if (const auto* reason = std::get_if<std::string>(&choice))
      return reject("write.uncovered", *reason);
    const Tunable& tunable = *std::get<const Tunable*>(choice);
    const auto constants = constants_for(tunable, *brief.task, *brief.strategy);
    if (!constants) return reject("write.failed", constants.error().message, tunable.file);
    if (brief.device) {
      if (const auto broken = broken_restriction(tunable, *brief.task, *brief.device, *constants)) {
        return reject("write.failed",
                      fmt::format("template {} does not allow it: {}", tunable.name, *broken),
                      tunable.file);
      }
    }
    auto source = template_kernel(tunable, *brief.task, *brief.strategy, *constants);
    if (!source) return reject("write.failed", source.error().message, tunable.file);
    return std::move(*source);
  }

 private:
  std::vector<Tunable> tunables_;
};

}  // namespace

std::unique_ptr<KernelWriter> template_writer(std::vector<Tunable> tunables) {
  return std::make_unique<TemplateWriter>(std::move(tunables));
}

}  // namespace cupilot
