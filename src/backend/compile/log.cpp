#include "backend/compile/log.hpp"

#include <cctype>
#include <cstdlib>

#include <cupilot/parts/rejection.hpp>

namespace cupilot {
namespace {

constexpr int number_cap = 1 << 30;

// The number that ends just before `unit`, in "…, 128 bytes smem"; nullopt when `unit` is absent.
std::optional<int> number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  std::size_t end = at;
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  if (begin == end || end - begin > 10) return std::nullopt;
  const long long value =
      std::strtoll(std::string(line.substr(begin, end - begin)).c_str(), nullptr, 10);
  return static_cast<int>(value < number_cap ? value : number_cap);
}

void set(int& field, std::optional<int> value) {
  if (value) field = *value;
}

// The text between the first two quotes of a line.
std::string quoted(std::string_view line) {
  const std::size_t open = line.find('\'');
  if (open == std::string_view::npos) return {};
  const std::size_t close = line.find('\'', open + 1);
  if (close == std::string_view::npos) return {};
  return std::string(line.substr(open + 1, close - open - 1));
}

template <class Visit>
void each_line(std::string_view log, Visit visit) {
  for (std::size_t begin = 0; begin < log.size();) {
    std::size_t end = log.find('\n', begin);
    if (end == std::string_view::npos) end = log.size();
    visit(log.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

std::map<std::string, AssembledEntry> read_assembler_log(std::string_view log) {
  std::map<std::string, AssembledEntry> entries;
  AssembledEntry* entry = nullptr;
  bool of_entry = false;  // the frame line belongs to the entry, not to a function it calls
  each_line(log, [&](std::string_view line) {
    // Text printed by the source itself comes earlier and within other lines: the assembler has the
    // last word.
    const bool told = line.substr(0, 10) == "ptxas info";
    if (told && line.find("Compiling entry function") != std::string_view::npos) {
      entry = &entries[quoted(line)];
      *entry = {};
    } else if (const std::size_t at = line.find("Function properties for ");
               at != std::string_view::npos && entry != nullptr) {
      const std::string_view name = line.substr(at + 24);
      of_entry =
          entries.find(std::string(name)) != entries.end() && &entries[std::string(name)] == entry;
    } else if (entry != nullptr && line.find("bytes stack frame") != std::string_view::npos) {
      if (of_entry) set(entry->stack_bytes, number_before(line, "bytes stack frame"));
      entry->spill_store_bytes += number_before(line, "bytes spill stores").value_or(0);
      entry->spill_load_bytes += number_before(line, "bytes spill loads").value_or(0);
    } else if (told && entry != nullptr && line.find("Used ") != std::string_view::npos) {
      set(entry->registers, number_before(line, "registers"));
      set(entry->shared_bytes, number_before(line, "bytes smem"));
      entry = nullptr;
    }
  });
  return entries;
}

bool ignores_setmaxnreg(std::string_view log) {
  return log.find("'setmaxnreg' ignored to maintain compatibility across compilation units") !=
         std::string_view::npos;
}

std::optional<Rejected> find_serialised(std::string_view log) {
  std::optional<Rejected> found;
  each_line(log, [&](std::string_view line) {
    const std::size_t at = line.find("(C75");
    if (!found && at != std::string_view::npos && line.find(')', at) == at + 6 &&
        !ignores_setmaxnreg(line)) {
      found = reject("compile.serialised", std::string(line.substr(0, 400)),
                     std::string(line.substr(at + 1, 5)));
    }
  });
  return found;
}

}  // namespace cupilot
