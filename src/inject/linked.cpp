#include "inject/linked.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace cupilot::inject {
namespace {

using View = std::span<const std::uint8_t>;

constexpr std::uint32_t magic = 0xba55ed50;
constexpr std::size_t file_header = 16, part_header = 64;
constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint64_t most_bytes = 64ull << 20;

template <class T>
T field(View from, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= from.size()) std::memcpy(&value, from.data() + offset, sizeof value);
  return value;
}

// A file's bytes while it lives; empty: it cannot be read.
class Mapped {
 public:
  explicit Mapped(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (file >= 0 && ::fstat(file, &facts) == 0 && facts.st_size > 0) {
      const auto size = static_cast<std::size_t>(facts.st_size);
      void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (at != MAP_FAILED) view_ = {static_cast<const std::uint8_t*>(at), size};
    }
    if (file >= 0) ::close(file);
  }
  ~Mapped() {
    if (!view_.empty()) ::munmap(const_cast<std::uint8_t*>(view_.data()), view_.size());
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  View view() const { return view_; }

 private:
  View view_;
};

// The section of fat binaries in an ELF file; empty: it has none.
View fatbins_in(View file) {
  const auto header = field<Elf64_Ehdr>(file, 0);
  if (file.size() < sizeof header || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) return {};
  const auto section = [&](std::size_t i) {
    return field<Elf64_Shdr>(file, header.e_shoff + i * header.e_shentsize);
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  constexpr char wanted[] = ".nv_fatbin";
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    const std::size_t name = names.sh_offset + one.sh_name;
    if (name + sizeof wanted > file.size() ||
        std::memcmp(file.data() + name, wanted, sizeof wanted) != 0)
      continue;
    if (one.sh_offset > file.size() || one.sh_size > file.size() - one.sh_offset) return {};
    return file.subspan(one.sh_offset, one.sh_size);
  }
  return {};
}

// Adds the PTX of fat binaries that lie one behind another.
void append_all(std::vector<std::uint8_t>& parts, View section) {
  for (std::size_t at = 0; at + file_header <= section.size();) {
    const auto bytes = field<std::uint64_t>(section, at + 8);
    if (field<std::uint32_t>(section, at) != magic || bytes > section.size() - at - file_header) {
      at += 8;
      continue;
    }
    const std::size_t whole = file_header + static_cast<std::size_t>(bytes);
    append_ptx(parts, section.subspan(at, whole));
    at += (whole + 7) / 8 * 8;
  }
}

}  // namespace

void append_ptx(std::vector<std::uint8_t>& parts, View fatbin) {
  std::size_t at = file_header;
  while (at + part_header <= fatbin.size()) {
    const auto header = field<std::uint32_t>(fatbin, at + 4);
    const auto payload = field<std::uint64_t>(fatbin, at + 8);
    const std::size_t rest = fatbin.size() - at;
    if (header < part_header || header > rest || payload > rest - header) return;
    const View part = fatbin.subspan(at, header + static_cast<std::size_t>(payload));
    if (field<std::uint16_t>(part, 0) == kind_ptx)
      parts.insert(parts.end(), part.begin(), part.end());
    at += part.size();
  }
}

std::vector<std::uint8_t> fatbin_of(View parts) {
  std::vector<std::uint8_t> out(file_header);
  const std::uint16_t version = 1, header = file_header;
  const std::uint64_t bytes = parts.size();
  std::memcpy(out.data(), &magic, sizeof magic);
  std::memcpy(out.data() + 4, &version, sizeof version);
  std::memcpy(out.data() + 6, &header, sizeof header);
  std::memcpy(out.data() + 8, &bytes, sizeof bytes);
  out.insert(out.end(), parts.begin(), parts.end());
  return out;
}

std::vector<std::uint8_t> linked_ptx() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* one, std::size_t, void* out) {
        const std::string name = one->dlpi_name != nullptr ? one->dlpi_name : "";
        static_cast<std::vector<std::string>*>(out)->push_back(name.empty() ? "/proc/self/exe"
                                                                            : name);
        return 0;
      },
      &paths);
  std::vector<std::uint8_t> parts;
  for (const std::string& path : paths) {
    const Mapped file(path.c_str());
    const View section = fatbins_in(file.view());
    if (section.size() <= most_bytes) append_all(parts, section);
  }
  return parts.empty() ? parts : fatbin_of(parts);
}

}  // namespace cupilot::inject
