// The program and models: plans, replays, and what is wrong with a models file.
#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"

using support::run;

namespace {

const std::string models = R"({"endpoints": [{"name": "e", "url": "http://127.0.0.1:1"}],
  "models": [{"name": "m", "endpoint": "e", "model": "large", "price": {"input": 3, "output": 15}}],
  "roles": {"*": "m"}, "budget": {"tokens": 5000}})";

}  // namespace

TEST_CASE("plan says what a run with models would ask, and asks nobody", "[cli]") {
  const support::Scratch scratch;
  scratch.file("models.json", models);
  const auto plan =
      run("plan gemm m=64 n=64 k=64 --models models.json --evaluations 40 --json", scratch);
  REQUIRE(plan.exit == 0);
  const auto json = nlohmann::json::parse(plan.out);
  CHECK(json["priced"] == true);
  CHECK(json["least"]["calls"] == 1);
  CHECK(json["most"]["calls"] == 8 + 20 + 12 + 20);  // a repair takes a slot of its own
  CHECK(json["most"]["cost"].get<double>() > json["least"]["cost"].get<double>());
  // No answer and no prompt is longer than it is said to be.
  double tokens = 0;
  for (const auto& agent : json["agents"])
    tokens += agent["most"].get<double>() *
              (agent["prompt_tokens"].get<double>() + agent["answer_tokens"].get<double>());
  CHECK(json["most"]["tokens"].get<double>() <= tokens);
  CHECK(json["most"]["tokens"].get<double>() >= 0.75 * tokens);
  for (const auto& agent : json["agents"]) {
    INFO(agent.dump());
    CHECK(agent["prompt_tokens"].get<int>() > 500);
    CHECK(agent["prompt_tokens"].get<int>() <= 12000);
    CHECK((agent["kept_tokens"].get<int>() > 0) == (agent["agent"] != "aligner"));
  }
  const std::string said = run("plan gemm m=64 n=64 k=64 --models models.json", scratch).out;
  CHECK(said.find("the budget of tokens may end") != std::string::npos);
  // 16384 tokens of an answer alone are more.
  for (const char* agent : {"strategist", "translator", "reviser", "aligner"})
    CHECK(said.find("the budget of 5000 tokens holds no question of the " + std::string(agent)) !=
          std::string::npos);
  CHECK(said.find("in a models file") != std::string::npos);
  // A handoff has no file that could say how long anybody thinks.
  CHECK(run("plan gemm m=64 n=64 k=64 --models handoff:questions", scratch)
            .out.find("taken not to think") == std::string::npos);
}

TEST_CASE("a model that did not answer has no part in what others found", "[cli][search]") {
  const support::Scratch scratch;
  scratch.file("nobody.json", R"({"endpoints": [{"name": "e", "url": "http://127.0.0.1:1",
    "retries": 0}], "models": [{"name": "m", "endpoint": "e", "model": "large"}],
    "roles": {"*": "m"}})");
  REQUIRE(run("evolve gemm m=16 n=16 k=16 --device virtual:h200 --evaluations 4 --run run "
              "--models nobody.json",
              scratch)
              .exit == 0);
  const auto row = [&](const std::string& answer) {
    std::string tape = "{\"cupilot_tape\": 1}\n";
    for (int slot = 0; slot < 8; ++slot)
      tape += "{\"exchange\": {\"key\": \"slot " + std::to_string(slot) +
              "/strategy/0\", \"agent\": \"strategist\", " + answer +
              ", \"spent\": {\"calls\": 1}}}\n";
    scratch.file("run/tape.jsonl", tape);
    const auto json = nlohmann::json::parse(run("report run --json", scratch).out)["models"];
    REQUIRE(json["agents"].size() == 1);
    return json["agents"][0];
  };
  CHECK(row(R"("reply": {"text": "{}", "model": "m"})")["improved"] > 0);
  CHECK(row(R"("error": {"code": 5, "message": "silence"})")["improved"] == 0);
  CHECK(row(R"("reply": {"text": "", "finish": "refused", "model": "m"})")["improved"] == 0);
}

