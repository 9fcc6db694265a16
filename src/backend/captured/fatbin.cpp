#include "backend/captured/fatbin.hpp"

#include <cstring>

#include <dlfcn.h>

#include <fmt/format.h>

#include "backend/worker/library.hpp"

namespace cupilot {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint32_t fatbin_magic = 0xba55ed50;
constexpr std::size_t file_header = 16, part_header = 64;
constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint64_t by_lz4 = 0x2000, by_zstd = 0x8000;
constexpr std::uint64_t most_text = 1ull << 30;

template <class T>
T field(Bytes bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Error damaged(const std::string& what) {
  return {ErrorCode::failure, "the fat binary is damaged: " + what, "capture the program again"};
}

// libzstd is opened where a text needs it.
Result<std::string> unpack_zstd(Bytes packed, std::size_t bytes) {
  using Unpack = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
  static const OpenedLibrary library =
      open_library({"libzstd.so.1"}, LibraryPlaces::loader_and_toolkit);
  const auto unpack = library.handle == nullptr
                          ? nullptr
                          : reinterpret_cast<Unpack>(dlsym(library.handle, "ZSTD_decompress"));
  if (unpack == nullptr)
    return Error{ErrorCode::not_done, "the PTX is packed by zstd: libzstd.so.1 " + library.reason,
                 "install libzstd1"};
  std::string text(bytes, '\0');
  if (unpack(text.data(), bytes, packed.data(), packed.size()) != bytes)
    return damaged("a text that zstd cannot unpack");
  return text;
}

Result<PtxText> read_part(Bytes part, std::size_t header) {
  const auto packed_bytes = field<std::uint32_t>(part, 16);
  const auto flags = field<std::uint64_t>(part, 40), bytes = field<std::uint64_t>(part, 56);
  PtxText out;
  out.arch = static_cast<int>(field<std::uint32_t>(part, 28));
  const Bytes payload = part.subspan(header);
  if ((flags & (by_lz4 | by_zstd)) == 0) {
    out.text.assign(payload.begin(), payload.end());
  } else {
    if (packed_bytes > payload.size() || bytes > most_text) return damaged("a part's size");
    const Bytes packed = payload.first(packed_bytes);
    Result<std::string> text =
        (flags & by_zstd) != 0 ? unpack_zstd(packed, bytes) : unpack_lz4(packed, bytes);
    if (!text) return std::move(text.error());
    out.text = std::move(*text);
  }
  out.text.resize(std::min(out.text.find('\0'), out.text.size()));
  return out;
}

}  // namespace

Result<std::string> unpack_lz4(Bytes block, std::size_t bytes) {
  std::string out;
  out.reserve(bytes);
  std::size_t i = 0;
  const auto length = [&](std::size_t nibble) {
    while (nibble >= 15 && i < block.size()) {
      const std::uint8_t more = block[i++];
      nibble += more;
      if (more != 255) break;
    }
    return nibble;
  };
  while (i < block.size()) {
    const std::uint8_t token = block[i++];
    const std::size_t plain = length(token >> 4);
    if (plain > block.size() - i || plain > bytes - out.size()) return damaged("an LZ4 text");
    out.append(reinterpret_cast<const char*>(block.data()) + i, plain);
    i += plain;
    if (i == block.size()) break;
    if (block.size() - i < 2) return damaged("an LZ4 text");
    const std::size_t back = block[i] | std::size_t{block[i + 1]} << 8;
    i += 2;
    const std::size_t again = length(token & 15) + 4;
    if (back == 0 || back > out.size() || again > bytes - out.size()) return damaged("an LZ4 text");
    for (std::size_t k = 0; k < again; ++k) out.push_back(out[out.size() - back]);
  }
  if (out.size() != bytes) return damaged("an LZ4 text");
  return out;
}

Result<std::vector<PtxText>> ptx_of_image(Bytes image) {
  std::vector<PtxText> found;
  if (image.size() < 4 || field<std::uint32_t>(image, 0) != fatbin_magic) {
    const bool elf = image.size() >= 4 && std::memcmp(image.data(),
                                                      "\x7f"
                                                      "ELF",
                                                      4) == 0;
    if (!elf && !image.empty()) found.push_back({0, std::string(image.begin(), image.end())});
    return found;
  }
  if (image.size() < file_header) return damaged("its header");
  std::size_t next = file_header;
  while (image.size() - next >= part_header) {
    const auto kind = field<std::uint16_t>(image, next);
    const auto header = field<std::uint32_t>(image, next + 4);
    const auto payload = field<std::uint64_t>(image, next + 8);
    const std::size_t rest = image.size() - next;
    if (header < part_header || header > rest || payload > rest - header)
      return damaged("a part's size");
    if (kind == kind_ptx) {
      Result<PtxText> text = read_part(image.subspan(next, header + payload), header);
      if (!text) return std::move(text.error());
      found.push_back(std::move(*text));
    }
    next += header + payload;
  }
  return found;
}

}  // namespace cupilot
