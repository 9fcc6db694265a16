#include "llm/open_models.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include "llm/endpoint_client.hpp"
#include "llm/key_source.hpp"
#include "llm/model_choice.hpp"
#include "llm/tape.hpp"

namespace cupilot {
namespace {

// Lets at most `most` questions be under way at once; the others wait. 0: lets all.
class QuestionLimit {
 public:
  explicit QuestionLimit(int most) : most_(most), free_(most) {}
  // Waits for a place. False: the question was given up meanwhile.
  bool enter(const std::atomic<bool>* cancel) {
    if (most_ <= 0) return true;
    std::unique_lock hold(mutex_);
    const auto given_up = [cancel] { return cancel != nullptr && cancel->load(); };
    while (free_ == 0 && !given_up()) left_.wait_for(hold, std::chrono::milliseconds(20));
    if (given_up()) return false;
    --free_;
    return true;
  }
  void leave() {
    if (most_ <= 0) return;
    const std::lock_guard hold(mutex_);
    ++free_;
    left_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  int most_, free_;
};

// Sends each question to a model of its agent. Where a role takes turns, a model that does not
// answer leaves the question to the next one.
class RoleClient : public ChatClient {
 public:
  RoleClient(const ModelsConfig& config, std::map<std::string, std::unique_ptr<ChatClient>> models,
             Host& host)
      : models_(std::move(models)), limit_(config.parallel), host_(host) {
    for (const auto& [agent, names] : config.roles)
      roles_.try_emplace(agent, role_models(names).value_or(RoleModels{}));
  }

  Result<ChatReply> complete(const ChatRequest& request) override {
    ModelChoice* role = role_of(request.agent);
    if (role == nullptr) {
      return Error{ErrorCode::usage, "no model is set for \"" + request.agent + "\"",
                   "add it, or \"*\", to roles in the models file"};
    }
    const double came = host_.monotonic_seconds();
    if (!limit_.enter(request.cancel))
      return Error{ErrorCode::endpoint, "the question was given up before it was asked", ""};
    const std::shared_ptr<void> place(&limit_, [](QuestionLimit* places) { places->leave(); });
    ChatRequest timely = request;
    constexpr double least = 1e-3;  // 0 would be no limit
    if (request.seconds > 0)
      timely.seconds = std::max(least, request.seconds - (host_.monotonic_seconds() - came));
    return ask(*role, timely);
  }

  void told(const ChatOutcome& outcome) override {
    for (auto& [agent, role] : roles_) role.told(outcome);
  }

  // Learns what earlier processes of the run were answered.
  void recall(const TapeEntry& entry) {
    ModelChoice* role = role_of(entry.agent);
    if (role != nullptr && !entry.error && !entry.reply.by.empty())
      role->answered(entry.agent, entry.key, entry.reply.by, &entry.reply.usage);
  }

 private:
  Result<ChatReply> ask(ModelChoice& role, const ChatRequest& request) {
    Result<ChatReply> reply = Error{ErrorCode::usage, "a role without models", ""};
    for (const std::string& name : role.choose(request)) {
      reply = models_.at(name)->complete(request);
      role.answered(request.agent, request.key, name, reply ? &reply->usage : nullptr);
      if (reply && role.takes_turns()) reply->by = name;
      const bool stopped = request.cancel != nullptr && request.cancel->load();
      if (reply || stopped || reply.error().code != ErrorCode::endpoint) break;
    }
    return reply;
  }

  ModelChoice* role_of(const std::string& agent) {
    auto role = roles_.find(agent);
    if (role == roles_.end()) role = roles_.find("*");
    return role == roles_.end() ? nullptr : &role->second;
  }