TEST_CASE("what a strategist proposed for later slots counts as its own", "[cli][search]") {
  const support::Scratch scratch;
  const auto strategy = [](int unroll) {
    return R"({\"techniques\": [{\"name\": \"unroll\", \"settings\": [{\"name\": \"unroll_k\", \"value\": )" +
           std::to_string(unroll) + R"(}], \"text\": \"\"}], \"rationale\": \"fewer turns: )" +
           std::to_string(unroll) + R"(\"})";
  };
  // The answer fills both slots.
  const auto line = [&](const char* key, int one, int other) {
    return std::string(R"({"exchange": {"key": ")") + key +
           R"(", "agent": "strategist", "reply": {"model": "large", "text": "{\"strategies\": [)" +
           strategy(one) + ", " + strategy(other) + R"(]}"}}})" + "\n";
  };
  scratch.file("tape.jsonl", "{\"cupilot_tape\": 1}\n" + line("initial/0", 2, 4));
  const auto ran =
      run("evolve gemm m=16 n=16 k=64 --device virtual:h200 --evaluations 2 --run run "
          "--tape tape.jsonl --model-share 1",
          scratch);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == 0);
  const auto json = nlohmann::json::parse(run("report run --json", scratch).out)["models"];
  INFO(json.dump());
  CHECK(json["improvements"] >= 1);
  REQUIRE(json["agents"].size() == 1);
  CHECK(json["agents"][0]["improved"] == json["improvements"]);
  CHECK(json["models"][0]["improved"] == json["improvements"]);
  // It replays, unless its questions were other ones, or its tape is gone.
  const auto replayed = run("replay run", scratch);
  CHECK(replayed.exit == 0);
  CHECK(replayed.out.find("2 proposals, 2 as the run made them") != std::string::npos);
  std::string tape = support::slurp(scratch.path / "run/tape.jsonl");
  const std::string begin = "{\"exchange\": {";
  tape.insert(tape.find(begin) + begin.size(), "\"question\": \"00\", ");
  scratch.file("run/tape.jsonl", tape);
  const auto older = run("replay run", scratch);
  INFO(older.out << older.err);
  CHECK(older.exit == 2);
  CHECK(older.err.find("\"initial/0\": the tape's answer to it is of another question") !=
        std::string::npos);
  CHECK(run("replay run --policy rules", scratch).exit == 0);
  CHECK(run("replay run --seed 5", scratch).exit == 0);
  std::filesystem::remove(scratch.path / "run/tape.jsonl");
  CHECK(run("replay run", scratch).err.find("its tape.jsonl is gone") != std::string::npos);
}

TEST_CASE("a run that ends in an error tells its models' part", "[cli][search]") {
  const support::Scratch scratch;
  const std::string task = std::string("evolve ") + CUPILOT_SOURCE_DIR +
                           "/examples/gated_norm_tape/task.json --device virtual:h200 "
                           "--evaluations 1 ";
  scratch.file("nobody.json", R"({"endpoints": [{"name": "e", "url": "http://127.0.0.1:1",
    "retries": 0}], "models": [{"name": "m", "endpoint": "e", "model": "large"}],
    "roles": {"*": "m"}})");
  const auto silent = run(task + "--run silent --models nobody.json", scratch);
  INFO(silent.out << silent.err);
  CHECK(silent.exit == 5);
  CHECK(silent.out.find("models: 1 exchange, 1 of them failed") != std::string::npos);
  CHECK(silent.out.find("questions: silent/questions.html") != std::string::npos);
  CHECK(silent.err.find("`cupilot resume silent` with the same --models") != std::string::npos);
  scratch.file("poor.json", R"({"endpoints": [{"name": "e", "url": "http://127.0.0.1:1"}],
    "models": [{"name": "m", "endpoint": "e", "model": "large"}], "roles": {"*": "m"},
    "budget": {"tokens": 5}})");
  const auto poor = run(task + "--run poor --models poor.json", scratch);
  INFO(poor.err);
  CHECK(poor.exit == 6);
  CHECK(poor.err.find("raise budget.tokens in the models file; then `cupilot resume poor`") !=
        std::string::npos);
  std::string tape = "{\"cupilot_tape\": 1}\n";
  for (const char* key : {"initial", "slot 0/strategy", "slot 0/write"}) {
    for (const char* again : {"/0", "/1"})
      tape += std::string(R"({"exchange": {"key": ")") + key + again +
              R"(", "agent": "writer", "reply": {"text": "I would rather not."}}})" + "\n";
  }
  scratch.file("tape.jsonl", tape);
  const auto unread = run(task + "--run unread --tape tape.jsonl", scratch);
  INFO(unread.out << unread.err);
  CHECK(unread.out.find("write.unreadable") != std::string::npos);
  CHECK(unread.out.find("models: 6 exchanges") != std::string::npos);
  CHECK(unread.err.find("name another model") != std::string::npos);
  CHECK(unread.err.find("give a tunable") == std::string::npos);
  CHECK(unread.err.find("cupilot resume") == std::string::npos);
}

