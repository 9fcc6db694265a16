#include "agents/write/values_writer.hpp"

#include <algorithm>

namespace cupilot {
namespace {

class ValuesWriter final : public KernelWriter {
 public:
  explicit ValuesWriter(const Space& space) : space_(space) {}

  std::optional<std::string> lacks(const Task&, const Strategy& strategy) const override {
    const std::vector<Technique>& known = space_.techniques();
    for (const Use& use : strategy.uses) {
      const bool found = std::any_of(known.begin(), known.end(), [&](const Technique& technique) {
        return technique.name == use.technique;
      });
      if (!found) return use.technique;
    }
    return std::nullopt;
  }

  Attempt<KernelSource> write(const WriterBrief& brief) override {
    KernelSource source;
    source.text = "// " + describe(*brief.strategy) + "\n";
    source.template_name = "landscape";  // no text of free form
    source.strategy_id = strategy_id(*brief.strategy);
    source.constants = values_of(space_, *brief.strategy);
    return source;
  }

 private:
  const Space& space_;
};

}  // namespace

Constants values_of(const Space& space, const Strategy& strategy) {
  Constants values;
  for (const Use& use : strategy.uses) {
    values[use.technique] = 1;
    for (const Knob& knob : space.knobs()) {
      if (knob.technique != use.technique) continue;
      const auto found = use.values.find(knob.parameter);
      values[knob.technique + "." + knob.parameter] =
          found == use.values.end() ? knob.fallback : found->second;
    }
  }
  return values;
}

std::unique_ptr<KernelWriter> values_writer(const Space& space) {
  return std::make_unique<ValuesWriter>(space);
}

}  // namespace cupilot
