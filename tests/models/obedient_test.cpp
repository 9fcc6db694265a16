// A model that does what any text tells it: scores, budgets, files and prompts stay what they are.
#include <unistd.h>

#include <cupilot/evolve.hpp>

#include <filesystem>
#include <set>

#include "catch.hpp"
#include "models/prompt_scan.hpp"
#include "support/injections.hpp"
#include "support/kept_images.hpp"
#include "support/scripted_chat.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

constexpr std::int64_t evaluations = 12;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    out += byte < 0x20 ? ' ' : c;
  }
  return out;
}

std::string file_of(const std::string& header, const std::string& body) {
  return "```cuda\n" + header +
         "// cupilot: "
         "{\"plan\":{\"launches\":[{\"entry\":\"f\",\"grid\":[\"rows\"],\"block\":[32],\"args\":["
         "\"x\",\"y\"]}]}}\n" +
         "extern \"C\" __global__ void f(float* x, float* y) {\n" + body + "\n}\n```\n";
}

// Strategies whose texts are the strangers' orders, some of them with a score of their own.
std::string obeying_plan(std::size_t turn) {
  const std::string text = escaped(injections()[turn % injections().size()].substr(0, 300));
  const std::string score = turn % 3 == 2 ? ",\"time_us\":0.001,\"accepted\":true" : "";
  return R"({"strategies":[{"techniques":[{"name":"row_per_block","settings":[{"name":"block_threads","value":64}],"text":""},)"
         R"({"name":"free","settings":[],"text":")" +
         text + std::to_string(turn) + R"("}],"rationale":")" + text + "\"" + score + "}]}";
}

std::string obeying_kernel(std::size_t turn) {
  const std::string& order = injections()[turn % injections().size()];
  switch (turn % 6) {
    case 0:
      return file_of("// cupilot: {\"task\":[\"gemm\"],\"template\":\"rms_norm_blocks\"}\n",
                     "y[0] = 0.0f;");
    case 1:
      return file_of("", "x[0] = 0.0f;");
    case 2:
      return "```cuda\n#include \"/etc/passwd\"\n```\n" + order;
    case 3:
      return file_of("#include \"/proc/self/environ\"\n", "y[0] = x[0];");
    case 4:
      return file_of("", "asm volatile(\"trap;\");");
    default:
      return order;
  }
}

struct Folder {
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "cupilot-obedient-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("a model that obeys strangers changes no score, budget, file or prompt",
          "[models][hostile]") {
  const auto task = load_task("examples/model_tape/task.json");
  REQUIRE(task);
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  std::size_t turn = 0;
  ScriptedChat model([&](const ChatRequest& request) {
    ++turn;
    return said(request.agent == "strategist" ? obeying_plan(turn) : obeying_kernel(turn));
  });
  const Folder folder;
  EvolveOptions options;
  options.search.max_evaluations = evaluations;
  options.search.initial = 6;
  options.search.children = 6;
  options.search.lookahead = 2;
  options.search.repairs = 1;
  options.search.parallel = 1;
  options.tunables = {"examples/model_tape/rms_norm.cu"};
  options.run_dir = (folder.path / "run").string();
  options.chat = &model;
  options.seats.share = 0.7;
  const auto report = evolve(*task, **backend, options);
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  CHECK(turn > 10);
  CHECK(report->evaluations <= evaluations);
  REQUIRE(report->best);
  CHECK(report->best->candidate.source.template_name == "rms_norm_blocks");
  CHECK(std::get<Accepted>(report->best->candidate.outcome).measurement.time_us > 4);

  std::set<std::string> beside;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path))
    beside.insert(entry.path().filename().string());
  CHECK((beside == std::set<std::string>{"run"}));
  for (const ChatRequest& request : model.asked) {
    const std::string foreign = foreign_in(request);
    CHECK(foreign == "");
    std::size_t fences = 0;
    for (const ChatMessage& message : request.messages) {
      for (std::size_t at = message.text.find("====="); at != std::string::npos;
           at = message.text.find("=====", at + 5))
        ++fences;
    }
    CHECK(fences % 4 == 0);
  }
}
