// Templates write what they realise, a model what only it can.
#include <fmt/format.h>

#include <cupilot/parts/model_agents.hpp>
#include <cupilot/parts/rejection.hpp>

#include "agents/models/align.hpp"
#include "agents/models/asking.hpp"

namespace cupilot {
namespace {

class ModelWriter final : public KernelWriter {
 public:
  ModelWriter(ModelSeat seat, KernelWriter& templates)
      : seat_(std::move(seat)),
        templates_(templates),
        head_(writer_head(*seat_.task, *seat_.device)) {}

  // A model can try everything.
  std::optional<std::string> lacks(const Task&, const Strategy&) const override {
    return std::nullopt;
  }

  Attempt<KernelSource> write(const WriterBrief& brief) override {
    if (!brief.failed && !templates_.lacks(*brief.task, *brief.strategy))
      return templates_.write(brief);
    auto answer = ask(brief);
    if (!answer) return answer.error();
    if (const auto* fault = std::get_if<Unreadable>(&*answer))
      return reject("write.failed", fmt::format("the model's answer ({}): {}",
                                                name_of(fault->fault), fault->message));
    return std::get<KernelSource>(std::move(*answer));
  }

  Strategy realised(const WriterBrief& brief, const CompiledKernel& kernel,
                    const Accepted& how) override {
    if (!seat_.alignment || !kernel.source.template_name.empty()) return *brief.strategy;
    Alignment alignment = aligned(*brief.strategy, kernel, how.measurement.counts);
    if (alignment.changes.empty()) return std::move(alignment.strategy);
    if (seat_.options.prose) {
      const auto prose =
          ask_aligner(*seat_.client, alignment.strategy, alignment.changes, brief.key);
      if (prose && std::holds_alternative<std::string>(*prose))
        alignment.strategy.rationale = std::get<std::string>(*prose);
    }
    return std::move(alignment.strategy);
  }

 private:
  Answer<KernelSource> ask(const WriterBrief& brief) {
    if (brief.failed) return ask_reviser(*seat_.client, head_, brief);
    const std::vector<KernelSource> bases = bases_of(brief);
    if (bases.empty()) return ask_generator(*seat_.client, head_, brief, seat_.options.statement);
    if (seat_.code_crossover && bases.size() > 1)
      return ask_crosser(*seat_.client, head_, brief, bases[0], bases[1]);
    return ask_translator(*seat_.client, head_, brief, bases[0]);
  }

  // The parents' own kernels; else what a template makes of the part of the strategy that it
  // realises.
  std::vector<KernelSource> bases_of(const WriterBrief& brief) {
    if (!brief.bases.empty()) return brief.bases;
    Strategy known = *brief.strategy;
    std::erase_if(known.uses, [](const Use& use) { return !use.text.empty(); });
    if (templates_.lacks(*brief.task, known)) return {};
    WriterBrief plain = brief;
    plain.strategy = &known;
    auto written = templates_.write(plain);
    if (!written) return {};
    return {std::move(*written)};
  }

  ModelSeat seat_;
  KernelWriter& templates_;
  std::string head_;
};

}  // namespace

std::unique_ptr<KernelWriter> model_writer(ModelSeat seat, KernelWriter& templates) {
  return std::make_unique<ModelWriter>(std::move(seat), templates);
}

}  // namespace cupilot
