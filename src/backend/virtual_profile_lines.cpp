// From executions of PTX instructions to kinds and source lines.
#include <algorithm>

#include "backend/virtual_profile.hpp"
#include "ptx/kind.hpp"

namespace cupilot {
namespace {

void add(InstructionWork& sum, const InstructionWork& more, double times) {
  sum.warps += times * more.warps;
  sum.threads += times * more.threads;
  sum.requests += times * more.requests;
  sum.sectors += times * more.sectors;
  sum.wavefronts += times * more.wavefronts;
  sum.conflicts += times * more.conflicts;
  sum.divergences += times * more.divergences;
}

InstructionWork work_of(const ptx::LineCount& line) {
  const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
  const ptx::LineTraffic& t = line.traffic;
  return {number(line.warps),   number(line.threads), number(t.requests),   number(t.sectors),
          number(t.wavefronts), number(t.conflicts),  number(t.divergences)};
}

// Line `number` of a text, without its indent; control characters become blanks.
std::string text_of(std::string_view text, int number) {
  for (int line = 1; line < number && !text.empty(); ++line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  std::string found(text.substr(0, text.find('\n')));
  for (char& c : found) c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return found.substr(std::min(found.find_first_not_of(' '), found.size()));
}

template <class T>
void sort_by_slots(std::vector<T>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const T& a, const T& b) { return a.work.issue_slots() > b.work.issue_slots(); });
}

}  // namespace

void add_lines(WorkByPlace& sum, const ptx::Report& report, double weight) {
  for (const ptx::LineCount& line : report.lines) add(sum[{line.function, line.instruction}], work_of(line), weight);
}

void summarize(LaunchProfile& profile, const ptx::Module& module, const WorkByPlace& work, std::string_view text) {
  double seen = 0;
  for (const auto& [place, one] : work) seen += one.warps;
  const double counted = profile.counts[Counter::warp_instructions].value;
  const double scale = seen > 0 && counted > 0 ? counted / seen : 1;
  std::map<std::string_view, InstructionWork> kinds;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ProfiledLine> lines;
  for (const auto& [place, one] : work) {
    const ptx::Instruction& instruction = module.functions[place.first].instructions[place.second];
    add(kinds[ptx::kind_of(module.form(instruction))], one, scale);
    ProfiledLine& line = lines[{instruction.source_file, instruction.source_line}];
    ++line.instructions;
    add(line.work, one, scale);
    add(profile.total, one, scale);
  }
  for (const auto& [name, sum] : kinds) profile.kinds.push_back({std::string(name), sum});
  for (auto& [place, line] : lines) {
    line.file = module.file(place.first);
    line.line = static_cast<int>(place.second);
    if (line.file == "kernel.cu" && line.line > 0) line.text = text_of(text, line.line);
    profile.lines.push_back(std::move(line));
  }
  sort_by_slots(profile.kinds);
  sort_by_slots(profile.lines);
}

}  // namespace cupilot
