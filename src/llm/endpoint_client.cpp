#include "llm/endpoint_client.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include <fmt/core.h>

#include "llm/codec/event_stream.hpp"

namespace cupilot {

// One question on its way: what was asked, and what was spent on it so far.
struct EndpointClient::Exchange {
  ChatRequest ask;
  Unwanted unwanted;
  double end;           // on the host's clock
  bool ends_by_budget;  // its seconds end it, not the asker's
  Rng rng;
  int attempts = 0, failures = 0;
  double failing_since = -1;    // on the host's clock; below 0: no request failed yet
  bool without_schema = false;  // tried after a refusal that names no reason
  ChatUsage usage{};
  std::int64_t output_tokens = 0;
};

// The answer to one request.
struct EndpointClient::Answer {
  WireReply completion;
  HeaderMap headers;
  int status = 0;
  ErrorText refusal;
  double seconds = 0;
};

namespace {

constexpr int most_reasks = 2;
constexpr double streams_last = 4;                    // times the silence that a stream may hold
constexpr double longest_exchange = 7 * 24 * 3600.0;  // seconds, where nothing else ends it
constexpr double slice = 0.05;      // seconds of sleep between two looks at the cancel flag
constexpr double long_silence = 2;  // seconds of repeated requests without a word
constexpr double slack = 0.5;       // seconds that a request may end before its exchange

// A token is a byte at least, so these many suffice; roles and the format's own words are allowed
// for.
std::int64_t most_input_tokens(const ChatRequest& ask) {
  std::size_t bytes = 256 + ask.schema.size();
  for (const ChatMessage& message : ask.messages) bytes += 16 + message.text.size();
  return static_cast<std::int64_t>(bytes);
}

bool is_cancelled(const ChatRequest& ask) { return ask.cancel != nullptr && ask.cancel->load(); }

bool believable(const ChatUsage& usage, std::int64_t most_input, std::int64_t most_output) {
  return usage.input_tokens >= 0 && usage.input_tokens <= most_input && usage.cached_tokens >= 0 &&
         usage.cached_tokens <= usage.input_tokens && usage.output_tokens >= 0 &&
         usage.output_tokens <= most_output;
}

ErrorText refusal_of(const HttpReply& reply) {
  ErrorText text = error_text(reply.body);
  if (text.message.empty()) text.message = reply.body;
  return text;
}

bool is_json(const std::map<std::string, std::string>& headers) {
  const auto type = headers.find("content-type");
  return type != headers.end() && type->second.find("json") != std::string::npos;
}

// A reply of status 200 that is no stream.
WireReply whole_reply(const Codec& codec, const HttpReply& reply) {
  if (is_json(reply.headers)) return codec.decode(reply.body);
  WireReply completion;
  completion.fault = EndpointFault::wrong_type;
  const auto type = reply.headers.find("content-type");
  completion.detail = type == reply.headers.end() ? "no content type" : type->second;
  return completion;
}

void conclude(WireReply& completion, bool streamed) {
  completion.text = without_reasoning(std::move(completion.text));
  if (completion.fault != EndpointFault::none) return;
  if (streamed && !completion.ended && !completion.closed) completion.fault = EndpointFault::cut;
  const bool blank = completion.text.find_first_not_of(" \t\r\n") == std::string::npos;
  if (completion.fault == EndpointFault::none && blank && completion.finish == ChatFinish::complete)
    completion.fault = EndpointFault::empty;
}

void ask_for_json(ChatRequest& ask) {
  ask.messages.push_back(
      {ChatMessage::Role::user,
       "Answer with one JSON object, nothing else, that fits this JSON schema:\n" + ask.schema});
}

void ask_again(ChatRequest& ask, const std::string& text, const std::string& wrong) {
  ask.messages.push_back({ChatMessage::Role::assistant, text.empty() ? "{}" : text});
  ask.messages.push_back(
      {ChatMessage::Role::user,
       "That does not fit the JSON schema: " + wrong +
           ". Answer again with the whole JSON object, mended, and nothing else."});
}

ChatReply reply_of(const WireReply& completion, std::string text, ChatFinish finish,
                   const ChatUsage& usage, int attempts) {
  ChatReply reply;
  reply.finish = finish;
  reply.text = std::move(text);
  reply.model = completion.model;
  reply.usage = usage;
  reply.attempts = attempts;
  return reply;
}

// True if the error says that the endpoint does not work, whatever is asked.
bool is_outage(const Error& error) {
  return error.code == ErrorCode::endpoint &&
         error.message.find(": bad_request: ") == std::string::npos &&
         error.message.find(": too_long: ") == std::string::npos;
}

}  // namespace

EndpointClient::EndpointClient(std::shared_ptr<OpenEndpoint> endpoint, ModelSpec model,
                               std::shared_ptr<CostBudget> budget, const ModelOptions& options,
                               HttpCarrier carry)
    : endpoint_(std::move(endpoint)),
      model_(std::move(model)),
      budget_(std::move(budget)),
      options_(options),
      carry_(std::move(carry)),
      host_(options.host != nullptr ? options.host : &real_host()) {}

Result<ChatReply> EndpointClient::complete(const ChatRequest& request) {
  if (const auto wait = endpoint_->breaker.admit(now()))
    return Error{ErrorCode::endpoint,
                 fmt::format("endpoint {} failed several times in a row and is left alone for "
                             "{:.0f} s more",
                             endpoint_->spec.name, *wait),
                 "check the endpoint; one question tries it again after that"};
  auto reply = complete_now(request);
  const bool silent =
      !reply && (is_cancelled(request) || reply.error().code != ErrorCode::endpoint);
  if (silent) {
    endpoint_->breaker.leave();
  } else {
    endpoint_->breaker.settle(!reply && is_outage(reply.error()), now());
  }
  return reply;
}

Result<ChatReply> EndpointClient::complete_now(const ChatRequest& request) {
  const double start = now();
  const double most = request.seconds > 0 ? request.seconds : longest_exchange;
  const double left = budget_->seconds_left();
  Exchange exchange{request,
                    {},
                    start + std::min(most, left),
                    left < most,
                    Rng::of(options_.seed, "model " + request.key)};
  exchange.output_tokens = request.output_tokens > 0
                               ? std::min(request.output_tokens, model_.output_tokens)
                               : model_.output_tokens;
  std::optional<AnswerSchema> schema;
  if (!request.schema.empty()) {
    auto parsed = AnswerSchema::from(request.schema);
    if (!parsed) return parsed.error();
    schema = std::move(*parsed);
  }
  for (int reasks = 0;; ++reasks) {
    auto answer = ask_whole(exchange);
    if (!answer) return answer.error();
    std::string text = endpoint_->key.scrub(answer->text);
    answer->model = endpoint_->key.scrub(excerpt(answer->model, 100));
    ChatFinish finish = answer->finish;
    AnswerSchema::Checked checked;
    if (schema && finish == ChatFinish::complete) {
      checked = schema->check(text);
      if (checked.wrong.empty()) text = checked.object;
      if (!checked.wrong.empty() && reasks == most_reasks) finish = ChatFinish::invalid;
    }
    if (checked.wrong.empty() || finish == ChatFinish::invalid) {
      ChatReply reply =
          reply_of(*answer, std::move(text), finish, exchange.usage, exchange.attempts);
      reply.seconds = now() - start;
      return reply;
    }
    ask_again(exchange.ask, text, checked.wrong);
  }
}

Result<WireReply> EndpointClient::ask_longer(Exchange& exchange) {
  const std::int64_t limit = exchange.output_tokens;
  exchange.output_tokens *= 2;
  auto longer = ask_until_answered(exchange);
  exchange.output_tokens = limit;
  return longer;
}

// Once more with twice the limit when the answer ended at it. Where that helped, later questions
// have it at once: their cut answers would be paid for nothing.
Result<WireReply> EndpointClient::ask_whole(Exchange& exchange) {
  bool at_once = false;
  {
    const std::lock_guard hold(mutex_);
    at_once = needs_longer_;
  }
  if (at_once) {
    auto longer = ask_longer(exchange);
    // A budget that does not hold so many may hold the usual ones, and a host may refuse so many
    // beside a long question.
    if (longer || is_outage(longer.error()) || is_cancelled(exchange.ask)) return longer;
  }
  auto answer = ask_until_answered(exchange);
  if (!answer || answer->finish != ChatFinish::cut) return answer;
  note_cut(exchange.output_tokens);
  auto longer = ask_longer(exchange);
  if (longer && longer->finish == ChatFinish::complete) {
    const std::lock_guard hold(mutex_);
    needs_longer_ = true;
  }
  // An endpoint that refuses so many, or a budget that does not hold them, leaves the cut one.
  return longer || is_cancelled(exchange.ask) ? longer : answer;
}

void EndpointClient::note_cut(std::int64_t limit) {
  {
    const std::lock_guard hold(mutex_);
    if (cut_noted_) return;
    cut_noted_ = true;
  }
  if (options_.notice)
    options_.notice(
        fmt::format("an answer of {} was cut at {} tokens and is asked for with twice as many: "
                    "thinking counts, raise output_tokens",
                    model_.model, limit));
}

// Tells why nothing comes, once for each fault until an answer comes.
void EndpointClient::note_repeat(const Exchange& exchange, const Answer& answer, double seconds) {
  const EndpointFault fault = answer.completion.fault;
  if (!options_.notice || now() + seconds - exchange.failing_since < long_silence) return;
  {
    const std::lock_guard hold(mutex_);
    if (noted_fault_ == fault) return;
    noted_fault_ = fault;
  }
  const Error failed = error(fault, answer.completion.detail, exchange.attempts);
  options_.notice(fmt::format("{}; the next one in {:.0f} s, {} at most: {}", failed.message,
                              std::max(1.0, seconds),
                              endpoint_->spec.retries + 1 - exchange.failures, failed.hint));
}

Result<WireReply> EndpointClient::ask_until_answered(Exchange& exchange) {
  for (;;) {
    auto answer = ask_once(exchange);
    if (!answer) return answer.error();
    if (answer->completion.fault == EndpointFault::none) {
      const std::lock_guard hold(mutex_);
      unwanted_.schema = unwanted_.schema || exchange.without_schema;
      noted_fault_ = EndpointFault::none;
      return std::move(answer->completion);
    }
    if (leave_out(exchange, *answer)) continue;
    const auto seconds = wait_after(exchange, *answer);
    if (!seconds) return seconds.error();
    note_repeat(exchange, *answer, *seconds);
    if (auto waited = wait(exchange, *seconds, answer->completion.fault); !waited)
      return waited.error();
  }
}

// Sets aside what a request may spend at most. Room in the budget may be waited for.
Result<ModelsSpent> EndpointClient::set_aside(const Exchange& exchange, const ChatUsage& most) {
  const double whole = model_.seconds * (model_.stream ? streams_last : 1);
  const auto wanted = [&] { return now() < exchange.end && !is_cancelled(exchange.ask); };
  for (;;) {
    if (is_cancelled(exchange.ask)) return error(EndpointFault::cancelled, "", exchange.attempts);
    const double left = budget_->seconds_left();
    const double seconds = std::min({exchange.end - now(), whole, left});
    if (seconds <= 0 && (exchange.ends_by_budget || left <= 0)) return budget_->no_seconds();
    if (seconds <= 0) return error(EndpointFault::deadline, "", exchange.attempts);
    const ModelsSpent amount{most.input_tokens + most.output_tokens, 1, cost(most), seconds};
    auto made = budget_->reserve(exchange.ask.key, amount, wanted);
    if (made) return amount;
    // Others may have spent some of the seconds meanwhile: with less it may fit.
    if (wanted() && budget_->seconds_left() >= left) return made.error();
  }
}

Result<EndpointClient::Answer> EndpointClient::ask_once(Exchange& exchange) {
  {
    const std::lock_guard hold(mutex_);
    Unwanted unwanted = unwanted_;
    unwanted.schema = unwanted.schema || exchange.without_schema;
    const bool newly = unwanted.schema && !exchange.unwanted.schema;
    exchange.unwanted = unwanted;
    if (newly && !exchange.ask.schema.empty()) ask_for_json(exchange.ask);
  }
  const ChatUsage most{most_input_tokens(exchange.ask), 0, exchange.output_tokens};
  const double begin = now();
  const double pause = endpoint_->pace->wait_for(
      begin, static_cast<double>(most.input_tokens + most.output_tokens), exchange.end - begin);
  if (auto waited = wait(exchange, pause, EndpointFault::rate_limit); !waited)
    return waited.error();
  const auto reserved = set_aside(exchange, most);
  if (!reserved) return reserved.error();
  ++exchange.attempts;
  Answer answer = send(exchange, reserved->seconds);
  budget_->settle(exchange.ask.key, *reserved, account(exchange, answer, *reserved));
  endpoint_->pace->learn(answer.headers, now(), utc_seconds(host_->utc_now()).value_or(0));
  return answer;
}

HttpRequest EndpointClient::wire_request(const Exchange& exchange, double seconds) const {
  const Codec& codec = *endpoint_->codec;
  HttpRequest request;
  request.tls = endpoint_->url.tls;
  request.host = endpoint_->url.host;
  request.port = endpoint_->url.port;
  request.path = endpoint_path(endpoint_->url.path, codec.path);
  request.headers = {{"Content-Type", "application/json"}, {"User-Agent", "cupilot"}};
  for (const auto& [name, value] : codec.headers) request.headers.emplace_back(name, value);
  for (const auto& [name, value] : endpoint_->spec.headers)
    request.headers.emplace_back(name, value);
  request.key_header = codec.key_header;
  request.key_prefix = codec.key_prefix;
  request.key = &endpoint_->key;
  request.body = codec.encode(
      {exchange.ask, model_, exchange.output_tokens, exchange.unwanted, endpoint_->spec.cache});
  request.proxy_host = endpoint_->proxy_host;
  request.proxy_port = endpoint_->proxy_port;
  request.ca_file = endpoint_->spec.ca_file;
  request.seconds = seconds;
  request.silence = model_.stream ? model_.seconds : 0;
  request.cancel = exchange.ask.cancel;
  return request;
}

EndpointClient::Answer EndpointClient::send(const Exchange& exchange, double seconds) const {
  const Codec& codec = *endpoint_->codec;
  Answer answer;
  WireReply& completion = answer.completion;
  EventSplitter splitter;
  HttpRequest request = wire_request(exchange, seconds);
  request.events = [&](std::string_view bytes) {
    return splitter.feed(bytes, [&](const StreamEvent& event) {
      codec.add(event, completion);
      return !completion.ended && completion.fault == EndpointFault::none;
    });
  };
  const double start = now();
  const HttpReply reply = carry_(request);
  answer.seconds = now() - start;
  answer.headers = reply.headers;
  answer.status = reply.status;
  // A reply whose stream had already closed is whole, however its connection ended.
  const bool closed = reply.fault == EndpointFault::cut && reply.streamed && completion.closed;
  if (reply.fault != EndpointFault::none && !closed) {
    completion.fault = reply.fault;
    completion.detail = reply.detail;
  } else if (reply.status != 200) {
    answer.refusal = refusal_of(reply);
    completion.fault = fault_of_status(reply.status, answer.refusal);
    completion.detail =
        fmt::format("status {} {} {}", reply.status, answer.refusal.type, answer.refusal.message);
  } else {
    if (!reply.streamed) completion = whole_reply(codec, reply);
    if (splitter.overflowed()) {
      completion.fault = EndpointFault::too_large;
      completion.detail = "an event beyond 4 MiB";
    }
    conclude(completion, reply.streamed);
  }
  return answer;
}

ModelsSpent EndpointClient::account(Exchange& exchange, const Answer& answer,
                                    const ModelsSpent& reserved) const {
  ModelsSpent spent{0, 1, 0, answer.seconds};
  const WireReply& completion = answer.completion;
  if (completion.fault != EndpointFault::none && !may_be_billed(completion.fault, answer.status))
    return spent;
  ChatUsage usage{reserved.tokens - exchange.output_tokens, 0, exchange.output_tokens, 0, true};
  const bool whole =
      completion.fault == EndpointFault::none || completion.fault == EndpointFault::empty;
  bool known = whole;
  if (whole && completion.usage &&
      believable(*completion.usage, usage.input_tokens, usage.output_tokens)) {
    usage = *completion.usage;
  } else if (whole && !completion.usage) {
    usage.output_tokens =
        std::min(usage.output_tokens, static_cast<std::int64_t>(completion.text.size()) + 16);
  } else {
    known = false;
  }
  usage.cost = cost(usage);
  exchange.usage.input_tokens += usage.input_tokens;
  exchange.usage.cached_tokens += usage.cached_tokens;
  exchange.usage.output_tokens += usage.output_tokens;
  exchange.usage.cost += usage.cost;
  exchange.usage.estimated = exchange.usage.estimated || usage.estimated;
  spent.tokens = usage.input_tokens + usage.output_tokens;
  spent.cost = usage.cost;
  if (!known) {
    spent.reserved_tokens = spent.tokens;
    spent.reserved_cost = spent.cost;
  }
  return spent;
}

// Returns the seconds to wait before the same request is sent again, or the reason not to send it.
Result<double> EndpointClient::wait_after(Exchange& exchange, const Answer& answer) const {
  const EndpointFault fault = answer.completion.fault;
  bool again = row_of(fault).retried;
  const auto told = answer.headers.find("x-should-retry");
  if (told != answer.headers.end() && answer.status >= 400 && fault != EndpointFault::quota &&
      fault != EndpointFault::unauthorized) {
    again = told->second == "true" || (again && told->second != "false");
  }
  Error failed = error(fault, answer.completion.detail, exchange.attempts);
  if (fault == EndpointFault::deadline && now() + slack >= exchange.end)
    failed.hint = exchange.ends_by_budget ? "raise budget.seconds in the models file"
                                          : "the asker's seconds ended: allow more";
  if (exchange.failing_since < 0) exchange.failing_since = now();
  if (!again || ++exchange.failures > endpoint_->spec.retries) return failed;
  const double backoff = backoff_seconds(exchange.failures, exchange.rng);
  const auto asked = retry_after(answer.headers, utc_seconds(host_->utc_now()).value_or(0));
  const double seconds = asked ? std::max(*asked, 0.0) : backoff;
  if (seconds > longest_wait || now() + seconds >= exchange.end) {
    Error late = failed;
    late.message += fmt::format(
        "; the next request may start in {:.0f} s, later than this one may take", seconds);
    return late;
  }
  return seconds;
}

Result<void> EndpointClient::wait(const Exchange& exchange, double seconds,
                                  EndpointFault why) const {
  if (seconds <= 0) return {};
  if (now() + seconds >= exchange.end)
    return error(why, fmt::format("a wait of {:.0f} s does not fit", seconds), exchange.attempts);
  if (options_.sleep) {
    options_.sleep(seconds);
    return {};
  }
  for (const double end = now() + seconds; now() < end;) {
    if (is_cancelled(exchange.ask)) return error(EndpointFault::cancelled, "", exchange.attempts);
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(slice, end - now())));
  }
  return {};
}