TEST_CASE("plan counts what models and flags say of a run", "[cli]") {
  const support::Scratch scratch;
  const auto file_of = [](const std::string& model, const std::string& more) {
    return R"({"endpoints": [{"name": "e", "url": "http://127.0.0.1:1", "format": "messages"}],
      "models": [{"name": "m", "endpoint": "e", "model": "large")" +
           model + R"(}], "roles": {"*": "m"})" + more + "}";
  };
  scratch.file("plain.json", file_of("", ""));
  scratch.file("effort.json", file_of(R"(, "effort": "high")", ""));
  scratch.file("thinking.json", file_of(R"(, "thinking_tokens": 2000)", ""));
  scratch.file("parallel.json", file_of("", R"(, "parallel": 16)"));
  const std::string gemm = "gemm m=64 n=64 k=64";
  const auto planned = [&](const std::string& task, const std::string& file,
                           const std::string& flags = "") {
    const auto ran =
        run("plan " + task + " --evaluations 40 --json --models " + file + " " + flags, scratch);
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
    nlohmann::json json = nlohmann::json::parse(ran.out);
    for (const auto& row : json["agents"]) json[row["agent"].get<std::string>()] = row;
    return json;
  };
  const auto plain = planned(gemm, "plain.json"), effort = planned(gemm, "effort.json"),
             thinking = planned(gemm, "thinking.json"), parallel = planned(gemm, "parallel.json"),
             three = planned(gemm, "plain.json", "--strategies 7 --repairs 0");
  CHECK(plain["translator"]["answer_tokens"] == 4000);
  CHECK(effort["translator"]["answer_tokens"] == 12000);
  CHECK(thinking["translator"]["answer_tokens"] == 6000);
  CHECK(plain["translator"]["most"] == 20);
  CHECK(plain["reviser"]["most"] == 24);
  CHECK(plain["aligner"]["most"] == 20);
  CHECK(plain["strategist"]["most"] == 8);
  CHECK(three["strategist"]["most"] == 3);
  CHECK(three["reviser"]["most"] == 0);
  // Four kernels at once, or sixteen.
  CHECK(plain["most"]["seconds"] == (32 * 4000 + 20 * 100) / 50. / 4);
  CHECK(parallel["most"]["seconds"] == (32 * 4000 + 20 * 100) / 50. / 16);
  CHECK(plain["least"]["seconds"] == 800 / 50.);
  // A task without template belongs to the model.
  const auto alone =
      planned(CUPILOT_SOURCE_DIR "/examples/gated_norm_tape/task.json", "plain.json");
  CHECK(alone["generator"]["most"] == 40);
  CHECK(alone["strategist"]["most"] == 15);
}

TEST_CASE("a server is named by one line", "[cli]") {
  const support::Scratch scratch;
  struct Row {
    const char* words;
    const char* model;
    bool free;  // nobody is paid
  };
  for (const Row& row : {Row{"http://127.0.0.1:9#tiny", "tiny", true},
                         Row{"http://127.0.0.1:9/v1#tiny:7b", "tiny:7b", true},
                         Row{"http://127.0.0.1:9", "default", true},
                         Row{"https://models.example/v1#large", "large", false}}) {
    INFO(row.words);
    const auto ran =
        run("plan gemm m=64 n=64 k=64 --models '" + std::string(row.words) + "'", scratch);
    INFO(ran.out << ran.err);
    REQUIRE(ran.exit == 0);
    CHECK(ran.out.find("strategist  " + std::string(row.model) + " ") != std::string::npos);
    CHECK((ran.out.find("cost 0.00 to 0.00") != std::string::npos) == row.free);
    CHECK((ran.out.find("cost unknown") != std::string::npos) != row.free);
  }
}

TEST_CASE("a handoff stops without an answer and goes on with it", "[cli][search]") {
  const support::Scratch scratch;
  const auto files = [&](const std::string& ending) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path / "questions")) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(ending)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  const auto begun =
      run("evolve gemm m=16 n=16 k=16 --device virtual:h200 --evaluations 2 --model-share 1 "
          "--models handoff:questions --patience 1 --run run",
          scratch);
  INFO(begun.out << begun.err);
  CHECK(begun.exit == 5);
  REQUIRE(files(".question.md").size() == 1);
  const std::string question = files(".question.md")[0];
  CHECK(question.rfind("initial-0-", 0) == 0);
  CHECK(begun.out.find(question) != std::string::npos);
  scratch.file("questions/" + question.substr(0, question.find('.')) + ".answer.md",
               R"({"strategies": [{"techniques": [{"name": "free", "settings": [],
                  "text": "one thread an element"}], "rationale": "plain"}]})");
  const auto resumed = run("resume run --models handoff:questions --patience 1", scratch);
  INFO(resumed.out << resumed.err);
  CHECK(resumed.exit == 5);
  REQUIRE(files(".question.md").size() >= 2);
  CHECK(files(".question.md").back().find("-write-0-") != std::string::npos);
}

