// Questions as files of a folder, answers as files beside them (docs/models.md).
#include "llm/handoff.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/core.h>

#include <cupilot/parts/models.hpp>

#include "llm/answer_schema.hpp"
#include "llm/tape.hpp"

namespace cupilot {
namespace {

constexpr double look_seconds = 0.1;   // between two looks for an answer
constexpr double whole_seconds = 0.5;  // an answer that did not change for so long is whole
constexpr std::size_t longest_answer = 1u << 20;
constexpr std::size_t digest_shown = 8;
constexpr double bytes_a_token = 3.5;

std::string_view role_name(ChatMessage::Role role) {
  constexpr std::string_view names[] = {"system", "user", "assistant"};
  return names[static_cast<int>(role)];
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::int64_t tokens_of(std::size_t bytes) {
  return static_cast<std::int64_t>(static_cast<double>(bytes) / bytes_a_token) + 1;
}

class HandoffClient : public ChatClient {
 public:
  HandoffClient(HandoffOptions options, Host& host) : options_(std::move(options)), host_(host) {}

  Result<ChatReply> complete(const ChatRequest& request) override {
    const double began = host_.monotonic_seconds();
    const HandoffFiles files = handoff_files(request);
    const std::string question = options_.folder + "/" + files.question;
    if (!host_.exists(question)) {
      auto written = host_.write_file_atomically(question, handoff_text(request), false);
      if (!written) return std::move(written.error()).while_doing("writing a question");
    }
    if (options_.notice) options_.notice("a question waits for its answer: " + question);
    auto text = wait_for(request, options_.folder + "/" + files.answer, began);
    if (!text) return text.error();
    return reply_to(request, std::move(*text), host_.monotonic_seconds() - began);
  }

  ModelsSpent bill(const std::string& key) {
    const std::lock_guard hold(mutex_);
    const auto found = bills_.extract(key);
    return found ? found.mapped() : ModelsSpent{};
  }

 private:
  Result<std::string> wait_for(const ChatRequest& request, const std::string& path, double began) {
    std::string seen;
    double since = 0;
    while (true) {
      const double now = host_.monotonic_seconds();
      auto text = host_.exists(path) ? host_.read_part(path, 0, longest_answer + 1)
                                     : Result<std::string>(std::string());
      if (text && text->size() > longest_answer)
        return Error{ErrorCode::endpoint,
                     fmt::format("{} is longer than {} bytes", path, longest_answer),
                     "write the answer alone"};
      if (text && !is_blank(*text)) {
        if (*text != seen) {
          seen = std::move(*text);
          since = now;
        } else if (now - since >= whole_seconds) {
          return seen;
        }
      }
      if (request.cancel != nullptr && request.cancel->load())
        return Error{ErrorCode::endpoint, "nobody answered \"" + request.key + "\" yet",
                     "write " + path + " and resume the run"};
      if (request.seconds > 0 && now - began >= request.seconds)
        return Error{
            ErrorCode::endpoint,
            fmt::format("nobody answered \"{}\" within {:.0f} s", request.key, request.seconds),
            "write " + path + " sooner, or allow more seconds"};
      std::this_thread::sleep_for(std::chrono::duration<double>(look_seconds));
    }
  }

  Result<ChatReply> reply_to(const ChatRequest& request, std::string text, double seconds) {
    ChatReply reply;
    reply.model = "handoff";
    reply.seconds = seconds;
    std::size_t bytes = request.schema.size();
    for (const ChatMessage& message : request.messages) bytes += message.text.size();
    reply.usage = {tokens_of(bytes), 0, tokens_of(text.size()), 0, true};
    if (!request.schema.empty()) {
      const auto schema = AnswerSchema::from(request.schema);
      if (!schema) return schema.error();
      // The asker tells a person more about a wrong object than a schema does.
      AnswerSchema::Checked checked = schema->check(text);
      if (!checked.object.empty()) text = std::move(checked.object);
    }
    reply.text = std::move(text);
    const std::lock_guard hold(mutex_);
    bills_[request.key] = {reply.usage.input_tokens + reply.usage.output_tokens, 1, 0, seconds};
    return reply;
  }

  HandoffOptions options_;
  Host& host_;
  std::mutex mutex_;
  std::map<std::string, ModelsSpent> bills_;
};

}  // namespace

HandoffFiles handoff_files(const ChatRequest& request) {
  std::string name;
  for (const char c : request.key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '-';
  }
  name += "-" + question_digest(request).substr(0, digest_shown);
  return {name + ".question.md", name + ".answer.md"};
}

std::string handoff_text(const ChatRequest& request) {
  std::string text = fmt::format(
      "To answer, write the whole answer and nothing else to the file {} in this folder ({}).\n",
      handoff_files(request).answer,
      request.schema.empty() ? "text in the form that is asked for below"
                             : "one JSON object that fits the schema at the end");
  for (const ChatMessage& message : request.messages)
    text += fmt::format("\n----- {} -----\n\n{}\n", role_name(message.role), message.text);
  if (!request.schema.empty())
    text += "\n----- JSON schema of the answer -----\n\n" + request.schema + "\n";
  return text;
}

Result<std::unique_ptr<ChatClient>> open_handoff(const HandoffOptions& options) {
  Host& host = options.host != nullptr ? *options.host : real_host();
  if (auto made = host.make_directories(options.folder); !made)
    return std::move(made.error()).while_doing("making the folder of questions");
  auto opened = Tape::open(host, options.tape, options.parallel);
  if (!opened) return opened.error();
  std::shared_ptr<Tape> tape = std::move(*opened);
  auto live = std::make_unique<HandoffClient>(options, host);
  HandoffClient* client = live.get();
  return std::unique_ptr<ChatClient>(std::make_unique<TapedClient>(
      tape, std::move(live), [client](const std::string& key) { return client->bill(key); }));
}

}  // namespace cupilot
