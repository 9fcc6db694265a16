// Models behind network endpoints: their assignment to agents, their budget, and the tape of their
// answers (docs/formats/models.md, docs/formats/endpoint.md, docs/formats/tape.md).
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

// Source of an API key: an environment variable or a file that only its owner can read. Neither: no
// key is sent.
struct KeySource {
  std::string env{}, file{};
};

struct ModelEndpoint {
  std::string name{};
  std::string url{};            // "https://host/v1": the format's path follows
  std::string format = "chat";  // "chat": chat completions; "messages"; "responses"; "tools"
  KeySource key{};
  std::string proxy{};            // "http://host:port"; empty: ModelOptions::proxy
  std::string ca_file{};          // PEM of the authorities to trust; empty: the system's
  bool allow_plain_http = false;  // to a host that is not this machine
  std::map<std::string, std::string> headers{};
  int retries = 4;                 // repeats of a request that failed in a repeatable way
  double requests_per_minute = 0;  // 0: no own limit
  double tokens_per_minute = 0;
  // Says how the constant beginning of prompts is marked for keeping: "marks" (cache_control),
  // "key" (prompt_cache_key), "none"; default: marks for `messages`, none for others.
  std::string cache{};
};

// Prices per million tokens, in the currency of the table.
struct ModelPrice {
  double input = 0, cached = 0, output = 0;
};

struct ModelSpec {
  std::string name{};                  // name used by `roles`
  std::string endpoint{};              // name of a ModelEndpoint
  std::string model{};                 // as the endpoint names it
  std::int64_t output_tokens = 16384;  // limits one answer, thinking included
  // Without a byte of a streamed answer, or for the whole of another one. A streamed answer takes
  // at most four times as long.
  double seconds = 900;
  std::int64_t thinking_tokens = 0;  // budget of thinking, for `messages`; 0: the endpoint's own
  std::string effort{};  // names how much it thinks, as the endpoint does; default: its own
  bool stream = true;
  bool sampling = false;  // send temperature and seed; many models refuse them
  std::optional<ModelPrice> price{};
};

// Limits of spending, never exceeded. 0: no limit.
struct ModelBudget {
  std::int64_t tokens = 0, calls = 0;
  double cost = 0, seconds = 0;
};

struct ModelsConfig {
  std::string currency = "USD";
  std::vector<ModelEndpoint> endpoints{};
  std::vector<ModelSpec> models{};
  // agent -> models; "*": every other agent. "a, b": b is asked again what a answered unreadably;
  // "a > b": b when a brings no gain; "a | b": by gain per cost.
  std::map<std::string, std::string> roles{};
  ModelBudget budget{};
  int parallel = 0;  // most questions that are under way at once; 0: as many as are asked
};

// Error{usage} names the place in the text: unknown fields, roles without model, keys in plain
// text.
Result<ModelsConfig> read_models(std::string_view json, const std::string& origin);

struct ModelOptions {
  std::string tape{};  // file of the exchanges, created when absent; default: none
  std::function<std::string(const std::string& variable)>
      environment{};       // Looks up variables for keys; null: no variable is set.
  std::string proxy{};     // "http://host:port" for endpoints that name none
  std::string no_proxy{};  // "localhost,.example.com": reached without it
  std::uint64_t seed = 1;  // seeds the jitter of waits
  std::function<void(const std::string&)>
      notice{};          // Receives notices for a person; called from any thread.
  Host* host = nullptr;  // clock and files; null: the real one
  std::function<void(double seconds)> sleep{};  // null: real
  // The program cupilot-worker, which carries requests; "": searched for as by the device's.
  std::string worker_path{};
};

// Opens one client for all agents: it selects the model, keeps to the budget, retries, and writes
// every exchange to the tape before its reply is used. Questions that the tape already holds are
// answered from it. Error{usage}: configuration, keys, a damaged tape.
Result<std::unique_ptr<ChatClient>> open_models(const ModelsConfig& config,
                                                const ModelOptions& options);

// Answers from a tape alone, without key, endpoint or spending: Error{endpoint} for a question that
// it does not hold.
Result<std::unique_ptr<ChatClient>> open_tape(const std::string& path, Host* host = nullptr);

// Questions as files of a folder, which a person or a program without an endpoint answers in files
// beside them (docs/models.md).
struct HandoffOptions {
  std::string folder{};  // created when absent
  std::string tape{};    // as in ModelOptions
  int parallel = 0;      // questions that the asker keeps open; the tape tells it
  Host* host = nullptr;  // clock and files; null: the real one
  std::function<void(const std::string&)>
      notice{};  // names each question's file; called from any thread
};
// Opens a client that writes each question to a file and waits for its answer. Questions that the
// tape already holds are answered from it. Error{usage}: a damaged tape; failure: no folder.
Result<std::unique_ptr<ChatClient>> open_handoff(const HandoffOptions& options);

struct ModelsSpent {
  std::int64_t tokens = 0, calls = 0;
  double cost = 0, seconds = 0;
  std::int64_t unsettled = 0;  // reservations of requests without known end; they count as spent
  // The parts of tokens and cost that were set aside for requests of which no usage is known, and
  // of seconds for those of which no end is known.
  std::int64_t reserved_tokens = 0;
  double reserved_cost = 0, reserved_seconds = 0;
};
// One exchange of a tape: a reply, or the error in its place.
struct TapeEntry {
  std::string key{}, agent{};
  std::vector<ChatMessage> messages{};
  std::string schema{};
  ChatReply reply{};
  std::optional<Error> error{};
  ModelsSpent spent{};  // sums all requests of the exchange
};
struct TapeContents {
  std::string note{};  // author of the replies, if a person wrote them
  int parallel = 0;    // of whoever answered, as in ModelsConfig
  std::vector<TapeEntry> entries{};
  ModelsSpent spent{};
};
Result<TapeContents> read_tape(const std::string& path, Host* host = nullptr);

}  // namespace cupilot
CUPILOT_EXPORTS_END