// After a 400 that names a part of the request which not every model takes. One that names none is
// tried once without its schema, for hosts word a refused schema in many ways.
bool EndpointClient::leave_out(Exchange& exchange, const Answer& answer) {
  if (answer.completion.fault != EndpointFault::bad_request) return false;
  const std::lock_guard hold(mutex_);
  if (learn_unwanted(answer.refusal, unwanted_)) return true;
  if (exchange.ask.schema.empty() || exchange.unwanted.schema) return false;
  exchange.without_schema = true;
  return true;
}

Error EndpointClient::error(EndpointFault fault, const std::string& detail, int attempts) const {
  const FaultRow& row = row_of(fault);
  const std::string said = endpoint_->key.scrub(excerpt(endpoint_->key.scrub(detail)));
  return {ErrorCode::endpoint,
          fmt::format("endpoint {} (model {}): {}: {}{}; {} request{} sent", endpoint_->spec.name,
                      model_.model, row.name, row.meaning, said.empty() ? "" : " (" + said + ")",
                      attempts, attempts == 1 ? "" : "s"),
          std::string(row.next)};
}

double EndpointClient::cost(const ChatUsage& usage) const {
  if (!model_.price) return 0;
  const ModelPrice& price = *model_.price;
  return (static_cast<double>(usage.input_tokens - usage.cached_tokens) * price.input +
          static_cast<double>(usage.cached_tokens) * price.cached +
          static_cast<double>(usage.output_tokens) * price.output) /
         1e6;
}

}  // namespace cupilot