TEST_CASE("a run's page leads to the questions of each candidate of a model", "[cli][search]") {
  const support::Scratch scratch;
  const std::string example = CUPILOT_SOURCE_DIR "/examples/gated_norm_tape/";
  const auto ran =
      run("evolve " + example + "task.json --tape " + example +
              "tape.jsonl --model-share 1 --device virtual:h200 --evaluations 2 --run run",
          scratch);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == 0);
  CHECK(ran.out.find("questions: run/questions.html") != std::string::npos);
  const std::string page = support::slurp(scratch.path / "run/report.html"),
                    questions = support::slurp(scratch.path / "run/questions.html");
  const std::string link = "href=\"questions.html#";
  int links = 0;
  for (std::size_t at = page.find(link); at != std::string::npos; at = page.find(link, at + 1)) {
    const std::size_t begin = at + link.size();
    const std::string anchor = page.substr(begin, page.find('"', begin) - begin);
    INFO(anchor);
    CHECK(questions.find("id=\"" + anchor + "\"") != std::string::npos);
    ++links;
  }
  CHECK(links >= 3);  // the best kernel, and two candidates
  // Wide tables scroll by themselves, so that a narrow window shows the page whole.
  CHECK(questions.find("name=\"viewport\"") != std::string::npos);
  CHECK(questions.find("<pre class=\"table\">\nmodel ") != std::string::npos);
  CHECK(page.find(".wide { overflow-x: auto; }") != std::string::npos);
  // The same numbers by model and by agent, here, in `report` and in its page.
  for (const bool again : {false, true}) {
    if (again) REQUIRE(run("report run", scratch).exit == 0);
    const std::string now = support::slurp(scratch.path / "run/report.html");
    CHECK(now.find("<h2>Models</h2>\n<div "
                   "class=\"wide\">\n<table>\n<tr><th>model</th><th>questions</th>") !=
          std::string::npos);
    CHECK(now.find("<h2>Agents</h2>\n<div class=\"wide\">\n<table>\n<tr><th>agent</th>") !=
          std::string::npos);
  }
  const auto json = nlohmann::json::parse(run("report run --json", scratch).out)["models"];
  int asked = 0, accepted = 0;
  for (const auto& row : json["models"]) asked += row["questions"].get<int>();
  for (const auto& row : json["models"]) accepted += row["accepted"].get<int>();
  CHECK(asked == json["exchanges"]);
  CHECK(accepted == 2);
  CHECK(json["models"][0]["gain"].get<double>() >= 1);
}

