#include "backend/compile/image.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include <cupilot/parts/rejection.hpp>

namespace cupilot {
namespace {

constexpr Elf64_Half gpu_machine = 190;  // EM_CUDA

template <class T>
std::optional<T> record_at(std::span<const std::uint8_t> bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T record;
  std::memcpy(&record, bytes.data() + at, sizeof record);
  return record;
}

// The zero-terminated text at an offset of a section; "" when it leaves the image.
std::string_view text_at(std::span<const std::uint8_t> bytes, const Elf64_Shdr& section,
                         std::uint64_t offset) {
  if (section.sh_offset > bytes.size() || section.sh_size > bytes.size() - section.sh_offset ||
      offset >= section.sh_size)
    return {};
  const char* begin = reinterpret_cast<const char*>(bytes.data() + section.sh_offset + offset);
  const std::size_t most = section.sh_size - offset;
  const void* end = std::memchr(begin, 0, most);
  return end == nullptr
             ? std::string_view()
             : std::string_view(begin,
                                static_cast<std::size_t>(static_cast<const char*>(end) - begin));
}

}  // namespace

std::optional<std::vector<std::string>> kernels_in(std::span<const std::uint8_t> cubin) {
  const auto header = record_at<Elf64_Ehdr>(cubin, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  if (header->e_machine != gpu_machine || header->e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  const auto section = [&](std::uint64_t i) {
    return record_at<Elf64_Shdr>(cubin, header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  const auto names = section(header->e_shstrndx);
  if (!names) return std::nullopt;
  std::vector<std::string> kernels;
  constexpr std::string_view prefix = ".text.";
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto one = section(i);
    if (!one) return std::nullopt;
    const std::string_view name = text_at(cubin, *names, one->sh_name);
    const bool code = one->sh_type == SHT_PROGBITS && (one->sh_flags & SHF_EXECINSTR) != 0;
    if (code)
      kernels.emplace_back(name.substr(0, prefix.size()) == prefix ? name.substr(prefix.size())
                                                                   : name);
  }
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

std::optional<Rejected> check_image(std::span<const std::uint8_t> cubin,
                                    std::vector<std::string> expected) {
  const auto kernels = kernels_in(cubin);
  if (!kernels) return reject("gate.missing_entry", "what the compiler gave is no image for a GPU");
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  for (const std::string& name : *kernels) {
    if (std::binary_search(expected.begin(), expected.end(), name)) continue;
    return reject(
        "gate.extra_entry",
        fmt::format("the image holds code of {}, which the launch plan does not name", name),
        "cubin");
  }
  for (const std::string& name : expected) {
    if (std::binary_search(kernels->begin(), kernels->end(), name)) continue;
    return reject("gate.missing_entry", fmt::format("the image holds no code of {}", name),
                  "cubin");
  }
  return std::nullopt;
}

}  // namespace cupilot
