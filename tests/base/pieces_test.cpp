#include "base/pieces.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/record_file.hpp"
#include "catch.hpp"

#include <cupilot/parts/host.hpp>

using namespace cupilot;

namespace {

// Short and long texts, an empty one, and memory of others.
Pieces pieces_of(std::string_view memory) {
  Pieces inner(std::string("short"));
  inner.add(Pieces::looking_at(memory));
  inner.add(std::string());
  Pieces outer(std::string(100, 'x'));
  outer.add(std::move(inner));
  outer.add(std::string("end"));
  return outer;
}

}  // namespace

TEST_CASE("pieces follow one another, whoever owns them", "[pieces]") {
  const std::string memory = "memory of others";
  const Pieces pieces = pieces_of(memory);
  CHECK(pieces.joined() == std::string(100, 'x') + "short" + memory + "end");
  CHECK(pieces.size() == pieces.joined().size());
  CHECK_FALSE(pieces.empty());
  CHECK(Pieces().empty());
  // Not copied.
  CHECK(std::any_of(pieces.all().begin(), pieces.all().end(),
                    [&](std::string_view one) { return one.data() == memory.data(); }));
}

TEST_CASE("a frame of pieces is the frame of them joined", "[pieces]") {
  const std::string memory(5000, 'm');
  Pieces bytes(frame(0, 0, "before"));
  add_frame(bytes, 7, 1, pieces_of(memory));
  add_frame(bytes, 8, 2, {});
  CHECK(bytes.joined() ==
        frame(0, 0, "before") + frame(7, 1, pieces_of(memory).joined()) + frame(8, 2, ""));
  CHECK(read_records(bytes.joined()).damage.empty());
}

TEST_CASE("what is too long for a frame stands in several, and is read back as one", "[pieces]") {
  const std::string memory(1000, 'm');
  const std::string whole = pieces_of(memory).joined();
  for (const std::size_t most :
       {std::size_t{1}, std::size_t{100}, std::size_t{105}, std::size_t{106}, std::size_t{999},
        whole.size() - 1, whole.size(), whole.size() + 1}) {
    INFO("frames of " << most);
    Pieces bytes(frame(0, 0, "before"));
    std::uint64_t sequence = 1;
    add_frames(bytes, 7, sequence, pieces_of(memory), most);
    add_frames(bytes, 8, sequence, {}, most);
    CHECK(sequence == 2 + (whole.size() + most - 1) / most);
    ReadRecords read = read_records(bytes.joined());
    CHECK(read.damage.empty());
    REQUIRE(read.records.size() == sequence);
    for (const FramedRecord& record : read.records)
      CHECK(record.payload.size() <= std::max<std::size_t>(most, 6));
    std::size_t at = 1;
    CHECK(take_frames(read.records, at, 8) == std::nullopt);
    CHECK(take_frames(read.records, at, 7) == whole);
    CHECK(take_frames(read.records, at, 8) == "");
    CHECK(at == read.records.size());
    CHECK(take_frames(read.records, at, 8) == std::nullopt);
  }
}

TEST_CASE("the machine writes pieces as the file that they are joined", "[pieces]") {
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / ("cupilot-pieces-" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir);
  const std::string path = (dir / "file").string();
  // About what it gathers before it writes.
  constexpr std::size_t gathered = 1 << 16;
  std::vector<std::string> texts;
  for (const std::size_t size : {std::size_t{3}, gathered - 4, gathered - 3, gathered, gathered + 1,
                                 std::size_t{0}, 3 * gathered, std::size_t{5}}) {
    texts.emplace_back(size, static_cast<char>('a' + texts.size()));
    std::vector<std::string_view> pieces(texts.begin(), texts.end());
    std::string joined;
    for (const std::string& text : texts) joined += text;
    INFO(texts.size() << " pieces");
    for (const bool sync : {false, true}) {
      REQUIRE(real_host().write_pieces_atomically(path, pieces, sync));
      const auto read = real_host().read_file(path);
      REQUIRE(read);
      CHECK(*read == joined);
    }
  }
  CHECK(*real_host().list(dir.string()) == std::vector<std::string>{"file"});
  REQUIRE(real_host().write_pieces_atomically(path, {}, false));
  CHECK(real_host().read_file(path)->empty());
  const auto refused = real_host().write_pieces_atomically((dir / "none/file").string(), {}, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("none/file") != std::string::npos);
  std::filesystem::remove_all(dir);
}
