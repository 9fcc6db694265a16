#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <cupilot/parts/models.hpp>

#include "catch.hpp"
#include "llm/tape.hpp"

using namespace cupilot;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    static int count = 0;
    path = fs::temp_directory_path() /
           ("cupilot-tape-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name = "tape.jsonl") const { return (path / name).string(); }
};

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Says the key back, or that it is dead.
struct Echo : ChatClient {
  int asked = 0;
  bool dead = false;
  Result<ChatReply> complete(const ChatRequest& request) override {
    ++asked;
    if (dead) return Error{ErrorCode::endpoint, "gone", "wait"};
    ChatReply reply;
    reply.text = "to " + request.key;
    reply.usage = {10, 4, 5, 0.25, false};
    return reply;
  }
};

ChatRequest ask(const std::string& key, const std::string& text) {
  return {"strategist",
          key,
          {{ChatMessage::Role::system, std::string(2000, 'h')}, {ChatMessage::Role::user, text}},
          1};
}

struct Session {
  Echo* echo;
  std::unique_ptr<TapedClient> client;
  std::shared_ptr<Tape> tape;
  explicit Session(const std::string& path) {
    auto opened = Tape::open(real_host(), path);
    REQUIRE(opened);
    tape = std::move(*opened);
    auto live = std::make_unique<Echo>();
    echo = live.get();
    client = std::make_unique<TapedClient>(tape, std::move(live), [](const std::string&) {
      return ModelsSpent{15, 1, 0.25, 2};
    });
  }
};

}  // namespace

TEST_CASE("a tape answers what it holds and asks for what it lacks", "[llm]") {
  const Folder folder;
  {
    Session first(folder.file());
    CHECK(first.client->complete(ask("a", "one"))->text == "to a");
    CHECK(first.client->complete(ask("b", "two"))->text == "to b");
    first.echo->dead = true;
    CHECK_FALSE(first.client->complete(ask("c", "three")));
    CHECK(first.echo->asked == 3);
  }
  Session second(folder.file());
  CHECK(second.client->complete(ask("b", "two"))->usage.cached_tokens == 4);
  CHECK(second.echo->asked == 0);
  // Whoever can be asked is asked again; a tape alone repeats the failure.
  const auto failed = (*open_tape(folder.file()))->complete(ask("c", "three"));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::endpoint);
  CHECK(failed.error().message == "gone");
  CHECK(second.client->complete(ask("c", "three"))->text == "to c");
  CHECK(second.echo->asked == 1);
  CHECK((*open_tape(folder.file()))->complete(ask("c", "three"))->text == "to c");
  CHECK(second.client->complete(ask("a", "another question"))->text == "to a");
  CHECK(second.echo->asked == 2);
  CHECK(second.tape->spent_before().tokens == 45);
}

TEST_CASE("a tape holds a constant head once", "[llm]") {
  const Folder folder;
  Session session(folder.file());
  for (const char* key : {"a", "b", "c", "d"}) REQUIRE(session.client->complete(ask(key, key)));
  CHECK(text_of(folder.file()).size() < 5000);
  const auto read = read_tape(folder.file());
  REQUIRE(read);
  REQUIRE(read->entries.size() == 4);
  CHECK(read->entries[3].messages[0].text == std::string(2000, 'h'));
  CHECK(read->entries[3].messages[1].text == "d");
}

TEST_CASE("a tape alone refuses what it does not hold and says why", "[llm]") {
  const Folder folder;
  { REQUIRE(Session(folder.file()).client->complete(ask("a", "one"))); }
  auto tape = open_tape(folder.file());
  REQUIRE(tape);
  CHECK((*tape)->complete(ask("a", "one")));
  const auto other = (*tape)->complete(ask("a", "two"));
  REQUIRE_FALSE(other);
  CHECK(other.error().code == ErrorCode::endpoint);
  CHECK(other.error().message.find("another question") != std::string::npos);
  const auto lack = (*tape)->complete(ask("b", "one"));
  REQUIRE_FALSE(lack);
  CHECK(lack.error().message.find("does not hold") != std::string::npos);
}

TEST_CASE("a line that a person wrote answers whatever its key asks", "[llm]") {
  const Folder folder;
  write(folder.file(),
        "{\"cupilot_tape\":1,\"note\":\"replies written by hand\"}\n"
        "{\"exchange\":{\"key\":\"k\",\"reply\":{\"text\":\"yes\"}}}\n");
  auto tape = open_tape(folder.file());
  REQUIRE(tape);
  CHECK((*tape)->complete(ask("k", "anything"))->text == "yes");
  CHECK(read_tape(folder.file())->note == "replies written by hand");
}

TEST_CASE("a reservation without an end counts as spent", "[llm]") {
  const Folder folder;
  {
    Session session(folder.file());
    REQUIRE(session.tape->reserve("a", {1000, 1, 2.5, 60}));
    REQUIRE(session.client->complete(ask("a", "one")));
    REQUIRE(session.tape->reserve("b", {3000, 1, 7.5, 60}));
  }
  const auto read = read_tape(folder.file());
  REQUIRE(read);
  CHECK(read->spent.tokens == 3015);
  CHECK(read->spent.calls == 2);
  CHECK(read->spent.cost == 7.75);
  CHECK(read->spent.unsettled == 1);
  CHECK(read->spent.reserved_seconds == 60);
  // Asked again by the next process, the question has cost both.
  { REQUIRE(Session(folder.file()).client->complete(ask("b", "one"))); }
  const auto again = read_tape(folder.file());
  REQUIRE(again);
  CHECK(again->spent.tokens == 3030);
  CHECK(again->spent.calls == 3);
  CHECK(again->spent.unsettled == 0);
  CHECK(again->spent.reserved_seconds == 60);
  CHECK(again->entries.back().spent.seconds == 62);
}

