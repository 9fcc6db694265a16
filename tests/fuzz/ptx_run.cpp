#include "fuzz/ptx_run.hpp"

#include <algorithm>
#include <cstring>

#include "ptx/gate/facts.hpp"
#include "ptx/machine/execute.hpp"
#include "ptx/syntax/parser.hpp"

namespace cupilot::fuzz {
namespace {

constexpr std::size_t buffer_bytes = 4096;

// Parameters: addresses of the buffers, or small numbers, as a plan might give them.
std::vector<std::uint8_t> parameters(const ptx::Function& entry, const ptx::DeviceMemory& memory,
                                     Dice& dice) {
  const ptx::ParameterLayout layout = ptx::parameter_layout(entry);
  std::vector<std::uint8_t> out(layout.bytes);
  for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
    std::uint64_t value = dice.below(9) == 0 ? ~std::uint64_t{0} >> dice.below(64) : dice.below(65);
    if (entry.parameter(static_cast<std::uint32_t>(i)).bytes == 8 && dice.below(8) != 0)
      value = memory.address(dice.below(memory.size()));
    std::memcpy(out.data() + layout.offsets[i], &value,
                std::min<std::size_t>(8, layout.bytes - layout.offsets[i]));
  }
  return out;
}

ptx::Launch launch_of(const ptx::Function& entry, const ptx::DeviceMemory& memory, Dice& dice) {
  ptx::Launch launch{.grid = {static_cast<std::uint32_t>(1 + dice.below(3)), 1, 1},
                     .block = {static_cast<std::uint32_t>(32 * (1 + dice.below(4))), 1, 1},
                     .dynamic_shared = static_cast<std::uint32_t>(1024 * dice.below(40)),
                     .parameters = parameters(entry, memory, dice)};
  if (dice.below(6) == 0) launch.block = {7, 3, 2};
  if (dice.below(6) == 0) launch.cluster = {launch.grid.x, 1, 1};
  launch.cooperative = dice.below(6) == 0;
  return launch;
}

std::string launched(ptx::Program& program, const ptx::Function& entry, Dice& dice) {
  ptx::DeviceMemory memory;
  for (const char* name : {"a", "b", "c"}) {
    const auto added = memory.add(
        name, buffer_bytes, name[0] == 'a' ? ptx::Access::read_only : ptx::Access::read_write);
    if (!added) return "no memory";
    memory.mark_written(*added);
  }
  const ptx::Launch launch = launch_of(entry, memory, dice);
  ptx::ExecuteOptions options;
  options.instruction_budget = 4000;
  options.seed = dice.below(100);
  options.late = dice.below(2) == 0;
  options.by_instruction = dice.below(4) == 0;
  options.resident = static_cast<std::uint32_t>(1 + dice.below(2));
  const auto report = ptx::execute(program, memory, launch, options);
  if (report.is_rejected()) return report.rejected().code;
  if (report.is_error()) return "error";
  return report->faults.empty() ? "" : report->faults.front().code;
}

}  // namespace

std::string outcome(const std::string& text, const Seed& seed, Dice& dice) {
  auto parsed = ptx::parse(text);
  if (parsed.is_rejected()) return parsed.rejected().code;
  const auto module = std::make_shared<const ptx::Module>(std::move(*parsed));
  const auto refused = ptx::gate(*module, seed.entries);
  ptx::facts_of(*module);
  std::string last = "no entry";
  for (const ptx::Function& function : module->functions) {
    if (!function.is_entry) continue;
    const auto program = ptx::make_program(module, function.name);
    if (program.is_rejected()) return program.rejected().code;
    if (program.is_error())
      return refused ? refused->code : "error";  // what the gate lets through can be placed
    last = launched(**program, function, dice);
  }
  return last;
}

namespace {

struct Piece {
  std::size_t begin, end;
};

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_%$.:", c) != nullptr;
}

// Lines that end a statement; the words of one.
std::vector<Piece> statements(const std::string& text) {
  std::vector<Piece> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at && text[end - 1] == ';' && text[at] == '\t') out.push_back({at, end});
    at = end + 1;
  }
  return out;
}
std::vector<Piece> words(const std::string& text, Piece line) {
  std::vector<Piece> out;
  for (std::size_t at = line.begin; at < line.end;) {
    std::size_t end = at;
    while (end < line.end && in_word(text[end])) ++end;
    if (end > at) out.push_back({at, end});
    at = std::max(end, at + 1);
  }
  return out;
}

std::string copied(const std::string& text, Piece p) {
  return text.substr(p.begin, p.end - p.begin);
}

std::string number(Dice& dice) {
  static const std::string known[] = {"0",
                                      "1",
                                      "-1",
                                      "31",
                                      "32",
                                      "255",
                                      "4096",
                                      "65536",
                                      "0x7fffffff",
                                      "0x80000000",
                                      "0xffffffffffffffff",
                                      "0f7FFFFFFF"};
  return dice.below(3) == 0 ? std::to_string(dice.below(5000)) : dice.pick<std::string>(known);
}

// One modifier of an opcode replaced by one of another's, doubled or left out.
std::string remodelled(const std::string& opcode, const std::string& other, Dice& dice) {
  const auto parts = [](const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('.', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  };
  std::vector<std::string> mine = parts(opcode);
  const std::vector<std::string> theirs = parts(other);
  const std::size_t at = dice.below(mine.size());
  if (dice.below(4) == 0 && mine.size() > 1) {
    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(at));
  } else {
    mine[at] = dice.pick<std::string>(theirs);
  }
  std::string out;
  for (const std::string& part : mine) out += (out.empty() ? "" : ".") + part;
  return out;
}

void change_line(std::string& text, Piece line, const std::string& other_text, Dice& dice) {
  const auto others = statements(other_text);
  if (others.empty()) return;
  const Piece other = dice.pick<Piece>(others);
  const auto mine = words(text, line), theirs = words(other_text, other);
  if (mine.size() < 2 || theirs.size() < 2) return;
  // Operands for operands, the opcode for one like it.
  const Piece word = mine[1 + dice.below(mine.size() - 1)],
              instead = theirs[1 + dice.below(theirs.size() - 1)];
  switch (dice.below(8)) {
    case 0:
    case 1:
      return (void)text.replace(word.begin, word.end - word.begin, copied(other_text, instead));
    case 2:
      return (void)text.replace(word.begin, word.end - word.begin, number(dice));
    case 3:
    case 4:
      return (void)text.replace(
          mine[0].begin, mine[0].end - mine[0].begin,
          remodelled(copied(text, mine[0]), copied(other_text, theirs[0]), dice));
    case 5:
      return (void)text.insert(line.begin + 1, dice.below(2) == 0 ? "@%p1 " : "@!%p1 ");
    case 6:
      return (void)text.replace(line.begin, line.end - line.begin, copied(other_text, other));
    default:
      return (void)text.insert(line.end, "\n" + copied(other_text, other));
  }
}

}  // namespace

std::string regrown(const Seed& seed, std::span<const Seed> others, Dice& dice) {
  std::string text = seed.text;
  for (std::size_t i = 0, changes = 1 + dice.below(6); i < changes; ++i) {
    const auto lines = statements(text);
    if (lines.empty()) return text;
    // Mostly lines of its own module: registers and labels then exist.
    const std::string other = dice.below(6) == 0 ? dice.pick<Seed>(others).text : text;
    change_line(text, dice.pick<Piece>(lines), other, dice);
  }
  return text;
}

}  // namespace cupilot::fuzz
