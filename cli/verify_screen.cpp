#include "verify_screen.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <cupilot/host.hpp>
#include <cupilot/rejection.hpp>

#include "say.hpp"

namespace cupilot::cli {
namespace {

constexpr std::size_t columns = 100, label_width = 13;

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t cut = text.size() <= width ? text.size() : text.rfind(' ', width);
    if (cut == std::string_view::npos || cut == 0) cut = width;
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return lines;
}

// Text under a label, at most `most` lines; the last of more ends in dots.
void put(std::string& screen, std::string_view label, std::string_view text, std::size_t most = 1) {
  std::vector<std::string> lines = wrapped(text, columns - label_width);
  if (lines.size() > most) {
    lines.resize(most);
    std::string& last = lines.back();
    last.resize(std::min(last.size(), columns - label_width - 4));
    last += " ...";
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    screen += fmt::format("  {:<{}}{}\n", i == 0 ? label : "", label_width - 2, lines[i]);
  }
}

// Sentences of at most two lines each, `most` lines in all; those left out are counted.
void put_all(std::string& screen, std::string_view label, const std::vector<std::string>& sentences, std::size_t most) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const std::size_t lines = std::min<std::size_t>(2, wrapped(sentences[i], columns - label_width).size());
    if (used + lines + (i + 1 < sentences.size() ? 1 : 0) > most) {
      return put(screen, "", fmt::format("and {} more: --json names them", sentences.size() - i));
    }
    put(screen, i == 0 ? label : "", sentences[i], lines);
    used += lines;
  }
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string cases_text(const Verification& v) {
  std::set<std::string> shapes, contents, seeds;
  for (const CaseReport& done : v.cases) {
    if (done.not_for_this_shape) continue;
    std::string shape;
    for (const auto& [axis, size] : done.what.workload.sizes) shape += fmt::format("{}={} ", axis, size);
    shapes.insert(shape);
    contents.insert(std::string(name_of(done.what.content.kind)));
    seeds.insert(std::to_string(done.what.content.seed));
  }
  return fmt::format("{} at {} shapes, {} with {} contents ({}); {} seed(s), battery {}", v.cases.size(), shapes.size(),
                     v.full_size ? "full size among them," : "none at full size,", contents.size(), joined(contents),
                     seeds.size(), v.battery);
}

std::string gate_text(const Conditions& c) {
  const std::set<std::string> flags(c.flags.begin(), c.flags.end());
  return fmt::format("{} by {}; the gate {}", c.arch, c.compiler,
                     flags.empty() ? "had nothing to remark" : "remarked: " + joined(flags));
}

std::string time_text_of(const Accepted& accepted) {
  const Measurement& m = accepted.measurement;
  std::string text = fmt::format("{} {}, {} L2", time_text(m.time_us), name_of(m.provenance), m.cache);
  if (m.spread_us > 0) text += fmt::format(", spread {}", time_text(m.spread_us));
  if (time_text(m.interval_low_us) != time_text(m.interval_high_us)) {
    text += fmt::format(" ({} to {})", time_text(m.interval_low_us), time_text(m.interval_high_us));
  }
  return text + fmt::format("; floor {}: {:.0f} % of the roofline", time_text(accepted.verdict.floor_us),
                            100 * accepted.verdict.floor_share);
}

std::string binding_text(const Verdict& v) {
  std::string text;
  for (const Pressure& pressure : v.pressures) {
    if (pressure.share >= 0.05)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name_of(pressure.resource), 100 * pressure.share);
  }
  return fmt::format("{} zone, {} binds ({})", name_of(v.zone), name_of(v.binding), text.empty() ? "no resource over 5 %" : text);
}

std::string held_text(const Conditions& c) {
  const auto or_unknown = [](const std::string& text) { return text.empty() ? "nothing known" : text; };
  return fmt::format("compile: {}; run: {}{}", or_unknown(c.compiled_under), or_unknown(c.ran_under),
                     c.screened_on.empty() ? "" : "; screen: " + c.screened_on);
}

// The first number after `word` in a place such as "ptx line 226 (ld.shared.u32), kernel.cu:19"; 0: none.
int number_after(std::string_view where, std::string_view word) {
  const std::size_t at = where.find(word);
  if (at == std::string_view::npos) return 0;
  int number = 0;
  std::from_chars(where.data() + at + word.size(), where.data() + where.size(), number);
  return number;
}

std::string line_of(std::string_view text, int number) {
  for (int line = 1; line < number && !text.empty(); ++line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  std::string found(text.substr(0, text.find('\n')));
  for (char& c : found) c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return found.substr(std::min(found.find_first_not_of(' '), found.size()));
}

// "kernel.cu:19" is a line of the kernel's text, in which the file's `// cupilot:` lines are left out.
std::string in_the_file(const OwnKernel& kernel, std::string text) {
  constexpr std::string_view compiled_as = "kernel.cu";
  for (std::size_t at = text.find(compiled_as); at != std::string::npos; at = text.find(compiled_as, at + 1)) {
    const std::size_t digits = at + compiled_as.size() + 1;
    const int number = digits < text.size() ? number_after(std::string_view(text).substr(digits), "") : 0;
    if (number == 0) continue;
    const std::string place = file_name(kernel.path) + ":" + std::to_string(number + kernel.header_lines);
    const std::size_t length = digits - at + std::to_string(number).size() + (text[digits - 1] == '(' ? 1 : 0);
    text.replace(at, length, place);
    at += place.size() - 1;
  }
  return text;
}

}  // namespace

std::string proved_screen(const OwnKernel& kernel, const Candidate& candidate, const Accepted& accepted,
                          const std::string& device, const std::vector<std::string>& lacking) {
  const Verification& v = accepted.verification;
  std::string screen = fmt::format("PROVED on {}: {} is right for task {}, class {}\n", device, file_name(kernel.path),
                                   kernel.task->name, name_of(v.proved));
  put(screen, "cases", cases_text(v), 2);
  put(screen, "gate", gate_text(accepted.conditions), 2);
  put_all(screen, "shown", v.proved_by, 6);
  std::vector<std::string> unproved = v.unproved;
  if (!kernel.source.plan.require.empty()) unproved.emplace_back("shapes that the plan's `require` leaves out");
  unproved.emplace_back("races between blocks in full: docs/proofs.md says what is seen of them");
  put_all(screen, "NOT PROVED", unproved, 6);
  put(screen, "time", time_text_of(accepted), 2);
  put(screen, "bound by", binding_text(accepted.verdict));
  put(screen, "held by", held_text(accepted.conditions), 2);
  put_all(screen, "LACKING", lacking, 3);
  put(screen, "kernel", candidate.kernel_id);
  return screen;
}

std::string refused_screen(const OwnKernel& kernel, const Rejected& rejected, const std::string& device, const std::string& ptx) {
  std::string screen = fmt::format("REFUSED on {} at {}: {}\n", device, name_of(rejected.stage), rejected.code);
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
    put(screen, "source", line_of(kernel.source.text, line));
  }
  put(screen, "next", next_step(rejected), 2);
  return screen;
}

}  // namespace cupilot::cli