TEST_CASE("what was only reserved is told apart from what was spent", "[cli][search]") {
  const support::Scratch scratch;
  const std::string example = CUPILOT_SOURCE_DIR "/examples/gated_norm_tape/";
  const auto ran = run("evolve " + example + "task.json --tape " + example +
                           "tape.jsonl --model-share 1 --device virtual:h200 --evaluations 1 "
                           "--run run",
                       scratch);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == 0);
  CHECK(ran.out.find("reserved") == std::string::npos);
  const std::string lost = R"({"exchange": {"key": "slot 90/write/0", "agent": "generator",
    "error": {"code": 6, "message": "the endpoint fell silent"}, "spent": {"tokens": 1300,
    "calls": 2, "cost": 0.75, "seconds": 70, "reserved_tokens": 1000, "reserved_cost": 0.5,
    "reserved_seconds": 60}}})";
  std::string line = lost;
  std::replace(line.begin(), line.end(), '\n', ' ');
  const std::string tape = support::slurp(scratch.path / "run/tape.jsonl");
  scratch.file("run/tape.jsonl", tape + line + "\n");
  const auto report = run("report run", scratch);
  INFO(report.out << report.err);
  CHECK(report.out.find("300 tokens in all, cost 0.25") != std::string::npos);
  CHECK(report.out.find("beside 1000 tokens, 0.5 that were only reserved") != std::string::npos);
  CHECK(report.out.find("10       1000, 0.5\n") != std::string::npos);
  CHECK(support::slurp(scratch.path / "run/questions.html")
            .find("300 tokens, 10 s, 1000 tokens reserved") != std::string::npos);
  const auto json = nlohmann::json::parse(run("report run --json", scratch).out);
  CHECK(json["models"]["tokens"] == 300);
  CHECK(json["models"]["reserved_tokens"] == 1000);
}

TEST_CASE("what is wrong with a models file ends in exit code 2 before anything is asked",
          "[cli]") {
  const support::Scratch scratch;
  scratch.file(
      "open.json",
      R"({"endpoints": [{"name": "e", "url": "https://x", "key": "sk-0123456789"}], "models": [], "roles": {}})");
  const auto with_roles = [&](const std::string& file, const std::string& roles) {
    scratch.file(file, R"({"endpoints": [{"name": "e", "url": "http://127.0.0.1:1"}],
      "models": [{"name": "m", "endpoint": "e", "model": "large"}], "roles": )" +
                           roles + "}");
  };
  // A slip in a role's name, and agents that nobody answers for.
  with_roles("slip.json", R"({"strategst": "m", "*": "m"})");
  with_roles("lacking.json", R"({"strategist": "m"})");
  for (const char* file : {"none.json", "open.json", "handoff:", "slip.json", "lacking.json"}) {
    for (const char* verb : {"plan", "evolve"}) {
      const auto wrong = run(std::string(verb) + " gemm m=64 n=64 k=64 --models " + file, scratch);
      INFO(wrong.err);
      CHECK(wrong.exit == 2);
      CHECK_FALSE(wrong.err.empty());
      CHECK((wrong.out + wrong.err).find("sk-0123456789") == std::string::npos);
    }
  }
  CHECK(run("replay none", scratch).exit == 2);
  CHECK(run("plan gemm m=64 n=64 k=64 --models slip.json", scratch).err.find("roles.strategst") !=
        std::string::npos);
  CHECK(run("plan gemm m=64 n=64 k=64 --models lacking.json", scratch)
            .err.find("no model answers for generator") != std::string::npos);
}
