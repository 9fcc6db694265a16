#include "ptx/machine/kept_sectors.hpp"

#include <memory>

#include "catch.hpp"

using namespace cupilot::ptx;

TEST_CASE("a sector is kept until loads of others take its place", "[kept_sectors]") {
  const auto kept = std::make_unique<KeptSectors>();
  kept->begin();
  CHECK_FALSE(kept->keeps(0x1000));
  // Lanes of one load ask for a sector once.
  CHECK_FALSE(kept->keeps(0x101c));
  kept->begin();
  CHECK(kept->keeps(0x1004));
  CHECK_FALSE(kept->keeps(0x1004));
  CHECK_FALSE(kept->keeps(0x1020));
  kept->begin();
  // Rows that lie a power of two apart share it, too.
  for (std::uint64_t lane = 0; lane < 32; ++lane) CHECK_FALSE(kept->keeps(0x100000 + 4096 * lane));
  kept->begin();
  for (std::uint64_t lane = 0; lane < 32; ++lane) CHECK(kept->keeps(0x100004 + 4096 * lane));
  for (std::uint64_t i = 0; i < 512; ++i) {
    kept->begin();
    CHECK_FALSE(kept->keeps(0x400000 + 32 * i));
  }
  kept->begin();
  CHECK_FALSE(kept->keeps(0x1000));
  kept->clear();
  kept->begin();
  CHECK_FALSE(kept->keeps(0x1000));
  CHECK_FALSE(kept->keeps(0));
}
