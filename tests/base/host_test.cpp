#include <cupilot/parts/host.hpp>

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "catch.hpp"

namespace cupilot {

TEST_CASE("A part of a file ends where the file does, however much is asked for") {
  const auto path =
      (std::filesystem::temp_directory_path() / ("cupilot-part-" + std::to_string(::getpid())))
          .string();
  std::ofstream(path) << "0123456789";
  struct Row {
    std::int64_t offset, size;
    const char* part;
  };
  const auto row = GENERATE(values<Row>({{0, 4, "0123"},
                                         {3, 4, "3456"},
                                         {8, 4, "89"},
                                         {10, 4, ""},
                                         {11, 4, ""},
                                         {0, 0, ""},
                                         {2, std::int64_t{1} << 60, "23456789"}}));
  INFO(row.offset << " " << row.size);
  const auto part = real_host().read_part(path, row.offset, row.size);
  REQUIRE(part);
  CHECK(*part == row.part);
  CHECK_FALSE(real_host().read_part(path + ".none", row.offset, row.size));
  std::remove(path.c_str());
}

TEST_CASE("A folder that a file stands in the way of is refused with the next step") {
  const auto path =
      (std::filesystem::temp_directory_path() / ("cupilot-file-" + std::to_string(::getpid())))
          .string();
  std::ofstream(path) << "a file\n";
  for (const std::string& folder : {path, path + "/below"}) {
    const auto made = real_host().make_directories(folder);
    REQUIRE_FALSE(made);
    INFO(made.error().message);
    CHECK(made.error().hint == "check the path");
  }
  std::remove(path.c_str());
}

}  // namespace cupilot
