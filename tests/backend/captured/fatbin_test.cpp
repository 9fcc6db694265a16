#include "backend/captured/fatbin.hpp"

#include <cupilot/parts/capture.hpp>

#include "backend/captured/folder.hpp"

using namespace cupilot;
using support::data;

namespace {

Result<std::vector<PtxText>> texts_in(const std::string& image) {
  return ptx_of_image({reinterpret_cast<const std::uint8_t*>(image.data()), image.size()});
}

}  // namespace

TEST_CASE("a fat binary's PTX is unpacked", "[captured]") {
  const std::string text = support::read(data + "guest.ptx");
  for (const char* name : {"guest-lz4.fatbin", "guest-zstd.fatbin"}) {
    INFO(name);
    const auto found = texts_in(support::read(data + name));
    INFO((found ? "" : found.error().message));
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    CHECK(found->front().arch == 90);
    CHECK(found->front().text.find(".visible .entry twice(") != std::string::npos);
    CHECK(found->front().text.find(".visible .entry unwritten(") != std::string::npos);
  }
}

TEST_CASE("a damaged fat binary is told, wherever it is cut or changed", "[captured]") {
  const std::string whole = support::read(data + "guest-lz4.fatbin");
  int told = 0;
  for (std::size_t i = 16; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    told += texts_in(changed) ? 0 : 1;
    texts_in(whole.substr(0, i));
  }
  CHECK(told > 10);
}

TEST_CASE("LZ4 blocks: plain bytes, copies that overlap, long lengths", "[captured]") {
  const auto unpack = [](const std::vector<std::uint8_t>& block, std::size_t bytes) {
    return unpack_lz4(block, bytes);
  };
  CHECK(*unpack({0x30, 'a', 'b', 'c'}, 3) == "abc");
  CHECK(*unpack({0x12, 'a', 1, 0, 0x10, 'b'}, 8) == "aaaaaaab");
  std::vector<std::uint8_t> longer = {0xf0, 255, 5};
  for (int i = 0; i < 275; ++i) longer.push_back('x');
  CHECK(*unpack(longer, 275) == std::string(275, 'x'));
  CHECK(!unpack({0x12, 'a', 2, 0, 0x10, 'b'}, 8));  // reaches before the begin
  CHECK(!unpack({0x30, 'a'}, 3));
  CHECK(!unpack({0x30, 'a', 'b', 'c'}, 2));
}

TEST_CASE("the PTX of a file that holds fat binaries", "[captured]") {
  const std::string fatbin = support::read(data + "guest-lz4.fatbin");
  const support::CaptureFolder folder;
  const auto file = [&](const char* name, const std::string& bytes) {
    const std::string path = folder.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  };
  const std::string elf =
      "\x7f"
      "ELF" +
      std::string(60, '\0');
  const std::string object = file("guest.o", elf + fatbin + std::string(32, '\0'));
  CHECK(is_binary(object));
  CHECK(is_binary(data + "guest-lz4.fatbin"));
  CHECK_FALSE(is_binary(data + "guest.ptx"));
  for (const std::string& path : {data + "guest-lz4.fatbin", object}) {
    const auto text = embedded_ptx(path, "", 90);
    INFO((text ? "" : text.error().message));
    REQUIRE(text);
    CHECK(text->find(".visible .entry twice(") != std::string::npos);
    CHECK(embedded_ptx(path, "twice", 100));
  }
  CHECK(embedded_ptx(object, "", 80).error().message.find("no PTX for sm_80") != std::string::npos);
  CHECK(embedded_ptx(object, "thrice", 90).error().message.find("with kernel thrice") !=
        std::string::npos);
  CHECK(embedded_ptx(file("none.cubin", elf), "", 90).error().message.find("machine code alone") !=
        std::string::npos);
  std::string other = support::read(data + "guest-zstd.fatbin");
  CHECK(embedded_ptx(file("both.o", elf + fatbin + other), "twice", 90));  // one text twice
  for (std::size_t cut = 0; cut < fatbin.size(); cut += 7)
    static_cast<void>(embedded_ptx(file("cut.o", elf + fatbin.substr(0, cut)), "", 90));
}
