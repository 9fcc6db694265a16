#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <cupilot/parts/explain.hpp>
#include <cupilot/parts/run_report.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

// A model gives each kernel one time: there are no rounds that could differ.
bool has_noise(const Explanation& all) { return all.provenance == Provenance::measured; }

nlohmann::ordered_json interval_json(const Explanation& all, double low, double high) {
  return has_noise(all) ? nlohmann::ordered_json{low, high} : nlohmann::ordered_json();
}

nlohmann::ordered_json worth_json(const Explanation& all, const TechniqueWorth& worth) {
  if (!worth.kept_for.empty())
    return {{"technique", worth.technique}, {"cannot_be_removed_alone", worth.kept_for}};
  return {{"technique", worth.technique},
          {"us", worth.us},
          {"us_95", interval_json(all, worth.low_us, worth.high_us)},
          {"matters", worth.matters},
          {"costs", worth.costs}};
}

std::string explanation_json(const Explanation& all, const std::string& device) {
  nlohmann::ordered_json techniques = nlohmann::ordered_json::array();
  for (const TechniqueWorth& worth : all.techniques) techniques.push_back(worth_json(all, worth));
  return nlohmann::ordered_json{
      {"device", device},
      {"provenance", name_of(all.provenance)},
      {"champion", nlohmann::ordered_json::parse(strategy_to_json(all.champion))},
      {"champion_us", all.champion_us},
      {"techniques", std::move(techniques)},
      {"dropped", all.dropped},
      {"put_back", all.put_back},
      {"essential", nlohmann::ordered_json::parse(strategy_to_json(all.essential))},
      {"essential_ratio", all.essential_ratio},
      {"essential_ratio_95", interval_json(all, all.ratio_low, all.ratio_high)}}
      .dump(2);
}

std::string worth_line(const Explanation& all, const TechniqueWorth& worth) {
  if (!worth.kept_for.empty())
    return fmt::format("  {:<24} cannot be removed alone: {}", worth.technique, worth.kept_for);
  const std::string interval =
      has_noise(all) ? fmt::format("  ({:+.3f} to {:+.3f})", worth.low_us, worth.high_us) : "";
  return fmt::format("  {:<24} {:>+9.3f} us{}  {:>+6.1f} %{}", worth.technique, worth.us, interval,
                     100 * worth.us / all.champion_us,
                     worth.matters ? ""
                     : worth.costs ? "  costs: faster without it"
                                   : "  does nothing");
}

void print(const Explanation& all) {
  say(fmt::format("champion: {:.2f} us {}, {}", all.champion_us, name_of(all.provenance),
                  describe(all.champion)));
  say(has_noise(all) ? "without one technique it takes longer by (95 % interval):"
                     : "without one technique it takes longer, by the model, by:");
  for (const TechniqueWorth& worth : all.techniques) say(worth_line(all, worth));
  if (all.dropped.empty()) {
    const bool any = std::any_of(all.techniques.begin(), all.techniques.end(),
                                 [](const TechniqueWorth& one) { return one.kept_for.empty(); });
    say(any ? "every technique that can be removed alone is needed"
            : "no technique can be removed alone");
  } else {
    const std::string interval =
        has_noise(all) ? fmt::format(" ({:.4f} to {:.4f})", all.ratio_low, all.ratio_high) : "";
    say(fmt::format("without {}: {:.4f} of the champion's time{}", fmt::join(all.dropped, ", "),
                    all.essential_ratio, interval));
    say("essential: " + describe(all.essential));
  }
  if (!all.put_back.empty())
    say(fmt::format("missed when they went with the others: {}", fmt::join(all.put_back, ", ")));
}

}  // namespace

int explain_command(const ExplainFlags& flags) {
  Result<RunBeginning> run = read_beginning(flags.dir);
  if (!run) return fail(run.error(), flags.common.json);
  const std::string device = flags.common.device.empty() ? run->device_name : flags.common.device;
  Result<std::unique_ptr<Backend>> backend = open_device(device);
  if (!backend) return fail(backend.error(), flags.common.json);
  ExplainOptions options;
  options.rounds = flags.rounds;
  std::unique_ptr<Backend> screen;
  if (flags.screen) {
    auto opened = open_screen(**backend, backend_options());
    if (!opened) return fail(opened.error(), flags.common.json);
    screen = std::move(*opened);
    options.screen = screen.get();
  }
  const Ticker waiting = tell_waits("taking techniques away");
  const Result<Explanation> all = explain(flags.dir, **backend, options);
  if (!all) return fail(all.error(), flags.common.json);
  if (flags.common.json) {
    say(explanation_json(*all, (*backend)->identity()));
  } else {
    print(*all);
  }
  return 0;
}

}  // namespace cupilot::cli
