#include "evolution/run/timely_chat.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <cupilot/parts/run_report.hpp>

#include "catch.hpp"
#include "evolution/journal/tally.hpp"
#include "evolution/run/context.hpp"
#include "evolution/run/waiting.hpp"
#include "evolution/support.hpp"
#include "support/gemm.hpp"
#include "support/kept_images.hpp"
#include "support/sanitized.hpp"
#include "support/virtual_clock.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

struct Noting : ChatClient {
  ChatRequest last;
  bool failing = false;
  Result<ChatReply> complete(const ChatRequest& request) override {
    last = request;
    if (failing) return Error{ErrorCode::endpoint, "cancelled", ""};
    return ChatReply{};
  }
};

}  // namespace

TEST_CASE("who waits for a model hears of the end of the search") {
  Noting client;
  std::atomic<bool> cancel{false}, own{false};
  const double now = real_host().monotonic_seconds();
  struct Row {
    double end, least, most;  // from now; 0: none
  };
  for (const Row& row : {Row{0, 0, 0}, Row{40, 1, 40}, Row{-5, 1e-3, 1e-3}, Row{1000, 900, 1000}}) {
    INFO(row.end);
    TimelyChat chat(client, real_host(), &cancel, row.end == 0 ? 0 : now + row.end);
    REQUIRE(chat.complete({}));
    CHECK(client.last.cancel == &cancel);
    CHECK(client.last.seconds >= row.least);
    CHECK(client.last.seconds <= row.most);
    ChatRequest asked;
    asked.cancel = &own;
    REQUIRE(chat.complete(asked));
    CHECK(client.last.cancel == &own);
  }
}

TEST_CASE("an exchange that the end of the search cut short is no silence of the model") {
  Noting client;
  client.failing = true;
  for (const bool stopped : {false, true}) {
    std::atomic<bool> cancel{stopped};
    const auto reply = TimelyChat(client, real_host(), &cancel, 0).complete({});
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code == (stopped ? ErrorCode::failure : ErrorCode::endpoint));
  }
}

TEST_CASE("a question that the end of the run's time came before is no silence of the model") {
  Noting client;
  client.failing = true;
  const double now = real_host().monotonic_seconds();
  TimelyChat chat(client, real_host(), nullptr, now + 1000);
  const auto silent = chat.complete({});
  REQUIRE_FALSE(silent);
  CHECK(silent.error().code == ErrorCode::endpoint);
  CHECK_FALSE(TimelyChat::is_late(silent.error()));
  chat.ends_at(now - 1);
  const auto late = chat.complete({});
  REQUIRE_FALSE(late);
  CHECK(late.error().code == ErrorCode::failure);
  CHECK(TimelyChat::is_late(late.error()));
}

TEST_CASE("a model's question stays its own when the run's time ends", "[threads]") {
  if (sanitized_for_threads()) return;  // host_loop_test has the threads of such a search
  // Leaves questions of one kind without an answer at first.
  struct Late : ChatClient {
    std::mutex mutex;
    std::string left;  // part of their keys; "": none
    std::set<std::string> unanswered, asked;
    Result<ChatReply> complete(const ChatRequest& request) override {
      {
        const std::lock_guard hold(mutex);
        asked.insert(request.key);
        if (left.empty() || request.key.find(left) == std::string::npos) {
          ChatReply reply;
          reply.text = request.agent == "strategist"
                           ? R"({"strategies":[{"techniques":[{"name":"free","settings":[],)"
                             R"("text":"one thread an element"}],"rationale":"plain"}]})"
                           : "no kernel";
          return reply;
        }
        unanswered.insert(request.key);
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(request.seconds));
      return Error{ErrorCode::endpoint, "nobody answered", "answer"};
    }
  };
  for (const std::string left : {"initial", "/strategy", "/write"}) {
    INFO(left);
    const auto device = open_backend("virtual:h200", testing::kept_images());
    REQUIRE(device);
    const Task task = *gemm_task({.m = 16, .n = 16, .k = 16});
    Late client;
    client.left = left;
    struct Hearing : SearchObserver {
      std::string notices;
      void on_notice(const std::string& notice) override { notices += notice + "\n"; }
    };
    Hearing observer;
    std::optional<TempDir> dir;
    std::optional<Result<EvolveReport>> sat;
    // A slow machine comes to the question later.
    for (double seconds = 4; client.unanswered.empty(); seconds *= 4) {
      REQUIRE(seconds < 100);
      observer.notices.clear();
      dir.emplace();
      EvolveOptions options = small_run(*dir / "run", 12);
      options.chat = &client;
      options.seats.share = 0.5;
      options.max_seconds = seconds;
      options.observer = &observer;
      sat.emplace(evolve(task, **device, options));
    }
    const auto& ran = *sat;
    // Generation 0 begins with a model's slot.
    if (left == "initial") {
      REQUIRE_FALSE(ran);
      CHECK(ran.error().code == ErrorCode::budget);
    } else {
      REQUIRE_OK(ran);
      CHECK(ran->stopped == "time spent");
    }
    CHECK(observer.notices.find("to its models open") != std::string::npos);
    CHECK(observer.notices.find("--seconds S") != std::string::npos);
    CHECK(observer.notices.find("built-in strategist goes on") == std::string::npos);
    CHECK(observer.notices.find("are lost") == std::string::npos);
    client.left.clear();
    client.asked.clear();
    EvolveOptions more;
    more.max_seconds = 60;
    more.chat = &client;
    REQUIRE_OK(resume(*dir / "run", **device, more));
    for (const std::string& key : client.unanswered) {
      INFO(key);
      CHECK(client.asked.contains(key));
    }
  }
}

