// Models behind network endpoints: who answers for which agent, what they may cost, and the tape of
// what they said (docs/formats/models.md, docs/formats/endpoint.md, docs/formats/tape.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/chat.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// Where a key is read from: a variable of the environment or a file that only its owner can read.
// Neither: none is sent.
struct KeySource {
  std::string env{}, file{};
};

struct ModelEndpoint {
  std::string name{};
  std::string url{};            // "https://host/v1": the format's path follows
  std::string format = "chat";  // "chat": chat completions; "messages"
  KeySource key{};
  std::string proxy{};            // "http://host:port"; empty: ModelOptions::proxy
  std::string ca_file{};          // PEM of the authorities to trust; empty: the system's
  bool allow_plain_http = false;  // to a host that is not this machine
  std::map<std::string, std::string> headers{};
  int retries = 4;                 // further requests after one that may be repeated
  double requests_per_minute = 0;  // 0: no limit of ours
  double tokens_per_minute = 0;
};

// In the currency of the table, per million tokens.
struct ModelPrice {
  double input = 0, cached = 0, output = 0;
};

struct ModelSpec {
  std::string name{};      // as roles name it
  std::string endpoint{};  // name of a ModelEndpoint
  std::string model{};     // as the endpoint names it
  std::int64_t output_tokens = 16384;
  bool stream = true;
  bool sampling = false;  // send temperature and seed; many models refuse them
  std::optional<ModelPrice> price{};
};

// 0: no limit. What is spent never exceeds one.
struct ModelBudget {
  std::int64_t tokens = 0, calls = 0;
  double cost = 0, seconds = 0;
};

struct ModelsConfig {
  std::string currency = "USD";
  std::vector<ModelEndpoint> endpoints{};
  std::vector<ModelSpec> models{};
  std::map<std::string, std::string> roles{};  // agent -> model; "*": every other agent
  ModelBudget budget{};
};

// Error{usage} names the place in the text: unknown fields, roles without model, keys in the open.
Result<ModelsConfig> read_models(std::string_view json, const std::string& origin);

struct ModelOptions {
  std::string tape{};  // file of the exchanges, made when absent; empty: none is kept
  std::function<std::string(const std::string& variable)>
      environment{};       // for keys; null: no variable is set
  std::string proxy{};     // "http://host:port" for endpoints that name none
  std::string no_proxy{};  // "localhost,.example.com": reached without it
  std::uint64_t seed = 1;  // of the jitter of waits
  std::function<void(const std::string&)>
      notice{};                                 // what a person should know; called from any thread
  Host* host = nullptr;                         // clock and files; null: the real one
  std::function<void(double seconds)> sleep{};  // null: real
};

// One client for all agents: chooses the model, keeps to the budget, retries, and keeps every
// exchange on the tape before its reply is used. What the tape already holds is answered from it.
// Error{usage}: configuration, keys, a damaged tape.
Result<std::unique_ptr<ChatClient>> open_models(const ModelsConfig& config,
                                                const ModelOptions& options);

// Answers from a tape alone, without key, endpoint or spending: Error{endpoint} for a question that
// it does not hold.
Result<std::unique_ptr<ChatClient>> open_tape(const std::string& path, Host* host = nullptr);

// One exchange of a tape: a reply, or why there was none.
struct TapeEntry {
  std::string key{}, agent{};
  std::vector<ChatMessage> messages{};
  std::string schema{};
  ChatReply reply{};
  std::optional<Error> error{};
};
struct ModelsSpent {
  std::int64_t tokens = 0, calls = 0;
  double cost = 0, seconds = 0;
  std::int64_t unsettled = 0;  // reservations whose request has no known end; they count as spent
};
struct TapeContents {
  std::string note{};  // who wrote the replies, where a person did
  std::vector<TapeEntry> entries{};
  ModelsSpent spent{};
};
Result<TapeContents> read_tape(const std::string& path, Host* host = nullptr);

}  // namespace cupilot
CUPILOT_EXPORTS_END
