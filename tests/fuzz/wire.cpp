// What other processes and endpoints send.
#include <sys/socket.h>
#include <unistd.h>

#include <cupilot/parts/models.hpp>

#include "backend/compile/protocol.hpp"
#include "backend/wire/frame.hpp"
#include "backend/wire/orders.hpp"
#include "backend/worker/probe.hpp"
#include "fuzz/parsers.hpp"
#include "llm/codec/event_stream.hpp"
#include "llm/codec/formats.hpp"
#include "llm/misbehaviours.hpp"
#include "llm/tape_lines.hpp"

namespace cupilot::fuzz {
namespace {

// What compile processes send, and what judges and runners do: a runner has had a stranger's kernel
// beside it.
Texts frames() {
  CompileAnswer answer;
  answer.output.ptx = ".version 9.0";
  answer.output.lowered_names = {{"k<3>", "_Z1kILi3EEvv"}};
  DeviceHello hello;
  hello.name = "a chip";
  RunAnswer run;
  CheckAnswer check;
  CountAnswer count;
  return {std::string("CPLT\1\0\0\0\7\0\0\0\0\0\0\0\2\0\0\0", 20) + pack(answer),
          pack(answer),
          pack(hello),
          pack(DeviceAnswer{}),
          pack(SeveralAnswer{{pack(PrepareAnswer{}), ""}}),
          pack(PrepareAnswer{}),
          pack(check),
          pack(run),
          pack(count),
          pack(SustainAnswer{}),
          pack(ProbeAnswer{}),
          pack(RepeatAnswer{}),
          pack(ReadAnswer{}),
          pack(CardConditions{}),
          pack(Probe{})};
}
// What `use` makes of all that reads the body of a frame.
template <class Use>
auto with_unpackers(Use use) {
  return use(unpack_answer, unpack_order, unpack_hello, unpack_device_hello, unpack_device_answer,
             unpack_several_answer, unpack_prepare_answer, unpack_check_answer, unpack_run_answer,
             unpack_count_answer, unpack_sustain_answer, unpack_probe_answer, unpack_repeat_answer,
             unpack_read_answer, unpack_conditions, unpack_probe);
}
bool takes_frame(const std::string& text) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
  const std::string sent = text.substr(0, 60000);
  static_cast<void>(::send(ends[0], sent.data(), sent.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  ::close(ends[0]);
  const auto got = receive_frame(ends[1], deadline_in(1));
  ::close(ends[1]);
  const bool read = with_unpackers([&](auto... unpack) {
    return (static_cast<int>(static_cast<bool>(unpack(text))) + ...) > 0;
  });
  return std::holds_alternative<Frame>(got) || read;
}

std::string wrong_frame(const std::string& text) {
  std::string wrong;
  const auto look = [&](auto unpack) {
    if (wrong.empty())
      wrong = wrong_when_written(text, unpack, [](const auto& message) { return pack(message); });
  };
  with_unpackers([&](auto... unpack) { (look(unpack), ...); });
  return wrong;
}

Texts tapes() {
  ChatRequest request;
  request.key = "slot 3/write/0";
  request.agent = "generator";
  std::set<std::string> texts;
  return {tape_header_line("a note") + reservation_line("slot 3/write/0", {}) +
          exchange_lines(request, ChatReply{}, {}, texts)};
}
bool takes_tape(const std::string& text) {
  return static_cast<bool>(tape_lines_from(text, "fuzz"));
}

// A reply whole and as a stream, in every wire format.
Texts replies() {
  return {
      R"({"id":"1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}})",
      R"({"type":"message","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}})",
      "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\ndata: "
      "[DONE]\n\n",
      "event: content_block_delta\r\ndata: "
      "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}"
      "\r\n\r\n",
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
    if (splitter.feed(std::string_view(text).substr(0, half), add))
      splitter.feed(std::string_view(text).substr(half), add);
    taken = taken || sum.closed || sum.ended;
  }
  Unwanted unwanted;
  learn_unwanted(error_text(text), unwanted);
  without_reasoning(text);
  return taken;
}

// Bytes of an endpoint, through a socket and all that the client does with them.
testing::ScriptedEndpoint& endpoint() {
  static testing::ScriptedEndpoint one;
  return one;
}

Texts http_replies() {
  Texts all;
  for (const testing::Misbehaviour& row : testing::misbehaviours(endpoint())) {
    for (const testing::ScriptStep& step : row.steps) {
      if (step.then == testing::ScriptStep::Then::close && step.bytes.size() < 4000)
        all.push_back(step.bytes);
    }
  }
  all.emplace_back(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
      "40\r\ndata: "
      "{\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}"
      "\r\n2\r\n\n\n\r\n0\r\n\r\n");
  return all;
}

bool takes_http(const std::string& text) {
  endpoint().play({{text}}, text.size());
  ModelsConfig config;
  ModelEndpoint spec{
      .name = "e", .url = endpoint().url(), .format = text.size() % 2 == 0 ? "chat" : "messages"};
  spec.retries = 0;
  config.endpoints = {spec};
  config.models = {{.name = "m", .endpoint = "e", .model = "m", .stream = text.size() % 4 < 2}};
  config.roles = {{"*", "m"}};
  ModelOptions options;
  options.sleep = [](double) {};
  const auto client = open_models(config, options);
  ChatRequest request;
  request.agent = "fuzz";
  request.key = "k";
  request.messages = {{ChatMessage::Role::user, "hello"}};
  request.seconds = 5;
  return client && (*client)->complete(request);
}

constexpr Target all[] = {{"frame", frames, takes_frame, wrong_frame},
                          {"tape", tapes, takes_tape},
                          {"reply", replies, takes_reply},
                          {"HTTP reply", http_replies, takes_http}};

}  // namespace

std::span<const Target> wire_targets() { return all; }

}  // namespace cupilot::fuzz
