// From executions of PTX instructions to kinds and source lines.
#include <algorithm>

#include "backend/virtual/profile.hpp"
#include "ptx/syntax/kind.hpp"

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

template <class T>
void sort_by_slots(std::vector<T>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const T& a, const T& b) {
    return a.work.issue_slots() > b.work.issue_slots();
  });
}

}  // namespace

void add_lines(WorkByPlace& sum, const ptx::Report& report, double weight) {
  for (const ptx::LineCount& line : report.lines)
    add(sum[{line.function, line.instruction}], work_of(line), weight);
}

void summarize(LaunchProfile& profile, const ptx::Module& module, const WorkByPlace& work) {
  double seen = 0;
  for (const auto& [place, one] : work) seen += one.warps;
  const double counted = profile.counts[Counter::warp_instructions].value;
  const double scale = seen > 0 && counted > 0 ? counted / seen : 1;
  std::map<std::string_view, InstructionWork> kinds;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ProfiledLine> lines;
  for (const auto& [place, one] : work) {
    const ptx::Instruction& instruction = module.functions[place.first].instructions[place.second];
    add(kinds[ptx::kind_of(module.form(instruction))], one, scale);
    const bool known = instruction.source_line != 0;
    ProfiledLine& line = lines[known ? std::pair(instruction.source_file, instruction.source_line)
                                     : std::pair(ptx::none_index, instruction.line)];
    ++line.instructions;
    add(line.work, one, scale);
    add(profile.total, one, scale);
  }
  for (const auto& [name, sum] : kinds) profile.kinds.push_back({std::string(name), sum});
  for (auto& [place, line] : lines) {
    const std::string_view path = module.file(place.first);
    line.file = path.substr(path.rfind('/') + 1);
    line.line = static_cast<int>(place.second);
    profile.lines.push_back(std::move(line));
  }
  sort_by_slots(profile.kinds);
  sort_by_slots(profile.lines);
}

}  // namespace cupilot
