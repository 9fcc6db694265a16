// One model behind one endpoint: retries, waits, the budget, and answers that fit their schema
// (docs/formats/endpoint.md).
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <cupilot/parts/models.hpp>
#include <cupilot/rng.hpp>

#include "llm/answer_schema.hpp"
#include "llm/circuit_breaker.hpp"
#include "llm/codec/formats.hpp"
#include "llm/cost_budget.hpp"
#include "llm/http.hpp"
#include "llm/pace.hpp"
#include "llm/secret.hpp"
#include "llm/url.hpp"

namespace cupilot {

// Holds the state that its models share: the key, the pace and the address.
struct OpenEndpoint {
  ModelEndpoint spec;
  const Codec* codec = nullptr;
  Url url;
  std::string proxy_host;
  int proxy_port = 0;
  Secret key;
  std::unique_ptr<Pace> pace;
  CircuitBreaker breaker;
};

class EndpointClient : public ChatClient {
 public:
  EndpointClient(std::shared_ptr<OpenEndpoint> endpoint, ModelSpec model,
                 std::shared_ptr<CostBudget> budget, const ModelOptions& options,
                 HttpCarrier carry);
  Result<ChatReply> complete(const ChatRequest& request) override;

 private:
  struct Exchange;
  struct Answer;
  Result<ChatReply> complete_now(const ChatRequest& request);
  Result<WireReply> ask_longer(Exchange& exchange);
  Result<WireReply> ask_whole(Exchange& exchange);
  Result<WireReply> ask_until_answered(Exchange& exchange);
  Result<Answer> ask_once(Exchange& exchange);
  Result<ModelsSpent> set_aside(const Exchange& exchange, const ChatUsage& most);
  HttpRequest wire_request(const Exchange& exchange, double seconds) const;
  Answer send(const Exchange& exchange, double seconds) const;
  ModelsSpent account(Exchange& exchange, const Answer& answer, const ModelsSpent& reserved) const;
  Result<double> wait_after(Exchange& exchange, const Answer& answer) const;
  Result<void> wait(const Exchange& exchange, double seconds, EndpointFault why) const;
  bool leave_out(Exchange& exchange, const Answer& answer);
  void note_cut(std::int64_t limit);
  void note_repeat(const Exchange& exchange, const Answer& answer, double seconds);
  Error error(EndpointFault fault, const std::string& detail, int attempts) const;
  double cost(const ChatUsage& usage) const;
  double now() const { return host_->monotonic_seconds(); }

  std::shared_ptr<OpenEndpoint> endpoint_;
  ModelSpec model_;
  std::shared_ptr<CostBudget> budget_;
  ModelOptions options_;
  HttpCarrier carry_;
  Host* host_;
  mutable std::mutex mutex_;
  Unwanted unwanted_;
  bool cut_noted_ = false;
  bool needs_longer_ = false;                        // an answer was whole at twice the limit alone
  EndpointFault noted_fault_ = EndpointFault::none;  // told since the last answer
};

}  // namespace cupilot