TEST_CASE("what a damaged tape spent beyond all numbers is the most there is", "[llm]") {
  const Folder folder;
  const std::string most =
      "{\"reservation\":{\"key\":\"a\",\"tokens\":9223372036854775807,\"calls\":1}}\n";
  write(folder.file(), "{\"cupilot_tape\":1}\n" + most + most);
  const auto read = read_tape(folder.file());
  REQUIRE(read);
  CHECK(read->spent.tokens == std::numeric_limits<std::int64_t>::max());
  CHECK(read->spent.calls == 2);
}

TEST_CASE("pages of the last append that a crash lost are set aside; zeros elsewhere are damage",
          "[llm]") {
  const std::string head = "{\"cupilot_tape\":1}\n",
                    reservation = "{\"reservation\":{\"key\":\"a\",\"tokens\":1}}\n";
  const std::string text = "{\"text\":{\"digest\":\"00\",\"text\":\"long\"}}\n";
  const std::string exchange = "{\"exchange\":{\"key\":\"a\",\"reply\":{\"text\":\"yes\"}}}\n";
  const auto holed = [](std::string line, std::size_t from, std::size_t count) {
    return line.replace(from, count, count, '\0');
  };
  struct Row {
    const char* what;
    std::string kept, lost;
    bool taken;
  };
  const Row rows[] = {
      {"an exchange", head + reservation, holed(exchange, 12, 9), true},
      {"a reservation", head + exchange, holed(reservation, 0, 9), true},
      {"the header", "", holed(head, 3, 4), true},
      {"a long message before its exchange", head + reservation, holed(text, 12, 9) + exchange,
       true},
      {"the first of two", head + reservation, holed(text, 12, 9) + text + exchange, true},
      {"what holds the end of a line", head + reservation,
       holed(text + exchange, text.size() - 4, 9), true},
      {"both", head + reservation, holed(text, 12, 9) + holed(exchange, 12, 9), true},
      {"and the rest is missing", head + reservation, holed(text, 12, 9) + exchange.substr(0, 20),
       true},
      {"an exchange before a reservation", head, holed(exchange, 12, 9) + reservation, false},
      {"a reservation before an exchange of its own", head,
       holed(reservation, 12, 9) + exchange + reservation, false},
      {"before two exchanges", head, holed(text, 12, 9) + exchange + exchange, false},
      {"no zeros", head + reservation, "{\"text\":{\"digest\":\"00\",}}\n" + exchange, false}};
  for (const Row& row : rows) {
    INFO(row.what);
    const Folder folder;
    write(folder.file(), row.kept + row.lost);
    const auto read = read_tape(folder.file());
    CHECK(static_cast<bool>(read) == row.taken);
    if (!row.taken) continue;
    { Session session(folder.file()); }
    const bool cut = text_of(folder.file()) == (row.kept.empty() ? head : row.kept);
    CHECK(cut);
    const bool aside = text_of(folder.file("tape.jsonl.torn-1")) == row.lost;
    CHECK(aside);
    CHECK(read_tape(folder.file()));
  }
}

TEST_CASE("a torn last line is set aside; a broken one elsewhere is named", "[llm]") {
  const Folder folder;
  { REQUIRE(Session(folder.file()).client->complete(ask("a", "one"))); }
  const std::string whole = text_of(folder.file());
  write(folder.file(), whole + "{\"exchange\":{\"key\":\"b\",\"rep");
  {
    Session session(folder.file());
    CHECK(session.client->complete(ask("a", "one")));
    CHECK(session.echo->asked == 0);
  }
  const bool cut = text_of(folder.file()) == whole;
  CHECK(cut);
  CHECK(text_of(folder.file("tape.jsonl.torn-1")) == "{\"exchange\":{\"key\":\"b\",\"rep");

  struct Bad {
    const char* text;
    const char* says;
  };
  const Bad bad[] = {
      {"{\"exchange\":{}}\n", "line 1: the first line is no tape's header"},
      {"{\"cupilot_tape\":2}\n", "line 1: format 2, this program reads 1"},
      {"{\"cupilot_tape\":1}\nnoise\n", "line 2"},
      {"{\"cupilot_tape\":1}\n[]\n", "line 2: not a JSON object"},
      {"{\"cupilot_tape\":1}\n{\"other\":1}\n", "line 2: unknown kind"},
      {"{\"cupilot_tape\":1}\n{\"exchange\":{\"key\":\"a\"}}\n", "line 2"},
      {"{\"cupilot_tape\":1}\n{\"exchange\":{\"key\":\"a\",\"reply\":{\"text\":\"\",\"finish\":"
       "\"odd\"}}}\n",
       "unknown finish"},
      {"{\"cupilot_tape\":1}\n{\"exchange\":{\"key\":\"a\",\"messages\":[{\"role\":\"user\","
       "\"digest\":\"00\"}],"
       "\"reply\":{\"text\":\"\"}}}\n",
       "no earlier line"},
      {"{\"cupilot_tape\":1}\n{\"reservation\":{\"key\":\"a\",\"tokens\":-1}}\n",
       "spends less than nothing"},
      {"{\"cupilot_tape\":1}\n{\"reservation\":{\"key\":\"a\",\"cost\":-0.5}}\n",
       "spends less than nothing"},
  };
  for (const Bad& row : bad) {
    write(folder.file("bad"), row.text);
    const auto read = read_tape(folder.file("bad"));
    INFO(row.text);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::usage);
    INFO(read.error().message);
    CHECK(read.error().message.find(row.says) != std::string::npos);
  }
}
