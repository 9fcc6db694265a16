#include "screens/verify.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

#include "screens/json_out.hpp"
#include "screens/say.hpp"
#include "screens/screen_text.hpp"

namespace cupilot::cli {
namespace {

// "rows 1 to 404, cols 1 to 512"
std::string axes_text(const Verification& v) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> met;
  for (const CaseReport& done : v.cases) {
    if (done.not_for_this_shape) continue;
    for (const auto& [axis, size] : done.what.workload.sizes) {
      const auto [at, fresh] = met.try_emplace(axis, size, size);
      at->second.first = std::min(at->second.first, size);
      at->second.second = std::max(at->second.second, size);
    }
  }
  std::string text;
  for (const auto& [axis, sizes] : met)
    text += fmt::format("{}{} {} to {}", text.empty() ? "" : ", ", axis, sizes.first, sizes.second);
  return text;
}

std::string cases_text(const Verification& v) {
  std::set<std::string> shapes, contents, seeds;
  for (const CaseReport& done : v.cases) {
    if (done.not_for_this_shape) continue;
    std::string shape;
    for (const auto& [axis, size] : done.what.workload.sizes)
      shape += fmt::format("{}={} ", axis, size);
    shapes.insert(shape);
    contents.insert(std::string(name_of(done.what.content.kind)));
    seeds.insert(std::to_string(done.what.content.seed));
  }
  return fmt::format("{} at {} shapes ({}), {} with {} contents ({}); {} seed(s), battery {}",
                     v.cases.size(), shapes.size(), axes_text(v),
                     v.full_size ? "full size among them,"
                     : v.sampled ? "blocks of the grid at full size,"
                                 : "none at full size,",
                     contents.size(), fmt::join(contents, ", "), seeds.size(), v.battery);
}

std::string gate_text(const Conditions& c) {
  const std::set<std::string> flags(c.flags.begin(), c.flags.end());
  return fmt::format("{} by {}; the gate {}", c.arch, c.compiler,
                     flags.empty() ? "had nothing to remark"
                                   : fmt::format("remarked: {}", fmt::join(flags, ", ")));
}

std::string time_text_of(const Accepted& accepted) {
  const Measurement& m = accepted.measurement;
  std::string text =
      fmt::format("{} {}, {} L2", time_text(m.time_us), name_of(m.provenance), m.cache);
  if (m.spread_us > 0) text += fmt::format(", spread {}", time_text(m.spread_us));
  if (time_text(m.interval_low_us) != time_text(m.interval_high_us)) {
    text += fmt::format(" ({} to {})", time_text(m.interval_low_us), time_text(m.interval_high_us));
  }
  return text + fmt::format("; floor {}: {:.0f} % of the roofline",
                            time_text(accepted.verdict.floor_us),
                            100 * accepted.verdict.floor_share);
}

std::string binding_text(const Verdict& v) {
  std::string text;
  for (const Bottleneck& pressure : v.bottlenecks) {
    if (pressure.share >= 0.05)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name_of(pressure.resource),
                          100 * pressure.share);
  }
  return fmt::format("{} zone, {} binds ({})", name_of(v.zone), name_of(v.binding),
                     text.empty() ? "no resource over 5 %" : text);
}

std::string held_text(const Conditions& c) {
  const auto or_unknown = [](const std::string& text) {
    return text.empty() ? "nothing known" : text;
  };
  return fmt::format("compile: {}; run: {}{}", or_unknown(c.compiled_under),
                     or_unknown(c.ran_under),
                     c.screened_on.empty() ? "" : "; screen: " + c.screened_on);
}

// Nothing was found wrong: the kernel was not judged.
bool is_not_done(const Rejected& rejected) {
  return rejected.code == "verify.no_shape" || rejected.code == "run.unsupported" ||
         rejected.code == "run.budget";
}

}  // namespace

std::string proved_screen(const OwnKernel& kernel, const Candidate& candidate,
                          const Accepted& accepted, const std::string& device,
                          const std::vector<std::string>& lacking) {
  const Verification& v = accepted.verification;
  std::string screen = fmt::format("PROVED{}{} on {}: {} is right for task {}, class {}\n",
                                   v.up_to.empty() ? "" : " up to " + v.up_to,
                                   v.but_for.empty() ? "" : " but for " + v.but_for, device,
                                   file_name(kernel.path), kernel.task->name, name_of(v.proved));
  put(screen, "cases", cases_text(v), 2);
  put(screen, "gate", gate_text(accepted.conditions), 2);
  put_all(screen, "shown", v.proved_by, 6);
  std::vector<std::string> unproved = v.unproved;
  if (!kernel.source.plan.require.empty())
    unproved.emplace_back("shapes that the plan's `require` leaves out");
  unproved.emplace_back("races between blocks in full: docs/proofs.md says what is seen of them");
  put_all(screen, "NOT PROVED", unproved, 6);
  put(screen, "time", time_text_of(accepted), 2);
  for (const std::string& condition : accepted.measurement.conditions) {
    if (condition.starts_with("not timed")) put(screen, "setup", condition, 2);
    if (condition.starts_with("arrays of textures")) put(screen, "copies", condition, 2);
    if (condition.find(" as one captured graph") != std::string::npos ||
        condition.starts_with("timed as"))
      put(screen, "launches", condition, 2);
    if (condition.starts_with("counts")) put(screen, "note", condition, 3);
  }
  put(screen, "bound by", binding_text(accepted.verdict));
  put(screen, "held by", held_text(accepted.conditions), 2);
  put_all(screen, "LACKING", lacking, 3);
  put(screen, "kernel", candidate.kernel_id);
  return screen;
}

std::string refused_screen(const OwnKernel& kernel, const Rejected& rejected,
                           const std::string& device, const std::string& ptx) {
  std::string screen =
      fmt::format("{} on {} at {}: {}\n", is_not_done(rejected) ? "NOT DONE" : "REFUSED", device,
                  name_of(rejected.stage), rejected.code);
  for (const RejectionCode& row : rejection_codes()) {
    if (row.code == rejected.code) put(screen, "meaning", row.meaning, 2);
  }
  std::string reason = in_the_file(kernel, rejected.message);
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  put(screen, "reason", reason, 6);
  if (!rejected.where.empty()) put(screen, "place", in_the_file(kernel, rejected.where), 2);
  if (const int line = number_after(rejected.where, "ptx line "); line > 0 && !ptx.empty()) {
    put(screen, "ptx", line_of(ptx, line));
  }
  if (const int line = number_after(rejected.where, "kernel.cu:"); line > 0) {
    put(screen, "source", line_of(kernel.text, line));
  }
  put(screen, "next", next_step(rejected), 2);
  return screen;
}

int say_refused(const OwnKernel& kernel, const Rejected& rejected, Backend& backend, bool json) {
  if (json) {
    Candidate candidate;
    Rejected told = rejected;
    told.message = in_the_file(kernel, told.message);
    told.where = in_the_file(kernel, told.where);
    candidate.outcome = std::move(told);
    say(candidate_json(candidate));
  } else {
    // Its text, for the line of the place: what was refused when running has compiled before.
    const Attempt<CompiledKernel> again =
        rejected.stage == Stage::run ? backend.compile(kernel.source) : Rejected{};
    std::string screen =
        refused_screen(kernel, rejected, backend.identity(), again ? again->ptx : "");
    screen.pop_back();
    say(screen);
  }
  return static_cast<int>(is_not_done(rejected) ? ErrorCode::not_done : ErrorCode::refused);
}

}  // namespace cupilot::cli
