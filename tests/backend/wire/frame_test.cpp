#include "backend/wire/frame.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "backend/wire/body.hpp"
#include "catch.hpp"

using namespace cupilot;

namespace {

struct Pair {
  int ends[2] = {-1, -1};
  Pair() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); }
  ~Pair() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  void close_writer() {
    close(ends[0]);
    ends[0] = -1;
  }
};

// The bytes of one good frame.
std::string frame_bytes(const std::string& body) {
  Pair pair;
  REQUIRE(std::holds_alternative<std::monostate>(
      send_frame(pair.ends[0], {7, 42, body, {}}, deadline_in(1))));
  std::string bytes(32 + body.size(), '\0');
  REQUIRE(recv(pair.ends[1], bytes.data(), bytes.size(), MSG_WAITALL) ==
          static_cast<ssize_t>(bytes.size()));
  return bytes;
}

FrameFailure::Kind kind_of(const std::string& bytes, bool closed) {
  Pair pair;
  REQUIRE(write(pair.ends[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  if (closed) pair.close_writer();
  const auto result = receive_frame(pair.ends[1], deadline_in(0.05), 1000);
  REQUIRE(std::holds_alternative<FrameFailure>(result));
  return std::get<FrameFailure>(result).kind;
}

}  // namespace

TEST_CASE("a frame arrives whole, also when larger than the socket's buffer", "[threads]") {
  Pair pair;
  const std::string body(3u << 20, 'x');
  std::thread sender([&] {
    CHECK(std::holds_alternative<std::monostate>(
        send_frame(pair.ends[0], {3, 9, body, {}}, deadline_in(5))));
  });
  const auto result = receive_frame(pair.ends[1], deadline_in(5));
  sender.join();
  REQUIRE(std::holds_alternative<Frame>(result));
  const Frame& frame = std::get<Frame>(result);
  CHECK(frame.type == 3);
  CHECK(frame.id == 9);
  CHECK(frame.body == body);
}

TEST_CASE("a frame is read whole into memory of another's") {
  for (const std::size_t before : {0u, 3u, 400u}) {
    Pair pair;
    REQUIRE(std::holds_alternative<std::monostate>(
        send_frame(pair.ends[0], {1, 2, "a body", {}}, deadline_in(1))));
    const auto result = receive_frame(pair.ends[1], deadline_in(1), 1000, std::string(before, 'o'));
    REQUIRE(std::holds_alternative<Frame>(result));
    CHECK(std::get<Frame>(result).body == "a body");
  }
}

TEST_CASE("descriptors travel with their frame") {
  Pair pair;
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  REQUIRE(std::holds_alternative<std::monostate>(
      send_frame(pair.ends[0], {1, 1, "with", {pipe_ends[1]}}, deadline_in(1))));
  auto result = receive_frame(pair.ends[1], deadline_in(1));
  REQUIRE(std::holds_alternative<Frame>(result));
  const Frame& frame = std::get<Frame>(result);
  REQUIRE(frame.descriptors.size() == 1);
  CHECK(write(frame.descriptors[0], "!", 1) == 1);
  char letter = 0;
  CHECK(read(pipe_ends[0], &letter, 1) == 1);
  CHECK(letter == '!');
  CHECK((fcntl(frame.descriptors[0], F_GETFD) & FD_CLOEXEC) != 0);
  for (const int descriptor : {frame.descriptors[0], pipe_ends[0], pipe_ends[1]}) close(descriptor);
}

TEST_CASE("every damaged frame is malformed") {
  const std::string good = frame_bytes("a body");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const FrameFailure::Kind kind = kind_of(bad, true);
    CAPTURE(at);
    CHECK(kind == FrameFailure::Kind::malformed);
  }
}

TEST_CASE("a frame cut short is malformed, silence a timeout, a closed peer closed") {
  const std::string good = frame_bytes("a body");
  CHECK(kind_of(good.substr(0, 10), true) == FrameFailure::Kind::malformed);
  CHECK(kind_of(good.substr(0, 34), true) == FrameFailure::Kind::malformed);
  CHECK(kind_of(good.substr(0, 34), false) == FrameFailure::Kind::timeout);
  CHECK(kind_of("", false) == FrameFailure::Kind::timeout);
  CHECK(kind_of("", true) == FrameFailure::Kind::closed);
  CHECK(kind_of(frame_bytes(std::string(2000, 'x')), false) == FrameFailure::Kind::malformed);
}

TEST_CASE("a body reader stays failed past the end") {
  BodyWriter out;
  out.put(std::int32_t{-5})
      .put("text")
      .put(std::vector<double>{1, 2})
      .put(std::vector<std::string>{"a", ""})
      .put(true);
  const std::string body = out.take();
  BodyReader in(body);
  CHECK(in.get<std::int32_t>() == -5);
  CHECK(in.text() == "text");
  CHECK(in.values<double>() == std::vector<double>{1, 2});
  CHECK(in.texts() == std::vector<std::string>{"a", ""});
  CHECK(in.get<bool>());
  CHECK(in.whole());
  for (std::size_t cut = 0; cut < body.size(); ++cut) {
    BodyReader shortened(std::string_view(body).substr(0, cut));
    shortened.get<std::int32_t>();
    shortened.text();
    shortened.values<double>();
    shortened.texts();
    shortened.get<bool>();
    CHECK(shortened.failed());
  }
  std::string huge;
  huge.assign(8, '\xff');
  BodyReader liar(huge);
  CHECK(liar.values<double>().empty());
  CHECK(liar.failed());
}