TEST_CASE("the seats of a search ask a client that hears of its end", "[threads]") {
  const auto device = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(device);
  Noting client;
  std::atomic<bool> cancel{false};
  const Task task = *gemm_task({.m = 16, .n = 16, .k = 16});
  EvolveOptions options;
  options.chat = &client;
  options.cancel = &cancel;
  options.max_seconds = 30;
  options.seats.share = 1;
  auto context = open_context(task, **device, options);
  REQUIRE(context);
  StrategyBrief brief;
  brief.space = context->space.get();
  static_cast<void>(context->strategist->propose(brief, Rng::of(1, "x")));
  CHECK(client.last.cancel == &cancel);
  CHECK(client.last.seconds <= 30);
}

TEST_CASE("a run tells from its journal whether models take part, whatever files lie beside it",
          "[threads]") {
  if (sanitized_for_threads()) return;  // host_loop_test has the threads of such a search
  const auto device = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(device);
  const TempDir dir;
  const Task task = *gemm_task({.m = 16, .n = 16, .k = 16});
  EvolveOptions options = small_run(dir / "run", 1);
  REQUIRE_OK(evolve(task, **device, options));
  std::ofstream(dir / "run/tape.jsonl") << "left by another run";
  CHECK_FALSE(read_run(dir / "run")->models);
  Noting client;
  client.failing = true;
  for (const std::int64_t evaluations : {2, 3}) {
    EvolveOptions more;
    more.raise_evaluations = evaluations;
    more.chat = &client;
    REQUIRE_OK(resume(dir / "run", **device, more));
    CHECK(read_run(dir / "run")->models);
    CHECK(read_beginning(dir / "run")->models);
  }
  const auto read = read_journal(real_host(), dir / "run");
  REQUIRE_OK(read);
  int told = 0;
  for (const FramedRecord& record : read->records)
    told += record.payload.find("\"kind\":\"models\"") != std::string::npos ? 1 : 0;
  CHECK(told == 1);
  // It is no reason why the search ended.
  Tally tally;
  tally.take(DecisionRecord{"stop", "time spent", 0, 0});
  tally.take(DecisionRecord{"models", "", 0, 0});
  CHECK(tally.report({}, real_host(), dir / "run").stopped == "time spent");
}

TEST_CASE("a search that waits for nothing but models loses patience") {
  VirtualClock clock;
  std::atomic<bool> cancel{false};
  IdleLimit patience(clock, 10, &cancel), endless(clock, 0, &cancel);
  patience.look(true);
  clock.sleep(9);
  patience.look(true);
  CHECK_FALSE(cancel);
  patience.look(false);  // something else was done meanwhile
  clock.sleep(9);
  patience.look(true);
  clock.sleep(9);
  endless.look(true);
  patience.look(true);
  CHECK_FALSE(cancel);
  clock.sleep(2);
  patience.look(true);
  CHECK(cancel);
}

TEST_CASE("a lock is given up while a model is waited for") {
  std::mutex mutex;
  struct Looking : ChatClient {
    std::mutex* mutex = nullptr;
    bool was_free = false;
    Result<ChatReply> complete(const ChatRequest&) override {
      was_free = mutex->try_lock();
      if (was_free) mutex->unlock();
      return ChatReply{};
    }
  } client;
  client.mutex = &mutex;
  TimelyChat chat(client, real_host(), nullptr, 0);
  std::unique_lock lock(mutex);
  const LentLock lent(lock);
  REQUIRE(chat.complete({}));
  CHECK(client.was_free);
  CHECK(lock.owns_lock());
}

TEST_CASE("questions that do not wait for one another are open at once", "[threads]") {
  struct Meeting : ChatClient {
    std::mutex mutex;
    std::condition_variable come;
    int open = 0;
    TimelyChat* chat = nullptr;
    std::vector<OpenQuestions> seen;
    // Each waits until both are there.
    Result<ChatReply> complete(const ChatRequest& request) override {
      std::unique_lock lock(mutex);
      if (++open == 2) seen = chat->open();
      come.notify_all();
      const bool met = come.wait_for(lock, std::chrono::seconds(20), [&] { return open == 2; });
      if (!met || request.key == "lost") return Error{ErrorCode::endpoint, request.key, ""};
      ChatReply reply;
      reply.text = request.key;
      return reply;
    }
  } client;
  TimelyChat chat(client, real_host(), nullptr, 0);
  client.chat = &chat;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  const LentLock lent(lock);
  ChatRequest first, second;
  first.agent = second.agent = "strategist";
  first.key = "first";
  second.key = "lost";
  const auto replies = chat.complete_all({first, second});
  CHECK(lock.owns_lock());
  REQUIRE(replies.size() == 2);
  REQUIRE(replies[0]);
  CHECK(replies[0]->text == "first");
  REQUIRE_FALSE(replies[1]);
  CHECK(replies[1].error().message == "lost");
  REQUIRE(client.seen.size() == 1);
  CHECK(client.seen[0].agent == "strategist");
  CHECK(client.seen[0].count == 2);
  CHECK(chat.open().empty());
}

TEST_CASE("an observer hears of the questions that are open") {
  struct Hears : SearchObserver {
    void on_activity(const Activity& activity) override { open = activity.open; }
    std::vector<OpenQuestions> open;
  } observer;
  VirtualClock clock;
  Heartbeat heartbeat(clock, &observer, 0);
  heartbeat.tell("waiting", 0);
  CHECK(observer.open.empty());
  heartbeat.watch([] { return std::vector<OpenQuestions>{{"translator", 3, 12}}; });
  heartbeat.tell("waiting", 0);
  REQUIRE(observer.open.size() == 1);
  CHECK(observer.open[0].count == 3);
}
