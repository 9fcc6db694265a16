// PTX in files that a compiler wrote.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <cupilot/parts/capture.hpp>
#include <cupilot/parts/host.hpp>

#include "backend/captured/fatbin.hpp"

namespace cupilot {
namespace {

constexpr std::string_view fatbin_begin = "\x50\xed\x55\xba", elf_begin =
                                                                  "\x7f"
                                                                  "ELF";
constexpr std::size_t header = 16;

bool names(const PtxText& text, std::string_view entry) {
  return text.text.find(".entry") != std::string::npos &&
         text.text.find(entry) != std::string::npos;
}

// True if an entry has this very name: others may have it as a part of theirs, as mangled ones do.
bool has_entry(const PtxText& text, std::string_view entry) {
  const std::string words = fmt::format(".entry {}", entry);
  for (std::size_t at = text.text.find(words); at != std::string::npos;
       at = text.text.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    if (end == text.text.size() || text.text[end] == '(' || text.text[end] == '\n' ||
        text.text[end] == ' ')
      return true;
  }
  return false;
}

// Takes of each fat binary, which holds one module for several architectures, the text that names
// `entry` for the latest up to `arch`.
Result<std::vector<PtxText>> modules_in(const std::string& file, std::string_view entry, int arch,
                                        bool& any) {
  std::vector<PtxText> found;
  for (std::size_t at = file.find(fatbin_begin); at != std::string::npos;
       at = file.find(fatbin_begin, at + 4)) {
    if (file.size() - at < header) break;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, file.data() + at + 8, sizeof bytes);
    std::uint16_t long_header = 0;
    std::memcpy(&long_header, file.data() + at + 6, sizeof long_header);
    // No header, but bytes alike.
    if (long_header != header || bytes > file.size() - at - header) continue;
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(file.data() + at);
    auto texts = ptx_of_image({begin, header + static_cast<std::size_t>(bytes)});
    if (!texts) return std::move(texts.error());
    any = any || !texts->empty();
    std::erase_if(*texts,
                  [&](const PtxText& one) { return one.arch > arch || !names(one, entry); });
    const auto best =
        std::max_element(texts->begin(), texts->end(),
                         [](const PtxText& a, const PtxText& b) { return a.arch < b.arch; });
    if (best != texts->end()) found.push_back(std::move(*best));
  }
  return found;
}

}  // namespace

bool is_binary(const std::string& path) {
  const Result<std::string> begin = real_host().read_part(path, 0, 4);
  return begin && (*begin == fatbin_begin || *begin == elf_begin);
}

Result<std::string> embedded_ptx(const std::string& path, std::string_view entry, int arch) {
  const Result<std::string> file = real_host().read_file(path);
  if (!file) return file.error();
  bool any = false;
  auto modules = modules_in(*file, entry, arch, any);
  if (!modules) return std::move(modules.error()).while_doing(path);
  if (!any)
    return Error{ErrorCode::usage, path + ": holds machine code alone, and no PTX",
                 "compile with -gencode arch=compute_90a,code=compute_90a (or -fatbin), which "
                 "embeds the PTX, or give the .ptx"};
  const auto exact = [&](const PtxText& one) { return has_entry(one, entry); };
  if (!entry.empty() && std::any_of(modules->begin(), modules->end(), exact))
    std::erase_if(*modules, [&](const PtxText& one) { return !exact(one); });
  const std::string which = entry.empty() ? "" : fmt::format(" with kernel {}", entry);
  if (modules->empty())
    return Error{ErrorCode::usage,
                 fmt::format("{}: holds no PTX{} for sm_{} or earlier", path, which, arch),
                 "`cuobjdump -lptx` lists what it holds"};
  const bool alike = std::all_of(modules->begin(), modules->end(), [&](const PtxText& one) {
    return one.text == modules->front().text;
  });
  if (alike) return std::move(modules->front().text);
  return Error{ErrorCode::usage,
               fmt::format("{}: {} modules{} hold PTX", path, modules->size(), which),
               "name a kernel of one of them with --entry"};
}

}  // namespace cupilot