  std::map<std::string, ModelChoice> roles_;
  std::map<std::string, std::unique_ptr<ChatClient>> models_;
  QuestionLimit limit_;
  Host& host_;
};

Result<std::shared_ptr<OpenEndpoint>> open_endpoint(const ModelEndpoint& spec,
                                                    const ModelOptions& options, Host& host) {
  auto open = std::make_shared<OpenEndpoint>();
  open->spec = spec;
  open->codec = find_codec(spec.format);
  if (open->codec == nullptr)
    return Error{ErrorCode::usage, "unknown format \"" + spec.format + "\"",
                 "chat, messages, responses or tools"};
  auto url = parse_url(spec.url);
  if (!url) return std::move(url.error()).while_doing("endpoint " + spec.name);
  open->url = *url;
  const bool direct = is_this_machine(url->host) ||
                      (spec.proxy.empty() && listed_in(options.no_proxy, url->host, url->port));
  const std::string proxy = direct               ? std::string()
                            : spec.proxy.empty() ? options.proxy
                                                 : spec.proxy;
  if (!proxy.empty()) {
    auto at = parse_url(proxy);
    if (!at) return std::move(at.error()).while_doing("the proxy of endpoint " + spec.name);
    open->proxy_host = at->host;
    open->proxy_port = at->port;
  }
  auto key = load_key(spec.key, host, options.environment);
  if (!key) return std::move(key.error()).while_doing("endpoint " + spec.name);
  open->key = std::move(*key);
  open->pace = std::make_unique<Pace>(spec.requests_per_minute, spec.tokens_per_minute);
  return open;
}

void note_missing_prices(const ModelsConfig& config, const ModelOptions& options) {
  if (!options.notice) return;
  for (const ModelSpec& model : config.models) {
    if (!model.price)
      options.notice("the price of " + model.model + " is unknown: its cost is not counted");
  }
}

}  // namespace

Result<std::unique_ptr<ChatClient>> open_models(const ModelsConfig& config,
                                                const ModelOptions& options) {
  const auto carry = [worker = options.worker_path](const HttpRequest& request) {
    return post(request, worker);
  };
  return open_models_by(carry, config, options);
}

Result<std::unique_ptr<ChatClient>> open_models_by(HttpCarrier carry, const ModelsConfig& config,
                                                   const ModelOptions& options) {
  Host& host = options.host != nullptr ? *options.host : real_host();
  auto opened = Tape::open(host, options.tape, config.parallel);
  if (!opened) return opened.error();
  std::shared_ptr<Tape> tape = std::move(*opened);
  auto budget =
      std::make_shared<CostBudget>(config.budget, tape->spent_before(),
                                   [tape](const std::string& key, const ModelsSpent& amount) {
                                     return tape->reserve(key, amount);
                                   });
  std::set<std::string> used;
  for (const auto& [role, names] : config.roles)
    for (const std::string& name : role_models(names).value_or(RoleModels{}).names)
      used.insert(name);
  std::map<std::string, std::shared_ptr<OpenEndpoint>> endpoints;
  std::map<std::string, std::unique_ptr<ChatClient>> clients;
  for (const ModelSpec& model : config.models) {
    if (!used.contains(model.name)) continue;
    auto& endpoint = endpoints[model.endpoint];
    for (const ModelEndpoint& spec : config.endpoints) {
      if (endpoint || spec.name != model.endpoint) continue;
      auto opened = open_endpoint(spec, options, host);
      if (!opened) return opened.error();
      endpoint = std::move(*opened);
    }
    if (!endpoint)
      return Error{ErrorCode::usage, "no endpoint is called \"" + model.endpoint + "\"",
                   "docs/formats/models.md"};
    clients[model.name] = std::make_unique<EndpointClient>(endpoint, model, budget, options, carry);
  }
  for (const std::string& name : used) {
    if (!clients.contains(name))
      return Error{ErrorCode::usage, "no model is called \"" + name + "\"",
                   "docs/formats/models.md"};
  }
  note_missing_prices(config, options);
  auto live = std::make_unique<RoleClient>(config, std::move(clients), host);
  tape->each([&live](const TapeEntry& entry) { live->recall(entry); });
  return std::unique_ptr<ChatClient>(std::make_unique<TapedClient>(
      tape, std::move(live), [budget](const std::string& key) { return budget->bill(key); }));
}

}  // namespace cupilot
