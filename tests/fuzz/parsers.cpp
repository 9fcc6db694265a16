#include "fuzz/parsers.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cupilot/evolution.hpp>
#include <cupilot/expr.hpp>
#include <cupilot/gemm.hpp>
#include <cupilot/host.hpp>
#include <cupilot/models.hpp>
#include <cupilot/tunable.hpp>
#include <cupilot/wisdom.hpp>

#include "backend/compile_protocol.hpp"
#include "backend/frame.hpp"
#include "backend/landscape.hpp"
#include "base/record_file.hpp"
#include "endurance/short_run.hpp"
#include "evolution/evolution_text.hpp"
#include "evolution/run_state.hpp"
#include "kernel/python_expr.hpp"
#include "kernel/standalone.hpp"
#include "llm/codec.hpp"
#include "llm/event_stream.hpp"
#include "llm/tape_lines.hpp"
#include "llm/url.hpp"

namespace cupilot::fuzz {
namespace {

using Texts = std::vector<std::string>;

std::string file(const std::string& path) {
  auto text = real_host().read_file(CUPILOT_SOURCE_DIR "/" + path);
  return text ? *text : "";
}

std::string some_journal() {
  testing::ShortRun run(8);
  static_cast<void>(run.go_on());
  return run.journal();
}

Texts journals() { return {some_journal()}; }

bool takes_journal(const std::string& text) {
  const ReadRecords read = read_records(text);
  return !read.records.empty() && fold(read);
}

Texts payloads() {
  Texts all;
  for (const FramedRecord& record : read_records(some_journal()).records) all.push_back(record.payload);
  return all;
}

// A record whose checksum is right though its text is not: as any type.
bool takes_payload(const std::string& text) {
  const bool header = static_cast<bool>(header_from(text)), result = static_cast<bool>(result_from(text));
  const bool bare = static_cast<bool>(result_without_cases(text));
  const bool others[] = {static_cast<bool>(baselines_from(text)), static_cast<bool>(proposal_from(text)),
                         static_cast<bool>(decision_from(text)), static_cast<bool>(final_from(text)),
                         static_cast<bool>(end_from(text))};
  comparable_record(4, text);
  return header || result || bare || others[0] || others[1] || others[2] || others[3] || others[4];
}

Texts tasks() { return {*task_to_json(*gemm_task({})), *task_to_json(landscape_task()), file("tests/data/softmax/task.json")}; }
bool takes_task(const std::string& text) {
  const auto task = task_from_json(text, "fuzz");
  return task && validate(*task);
}

Texts tunables() { return {file("tests/data/softmax/softmax_tunable.cu"), file("kernels/templates/gemm_simt.cu")}; }
bool takes_tunable(const std::string& text) { return static_cast<bool>(parse_tunable(text, "fuzz.cu")); }

Texts expressions() {
  return {"cdiv(m, TILE_M) * min(n, 4)", "a % 2 == 0 and (b > 3 or not c)", "TILE_M if x in [1, 2, 4] else max(1, -y)",
          "1 << 20 >> 3"};
}
bool takes_expression(const std::string& text) {
  const ExprScope scope = scope_of({{"m", 7}, {"n", -3}, {"TILE_M", 64}, {"x", 0}});
  const bool value = std::holds_alternative<std::int64_t>(evaluate(Expr(text), scope));
  return std::holds_alternative<Expr>(expr_from_python(text)) || value;
}

KernelSource some_source() {
  KernelSource source;
  source.text = "// a \"kernel\"\n";
  source.constants = {{"TILE", 8}};
  source.plan.launches = {{"main", "gemm", When::run, {"cdiv(m,8)"}, {256}}};
  return source;
}
Texts plans() { return {launch_plan_to_json(some_source().plan)}; }
bool takes_plan(const std::string& text) { return static_cast<bool>(launch_plan_from_json(text)); }
Texts standalones() { return {standalone_text(some_source(), {"gemm", "m=8"})}; }
bool takes_standalone(const std::string& text) { return static_cast<bool>(standalone_from(text, "fuzz.cu")); }

Texts strategies() { return {file("tests/data/strategy/example.json")}; }
bool takes_strategy(const std::string& text) { return static_cast<bool>(strategy_from_json(text)); }
Texts landscapes() { return {file("tests/data/landscapes/small.json"), file("bench/landscapes/nk.json")}; }
bool takes_landscape(const std::string& text) { return static_cast<bool>(landscape_from_json(text, "fuzz")); }

Texts frames() {
  CompileAnswer answer;
  answer.output.ptx = ".version 9.0";
  answer.output.lowered_names = {{"k<3>", "_Z1kILi3EEvv"}};
  return {std::string("CPLT\1\0\0\0\7\0\0\0\0\0\0\0\2\0\0\0", 20) + pack(answer), pack(answer)};
}
bool takes_frame(const std::string& text) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
  const std::string sent = text.substr(0, 60000);
  static_cast<void>(::send(ends[0], sent.data(), sent.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  ::close(ends[0]);
  const auto got = receive_frame(ends[1], deadline_in(1));
  ::close(ends[1]);
  const bool read = unpack_answer(text) || unpack_order(text) || unpack_hello(text);
  return std::holds_alternative<Frame>(got) || read;
}

Texts wisdoms() {
  WisdomEntry entry;
  entry.task = *gemm_task({.m = 8, .n = 8, .k = 8});
  entry.device = "virtual:h200";
  WisdomKernel kernel{"gemm_1", "abc", "plain"};
  kernel.source = some_source();
  kernel.image = {0x7f, 'E', 'L', 'F', 0};
  entry.kernels = {kernel};
  entry.shapes = {{entry.task.time_shapes[0], {4.25}, {{"plain", 9.5, Provenance::modelled}}}};
  return {wisdom_to_json({{entry}})};
}
bool takes_wisdom(const std::string& text) { return static_cast<bool>(wisdom_from_json(text, "fuzz")); }

Texts evolutions() {
  testing::ShortRun run(8);
  EvolutionRecord record;
  record.task = landscape_task();
  record.device = run.device.device();
  record.slots.resize(2);
  return {*to_json(record)};
}
bool takes_evolution(const std::string& text) { return static_cast<bool>(evolution_from(text)); }

Texts models() {
  return {
      R"({"currency": "USD", "endpoints": [{"name": "e", "url": "https://x.example/v1", "format": "messages", "key": {"env": "K"}}],
 "models": [{"name": "m", "endpoint": "e", "model": "large", "price": {"input": 3, "cached": 0.3, "output": 15}}],
 "roles": {"*": "m"}, "budget": {"tokens": 2000000, "cost": 5, "calls": 500, "seconds": 7200}})"};
}
bool takes_models(const std::string& text) { return static_cast<bool>(read_models(text, "fuzz")); }

Texts tapes() {
  ChatRequest request;
  request.key = "slot 3/write/0";
  request.agent = "generator";
  std::set<std::string> texts;
  return {tape_header_line("a note") + reservation_line("slot 3/write/0", {}) + exchange_lines(request, ChatReply{}, {}, texts)};
}
bool takes_tape(const std::string& text) { return static_cast<bool>(tape_lines_from(text, "fuzz")); }

// A reply whole and as a stream, in every wire format.
Texts replies() {
  return {
      R"({"id":"1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}})",
      R"({"type":"message","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}})",
      "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\ndata: [DONE]\n\n",
      "event: content_block_delta\r\ndata: "
      "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\r\n\r\n",
      R"({"error":{"type":"overloaded_error","code":"x","message":"max_tokens is too large"}})"};
}
bool takes_reply(const std::string& text) {
  bool taken = false;
  for (const Codec& codec : codecs()) {
    taken = codec.decode(text).closed || taken;
    WireReply sum;
    EventSplitter splitter;
    const auto add = [&](const StreamEvent& event) {
      codec.add(event, sum);
      return !sum.ended;
    };
    const std::size_t half = text.size() / 2;
    if (splitter.feed(std::string_view(text).substr(0, half), add)) splitter.feed(std::string_view(text).substr(half), add);
    taken = taken || sum.closed || sum.ended;
  }
  Unwanted unwanted;
  learn_unwanted(error_text(text), unwanted);
  without_reasoning(text);
  return taken;
}

Texts urls() { return {"https://models.example.com:8443/v1/chat", "http://[::1]:8080", "http://127.0.0.1"}; }
bool takes_url(const std::string& text) { return static_cast<bool>(parse_url(text)); }

constexpr Target all[] = {{"journal", journals, takes_journal},
                          {"journal record", payloads, takes_payload},
                          {"task", tasks, takes_task},
                          {"tunable", tunables, takes_tunable},
                          {"expression", expressions, takes_expression},
                          {"launch plan", plans, takes_plan},
                          {"standalone kernel", standalones, takes_standalone},
                          {"strategy", strategies, takes_strategy},
                          {"landscape", landscapes, takes_landscape},
                          {"worker frame", frames, takes_frame},
                          {"wisdom", wisdoms, takes_wisdom},
                          {"evolution", evolutions, takes_evolution},
                          {"models", models, takes_models},
                          {"tape", tapes, takes_tape},
                          {"reply", replies, takes_reply},
                          {"url", urls, takes_url}};

}  // namespace

std::span<const Target> targets() { return all; }

}  // namespace cupilot::fuzz
