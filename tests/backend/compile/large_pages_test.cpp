#include "backend/compile/large_pages.hpp"

#include <dlfcn.h>

#include <fstream>
#include <string>

#include "backend/worker/library.hpp"
#include "catch.hpp"

namespace cupilot {
namespace {

// Of which file the mapping is that holds `address`; empty: of none.
std::string file_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::size_t after = 0;
    const auto begin = std::stoull(line, &after, 16);
    const auto end = std::stoull(line.substr(after + 1), nullptr, 16);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (at >= begin && at < end)
      return line.find('/') == std::string::npos ? "" : line.substr(line.find('/'));
  }
  return "unmapped";
}

}  // namespace

TEST_CASE("A library on large pages runs as before, from memory") {
  const OpenedLibrary library = open_library({"libnvrtc.so.13", "libnvrtc.so.12"});
  REQUIRE(library.handle != nullptr);
  const auto version = reinterpret_cast<int (*)(int*, int*)>(dlsym(library.handle, "nvrtcVersion"));
  REQUIRE(version != nullptr);
  int before[2] = {}, after[2] = {};
  REQUIRE(version(&before[0], &before[1]) == 0);
  CHECK(use_large_pages(library.path + ".other") == 0);
  REQUIRE(file_at(reinterpret_cast<void*>(version)) == library.path);
  const std::size_t moved = use_large_pages(library.path);
  REQUIRE(version(&after[0], &after[1]) == 0);
  CHECK(after[0] == before[0]);
  CHECK(after[1] == before[1]);
  if (moved == 0) {
    WARN("no large pages here");
    return;
  }
  CHECK(moved % (2u << 20) == 0);
  CHECK(moved > 32u << 20);
  CHECK(file_at(reinterpret_cast<void*>(version)) == "");
  CHECK(use_large_pages(library.path) == moved);  // of what it made itself
}

}  // namespace cupilot
