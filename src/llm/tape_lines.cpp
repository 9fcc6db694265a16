#include "llm/tape_lines.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include <fmt/core.h>

#include "base/hash.hpp"
#include "base/json.hpp"

namespace cupilot {
namespace {

using Json = OrderedJson;

constexpr std::size_t long_text =
    512;  // bytes from which a message is written once and named by its digest
constexpr std::array<std::string_view, 3> role_names = {"system", "user", "assistant"};
constexpr std::array finishes = {ChatFinish::complete, ChatFinish::cut, ChatFinish::refused,
                                 ChatFinish::filtered, ChatFinish::invalid};

std::string digest_of(std::string_view text) { return sha256_hex(text).substr(0, 32); }

std::string line_of(const char* kind, Json value) {
  Json line;
  line[kind] = std::move(value);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json to_json(const ModelsSpent& spent) {
  Json json = {{"tokens", spent.tokens},
               {"calls", spent.calls},
               {"cost", spent.cost},
               {"seconds", spent.seconds}};
  if (spent.reserved_tokens > 0) json["reserved_tokens"] = spent.reserved_tokens;
  if (spent.reserved_cost > 0) json["reserved_cost"] = spent.reserved_cost;
  if (spent.reserved_seconds > 0) json["reserved_seconds"] = spent.reserved_seconds;
  return json;
}

Json to_json(const ChatUsage& usage) {
  return {{"input_tokens", usage.input_tokens},
          {"cached_tokens", usage.cached_tokens},
          {"output_tokens", usage.output_tokens},
          {"cost", usage.cost},
          {"estimated", usage.estimated}};
}

Json to_json(const ChatReply& reply) {
  Json json = {
      {"finish", name_of(reply.finish)}, {"text", reply.text},         {"model", reply.model},
      {"usage", to_json(reply.usage)},   {"attempts", reply.attempts}, {"seconds", reply.seconds}};
  if (!reply.by.empty()) json["by"] = reply.by;
  return json;
}

Json to_json(const Error& error) {
  return {{"code", static_cast<int>(error.code)}, {"message", error.message}, {"next", error.hint}};
}

ModelsSpent spent_from(const Json& json) {
  ModelsSpent spent;
  spent.tokens = json.value("tokens", std::int64_t{0});
  spent.calls = json.value("calls", std::int64_t{0});
  spent.cost = json.value("cost", 0.0);
  spent.seconds = json.value("seconds", 0.0);
  spent.reserved_tokens = json.value("reserved_tokens", std::int64_t{0});
  spent.reserved_cost = json.value("reserved_cost", 0.0);
  spent.reserved_seconds = json.value("reserved_seconds", 0.0);
  if (spent.reserved_tokens < 0 || spent.reserved_cost < 0 || spent.reserved_seconds < 0 ||
      spent.tokens < 0 || spent.calls < 0 || spent.cost < 0 || spent.seconds < 0)
    throw std::invalid_argument("spends less than nothing");
  return spent;
}

ChatReply reply_from(const Json& json) {
  ChatReply reply;
  const std::string finish = json.value("finish", std::string("complete"));
  const auto known = std::find_if(finishes.begin(), finishes.end(),
                                  [&](ChatFinish f) { return name_of(f) == finish; });
  if (known == finishes.end()) throw std::invalid_argument("unknown finish \"" + finish + "\"");
  reply.finish = *known;
  reply.text = json.at("text").get<std::string>();
  reply.model = json.value("model", std::string());
  reply.by = json.value("by", std::string());
  reply.attempts = json.value("attempts", 1);
  reply.seconds = json.value("seconds", 0.0);
  const Json usage = json.value("usage", Json::object());
  reply.usage.input_tokens = usage.value("input_tokens", std::int64_t{0});
  reply.usage.cached_tokens = usage.value("cached_tokens", std::int64_t{0});
  reply.usage.output_tokens = usage.value("output_tokens", std::int64_t{0});
  reply.usage.cost = usage.value("cost", 0.0);
  reply.usage.estimated = usage.value("estimated", false);
  return reply;
}

// A damaged tape may say any number: the most there is, rather than none.
template <class Count>
Count sum_within_range(Count a, Count b) {
  Count sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<Count>::max() : sum;
}

// Reads one file: what a line means depends on those before it.
struct Reader {
  TapeLines lines;
  std::map<std::string, std::string> texts;

  void read(const Json& line) {
    const std::string kind = line.items().begin().key();
    const Json& value = line.begin().value();
    if (kind == "cupilot_tape") return header(line);
    if (kind == "text")
      texts[value.at("digest").get<std::string>()] = value.at("text").get<std::string>();
    if (kind == "reservation") reserve(value);
    if (kind == "exchange") exchange(value);
    if (kind != "text" && kind != "reservation" && kind != "exchange")
      throw std::invalid_argument("unknown kind \"" + kind + "\"");
  }

  void header(const Json& line) {
    const int format = line.at("cupilot_tape").get<int>();
    if (format != tape_format)
      throw std::invalid_argument(
          fmt::format("format {}, this program reads {}", format, tape_format));
    lines.note = line.value("note", std::string());
    lines.parallel =
        static_cast<int>(std::clamp<std::int64_t>(line.value("parallel", std::int64_t{0}), 0, 256));
  }

  void reserve(const Json& value) {
    ModelsSpent amount = spent_from(value);
    amount.unsettled = 1;
    amount.reserved_tokens = amount.tokens;
    amount.reserved_cost = amount.cost;
    amount.reserved_seconds = amount.seconds;
    add_spent(lines.open[value.at("key").get<std::string>()], amount);
  }

  void exchange(const Json& value) {
    TapeQuestion question;
    TapeEntry& entry = question.entry;
    entry.key = value.at("key").get<std::string>();
    entry.agent = value.value("agent", std::string());
    question.digest = value.value("question", std::string());
    for (const Json& message : value.value("messages", Json::array()))
      entry.messages.push_back(message_from(message));
    entry.schema = value.value("schema", std::string());
    if (value.contains("error")) {
      const Json& error = value.at("error");
      entry.error =
          Error{static_cast<ErrorCode>(std::clamp(error.at("code").get<int>(), 1, 8)),
                error.at("message").get<std::string>(), error.value("next", std::string())};
    } else {
      entry.reply = reply_from(value.at("reply"));
    }
    if (value.contains("spent")) entry.spent = spent_from(value.at("spent"));
    add_spent(lines.spent, entry.spent);
    lines.open.erase(entry.key);
    lines.questions.push_back(std::move(question));
  }

  ChatMessage message_from(const Json& json) const {
    const std::string role = json.at("role").get<std::string>();
    const auto known = std::find(role_names.begin(), role_names.end(), role);
    if (known == role_names.end()) throw std::invalid_argument("unknown role \"" + role + "\"");
    ChatMessage message{static_cast<ChatMessage::Role>(known - role_names.begin()), {}};
    if (!json.contains("digest")) {
      message.text = json.at("text").get<std::string>();
      return message;
    }
    const auto text = texts.find(json.at("digest").get<std::string>());
    if (text == texts.end())
      throw std::invalid_argument("a message names a text that stands on no earlier line");
    message.text = text->second;
    return message;
  }

  TapeLines finish() {
    for (const auto& [key, amount] : lines.open) add_spent(lines.spent, amount);
    for (const auto& [digest, text] : texts) lines.texts.insert(digest);
    return std::move(lines);
  }
};

// True if the last append begins here, of which a crash kept some pages and lost others:
// those read as zeros, which no whole line holds. An append is a reservation, or long messages and
// their exchange, and is synced before the next one: behind the first broken line stand long
// messages and at most one exchange, the last of all. Anything else is damage.
bool is_last_append(std::string_view rest) {
  std::size_t begin = rest.find('\n') + 1;
  if (rest.substr(0, begin).find('\0') == std::string_view::npos) return false;
  for (std::size_t end; (end = rest.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    const std::string_view line = rest.substr(begin, end - begin);
    const bool last = end + 1 == rest.size();
    const bool lost = line.find('\0') != std::string_view::npos;
    if (!lost && !line.starts_with("{\"text\":") && !(last && line.starts_with("{\"exchange\":")))
      return false;
  }
  return true;
}

}  // namespace

std::string question_digest(const ChatRequest& request) {
  Json json = Json::array();
  for (const ChatMessage& message : request.messages)
    json.push_back({role_names[static_cast<int>(message.role)], message.text});
  json.push_back(request.schema);
  json.push_back(request.output_tokens);
  return digest_of(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void add_spent(ModelsSpent& sum, const ModelsSpent& more) {
  sum.tokens = sum_within_range(sum.tokens, more.tokens);
  sum.calls = sum_within_range(sum.calls, more.calls);
  sum.cost += more.cost;
  sum.seconds += more.seconds;
  sum.unsettled += more.unsettled;
  sum.reserved_tokens = sum_within_range(sum.reserved_tokens, more.reserved_tokens);
  sum.reserved_cost += more.reserved_cost;
  sum.reserved_seconds += more.reserved_seconds;
}

std::string tape_header_line(const std::string& note, int parallel) {
  Json line = {{"cupilot_tape", tape_format}};
  if (!note.empty()) line["note"] = note;
  if (parallel > 0) line["parallel"] = parallel;
  return line.dump() + "\n";
}

std::string reservation_line(const std::string& key, const ModelsSpent& amount) {
  Json value = {{"key", key}};
  value.update(to_json(amount));
  return line_of("reservation", std::move(value));
}

std::string exchange_lines(const ChatRequest& request, const Result<ChatReply>& answer,
                           const ModelsSpent& spent, std::set<std::string>& texts) {
  std::string lines;
  Json value = {
      {"key", request.key}, {"agent", request.agent}, {"question", question_digest(request)}};
  Json messages = Json::array();
  for (const ChatMessage& message : request.messages) {
    Json one = {{"role", role_names[static_cast<int>(message.role)]}};
    if (message.text.size() < long_text) {
      one["text"] = message.text;
    } else {
      const std::string digest = digest_of(message.text);
      if (texts.insert(digest).second)
        lines += line_of("text", {{"digest", digest}, {"text", message.text}});
      one["digest"] = digest;
    }
    messages.push_back(std::move(one));
  }
  value["messages"] = std::move(messages);
  if (!request.schema.empty()) value["schema"] = request.schema;
  if (answer) {
    value["reply"] = to_json(*answer);
  } else {
    value["error"] = to_json(answer.error());
  }
  value["spent"] = to_json(spent);
  return lines + line_of("exchange", std::move(value));
}

Result<TapeLines> tape_lines_from(std::string_view text, const std::string& origin) {
  Reader reader;
  std::size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;
    try {
      const Json line = Json::parse(text.substr(begin, end - begin));
      if (!line.is_object() || line.empty()) throw std::invalid_argument("not a JSON object");
      if (number == 1 && !line.contains("cupilot_tape"))
        throw std::invalid_argument("the first line is no tape's header");
      reader.read(line);
    } catch (const std::exception& error) {
      if (is_last_append(text.substr(begin))) break;
      return Error{ErrorCode::usage, fmt::format("{}: line {}: {}", origin, number, error.what()),
                   "give the version of cupilot that wrote it, or correct the line "
                   "(docs/formats/tape.md)"};
    }
    begin = end + 1;
  }
  TapeLines lines = reader.finish();
  lines.valid_bytes = begin;
  lines.torn = begin < text.size();
  return lines;
}

}  // namespace cupilot
