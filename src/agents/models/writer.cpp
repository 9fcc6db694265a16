// Templates write what they realise, a model what only it can.
#include <mutex>

#include <fmt/format.h>

#include <cupilot/parts/model_agents.hpp>
#include <cupilot/parts/rejection.hpp>

#include "agents/models/align.hpp"
#include "agents/models/asking.hpp"
#include "agents/models/prompt_parts.hpp"

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
    note(answer ? nullptr : &answer.error());
    if (!answer) return answer.error();
    if (const auto* fault = std::get_if<Unreadable>(&*answer))
      return reject("write.unreadable", fmt::format("the model's answer ({}): {}",
                                                    name_of(fault->fault), fault->message));
    return std::get<KernelSource>(std::move(*answer));
  }

  Strategy realised(const WriterBrief& brief, const CompiledKernel& kernel,
                    const Accepted& how) override {
    if (!seat_.alignment || !kernel.source.template_name.empty()) return *brief.strategy;
    Alignment alignment = aligned(*brief.strategy, kernel, how.measurement.counts, &*seat_.task);
    if (alignment.changes.empty()) return std::move(alignment.strategy);
    if (seat_.options.prose) {
      const auto prose = ask_aligner(*seat_.client, alignment.strategy, alignment.changes,
                                     kernel.source, brief.key);
      if (prose && std::holds_alternative<std::string>(*prose))
        alignment.strategy.rationale = std::get<std::string>(*prose);
    }
    return std::move(alignment.strategy);
  }

 private:
  // Tells once, until a kernel is written again, why candidates are lost.
  void note(const Error* error) {
    if (error != nullptr && !is_silence(*error)) return;
    const std::lock_guard hold(mutex_);
    if (error != nullptr && !silent_ && seat_.notice)
      seat_.notice(fmt::format("no model writes ({}): candidates that no template writes are lost",
                               reason_of(*error)));
    silent_ = error != nullptr;
  }

  Answer<KernelSource> ask(const WriterBrief& brief) {
    if (brief.failed) return ask_reviser(*seat_.client, head_, brief);
    if (seat_.code_crossover && brief.bases.size() > 1)
      return ask_crosser(*seat_.client, head_, brief, brief.bases[0], brief.bases[1]);
    const std::optional<WriterBrief::Base> base = nearest_base(brief);
    if (!base)
      return ask_generator(*seat_.client, head_, brief, seat_.options.statement,
                           seat_.options.example);
    return ask_translator(*seat_.client, head_, brief, *base);
  }

  // Chooses, among the parents' own kernels and what a template makes of the part that it
  // realises, the base that differs least from the strategy.
  std::optional<WriterBrief::Base> nearest_base(const WriterBrief& brief) {
    std::optional<WriterBrief::Base> nearest;
    std::size_t least = 0;
    const auto take = [&](const WriterBrief::Base& base) {
      const std::size_t apart = difference(base.strategy, *brief.strategy).size();
      if (nearest && apart >= least) return;
      nearest = base;
      least = apart;
    };
    for (const WriterBrief::Base& base : brief.bases) take(base);
    Strategy known = *brief.strategy;
    std::erase_if(known.uses, [](const Use& use) { return !use.text.empty(); });
    if (templates_.lacks(*brief.task, known)) return nearest;
    WriterBrief plain = brief;
    plain.strategy = &known;
    if (auto written = templates_.write(plain)) take({std::move(*written), known, {}});
    return nearest;
  }

  ModelSeat seat_;
  KernelWriter& templates_;
  std::string head_;
  std::mutex mutex_;     // guards silent_
  bool silent_ = false;  // the last kernel that was asked for was not written
};

}  // namespace

std::unique_ptr<KernelWriter> model_writer(ModelSeat seat, KernelWriter& templates) {
  return std::make_unique<ModelWriter>(std::move(seat), templates);
}

}  // namespace cupilot
