// Questions as files of a folder: how they are asked, and what late, half and wrong answers do.
#include "llm/handoff.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/core.h>

#include <cupilot/parts/models.hpp>

#include "catch.hpp"

using namespace cupilot;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("cupilot-handoff-{}", ::getpid());
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }

  HandoffOptions options(const std::string& tape = "") const {
    HandoffOptions options;
    options.folder = path.string();
    if (!tape.empty()) options.tape = (path / tape).string();
    return options;
  }
  void answer(const ChatRequest& request, const std::string& text) const {
    std::ofstream(path / handoff_files(request).answer) << text;
  }
  std::string question(const ChatRequest& request) const {
    std::ostringstream text;
    text << std::ifstream(path / handoff_files(request).question).rdbuf();
    return text.str();
  }
};

ChatRequest ask(const std::string& key, const std::string& text = "write a kernel") {
  ChatRequest request;
  request.agent = "generator";
  request.key = key;
  request.messages = {{ChatMessage::Role::system, "you write kernels"},
                      {ChatMessage::Role::user, text}};
  request.seconds = 20;
  return request;
}

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

constexpr const char* schema =
    R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false})";

}  // namespace

TEST_CASE("a question's file says how to answer it and holds all that is asked", "[llm]") {
  ChatRequest request = ask("slot 17/write/0");
  const HandoffFiles files = handoff_files(request);
  CHECK(files.question.rfind("slot-17-write-0-", 0) == 0);
  CHECK(files.question.size() == std::string("slot-17-write-0-12345678.question.md").size());
  CHECK(handoff_files(ask("slot 17/write/0", "another")).answer != files.answer);
  std::string text = handoff_text(request);
  const std::string first = text.substr(0, text.find('\n'));
  CHECK(first.find(files.answer) != first.npos);
  CHECK(text.find("you write kernels") < text.find("write a kernel"));
  CHECK(text.find("schema") == text.npos);
  request.schema = schema;
  text = handoff_text(request);
  CHECK(text.find(schema) != text.npos);
  CHECK(text.substr(0, text.find('\n')).find("JSON") != text.npos);
}

TEST_CASE("an answer is taken once it is whole, and kept on the tape", "[llm][threads]") {
  const Folder folder;
  const ChatRequest request = ask("slot 1/write/0");
  {
    const auto client = open_handoff(folder.options("tape.jsonl"));
    REQUIRE(client);
    std::thread person([&] {
      while (folder.question(request).empty()) pause(0.02);
      folder.answer(request, "  \n");
      pause(0.7);
      folder.answer(request, "half");
      pause(0.2);
      folder.answer(request, "half and half");
    });
    const auto reply = (*client)->complete(request);
    person.join();
    REQUIRE(reply);
    CHECK(reply->text == "half and half");
    CHECK(reply->finish == ChatFinish::complete);
    CHECK(reply->usage.output_tokens > 0);
  }
  fs::remove(folder.path / handoff_files(request).answer);
  const auto client = open_handoff(folder.options("tape.jsonl"));
  REQUIRE(client);
  const auto again = (*client)->complete(request);
  REQUIRE(again);
  CHECK(again->text == "half and half");
  const auto tape = read_tape((folder.path / "tape.jsonl").string());
  REQUIRE(tape);
  CHECK(tape->spent.calls == 1);
}

TEST_CASE("an answer with a schema is its JSON object, whatever stands around it", "[llm]") {
  struct Row {
    const char *answer, *text;
  };
  const Row rows[] = {{"Sure:\n```json\n{\"n\": 1}\n```\n", "{\"n\":1}"},
                      {"{\"m\": 1}", "{\"m\":1}"},
                      {"no", "no"}};
  for (const Row& row : rows) {
    const Folder folder;
    ChatRequest request = ask("initial/0");
    request.schema = schema;
    const auto client = open_handoff(folder.options());
    REQUIRE(client);
    folder.answer(request, row.answer);
    const auto reply = (*client)->complete(request);
    REQUIRE(reply);
    CHECK(reply->text == row.text);
  }
}

TEST_CASE("a question without answer is told: late, given up, too long", "[llm][threads]") {
  const Folder folder;
  const auto client = open_handoff(folder.options("tape.jsonl"));
  REQUIRE(client);
  ChatRequest late = ask("slot 2/write/0");
  late.seconds = 0.1;
  const auto missed = (*client)->complete(late);
  REQUIRE_FALSE(missed);
  CHECK(missed.error().code == ErrorCode::endpoint);
  CHECK(missed.error().hint.find(handoff_files(late).answer) != std::string::npos);

  ChatRequest open = ask("slot 3/write/0");
  std::atomic<bool> cancel{false};
  open.cancel = &cancel;
  std::thread asker([&] {
    while (folder.question(open).empty()) pause(0.02);
    cancel = true;
  });
  const auto given_up = (*client)->complete(open);
  asker.join();
  REQUIRE_FALSE(given_up);
  CHECK(given_up.error().message.find("slot 3/write/0") != std::string::npos);
  CHECK(given_up.error().hint.find(handoff_files(open).answer) != std::string::npos);

  const ChatRequest longest = ask("slot 4/write/0");
  folder.answer(longest, std::string((1u << 20) + 1, 'x'));
  const auto refused = (*client)->complete(longest);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("longer than") != std::string::npos);

  // A question that was given up is asked when the run goes on.
  const auto tape = read_tape((folder.path / "tape.jsonl").string());
  REQUIRE(tape);
  REQUIRE(tape->entries.size() == 2);
  CHECK(tape->entries[0].key == late.key);
  CHECK(tape->entries[1].key == longest.key);
}
