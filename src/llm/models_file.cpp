// The models file (docs/formats/models.md).
#include <algorithm>

#include <fmt/core.h>

#include <cupilot/parts/models.hpp>

#include "llm/codec/formats.hpp"
#include "llm/model_choice.hpp"
#include "llm/url.hpp"
#include "task/json_reader.hpp"

namespace cupilot {
namespace {

constexpr const char* guide = "docs/formats/models.md";
constexpr int most_parallel = 256;

// Headers that would carry a key past what keeps keys from sight, or break the request.
bool is_own_header(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view own[] = {
      "authorization", "x-api-key",    "api-key",        "proxy-authorization", "cookie",
      "host",          "content-type", "content-length", "transfer-encoding",   "connection"};
  return std::find(std::begin(own), std::end(own), name) != std::end(own);
}

bool is_one_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

KeySource key_from(JsonObject& endpoint) {
  KeySource key;
  if (endpoint.find("key") != nullptr && !endpoint.find("key")->is_object()) {
    endpoint.fail("key", "a key never stands in this file",
                  R"(write {"env": "NAME"} or {"file": "PATH"})");
    return key;
  }
  const Json* json = endpoint.find_object("key");
  if (json == nullptr) return key;
  JsonObject object(endpoint.faults(), *json, endpoint.where("key"));
  key.env = object.text("env", false);
  key.file = object.text("file", false);
  object.done();
  if (key.env.empty() == key.file.empty())
    endpoint.fail("key", "one of env and file", R"(write {"env": "NAME"} or {"file": "PATH"})");
  return key;
}

std::map<std::string, std::string> words_from(JsonObject& parent, const char* name) {
  std::map<std::string, std::string> words;
  const Json* json = parent.find_object(name);
  if (json == nullptr) return words;
  for (const auto& [key, value] : json->items()) {
    if (!value.is_string()) {
      parent.fail(name, fmt::format("{} is no text", key));
    } else {
      words[key] = value.get<std::string>();
    }
  }
  return words;
}

double positive(JsonObject& object, const char* name) {
  const double value = object.number(name, 0);
  if (!(value >= 0)) object.fail(name, "is negative");
  // Products with larger values could overflow.
  if (value > 1e15) object.fail(name, "is above 1e15");
  return value;
}

ModelEndpoint endpoint_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  ModelEndpoint endpoint;
  endpoint.name = object.text("name", true);
  endpoint.url = object.text("url", true);
  endpoint.format = object.text("format", false, "chat");
  endpoint.key = key_from(object);
  endpoint.proxy = object.text("proxy", false);
  endpoint.ca_file = object.text("ca_file", false);
  endpoint.allow_plain_http = object.truth("allow_plain_http", false);
  endpoint.headers = words_from(object, "headers");
  endpoint.retries = static_cast<int>(object.integer("retries", false, 4));
  endpoint.requests_per_minute = positive(object, "requests_per_minute");
  endpoint.tokens_per_minute = positive(object, "tokens_per_minute");
  endpoint.cache = object.text("cache", false);
  object.done();
  constexpr std::string_view caches[] = {"", "marks", "key", "none"};
  if (std::find(std::begin(caches), std::end(caches), endpoint.cache) == std::end(caches))
    object.fail("cache", fmt::format("unknown \"{}\"", endpoint.cache), "marks, key or none");
  const auto url = parse_url(endpoint.url);
  if (!url) {
    object.fail("url", url.error().message, url.error().hint);
  } else if (!url->tls && !endpoint.allow_plain_http && !is_this_machine(url->host)) {
    object.fail("url", "http:// would send the key in the open",
                "use https://, or set allow_plain_http to true");
  }
  if (!endpoint.proxy.empty() && !parse_url(endpoint.proxy))
    object.fail("proxy", "no url of a proxy", "http://host:port");
  if (find_codec(endpoint.format) == nullptr)
    object.fail("format", fmt::format("unknown format \"{}\"", endpoint.format),
                "chat, messages, responses or tools");
  if (endpoint.retries < 0 || endpoint.retries > 20) object.fail("retries", "from 0 to 20");
  for (const auto& [name, value] : endpoint.headers) {
    if (is_own_header(name))
      object.fail("headers", fmt::format("{} is not set here", name),
                  "keys go to key, as env or file");
    if (name.empty() || !is_one_line(name) || !is_one_line(value))
      object.fail("headers", "names and values are printable ASCII");
  }
  return endpoint;
}

std::optional<ModelPrice> price_from(JsonObject& model) {
  const Json* json = model.find_object("price");
  if (json == nullptr) return std::nullopt;
  JsonObject object(model.faults(), *json, model.where("price"));
  ModelPrice price;
  price.input = positive(object, "input");
  price.cached = object.find("cached") != nullptr ? positive(object, "cached") : price.input;
  price.output = positive(object, "output");
  object.done();
  return price;
}

ModelSpec model_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  ModelSpec model;
  model.name = object.text("name", true);
  model.endpoint = object.text("endpoint", true);
  model.model = object.text("model", true);
  model.output_tokens = object.integer("output_tokens", false, model.output_tokens);
  model.seconds = object.number("seconds", model.seconds);
  model.thinking_tokens = object.integer("thinking_tokens", false, 0);
  model.effort = object.text("effort", false);
  model.stream = object.truth("stream", true);
  model.sampling = object.truth("sampling", false);
  model.price = price_from(object);
  object.done();
  if (model.output_tokens < 1 || model.output_tokens > 1'000'000)
    object.fail("output_tokens", "from 1 to 1000000");
  if (!(model.seconds >= 1) || model.seconds > 86'400) object.fail("seconds", "from 1 to 86400");
  if (model.thinking_tokens < 0 || model.thinking_tokens >= model.output_tokens)
    object.fail("thinking_tokens", "from 0 to less than output_tokens, which hold them");
  return model;
}

ModelBudget budget_from(JsonObject& file) {
  ModelBudget budget;
  const Json* json = file.find_object("budget");
  if (json == nullptr) return budget;
  JsonObject object(file.faults(), *json, "budget");
  budget.tokens = object.integer("tokens", false, 0);
  budget.calls = object.integer("calls", false, 0);
  budget.cost = positive(object, "cost");
  budget.seconds = positive(object, "seconds");
  object.done();
  if (budget.tokens < 0 || budget.calls < 0) file.fail("budget", "is negative");
  return budget;
}

template <class Named>
bool has(const std::vector<Named>& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
}

void check_names(JsonObject& file, const ModelsConfig& config) {
  for (std::size_t i = 0; i < config.models.size(); ++i) {
    const ModelSpec& model = config.models[i];
    const std::string where = fmt::format("models[{}].endpoint", i);
    if (!has(config.endpoints, model.endpoint))
      file.fail(where, fmt::format("no endpoint is called \"{}\"", model.endpoint));
    const bool unpriced = config.budget.cost > 0 && !model.price;
    if (unpriced)
      file.fail(fmt::format("models[{}].price", i), "is unknown: budget.cost cannot be kept",
                "give its price a million tokens");
  }
  if (config.roles.empty()) file.fail("roles", "name a model for \"*\", at least");
  for (const auto& [role, names] : config.roles) {
    const auto models = role_models(names);
    if (!models) {
      file.fail("roles." + role, "two kinds of marks in one role",
                "name models between \",\", \">\" or \"|\" alone");
      continue;
    }
    for (const std::string& name : models->names) {
      if (!has(config.models, name))
        file.fail("roles." + role, fmt::format("no model is called \"{}\"", name));
    }
  }
}

}  // namespace

Result<ModelsConfig> read_models(std::string_view json, const std::string& origin) {
  auto text = read_json_object(json, origin);
  if (!text) return text.error();
  JsonFaults faults(origin, guide);
  JsonObject file(faults, *text, "");
  ModelsConfig config;
  config.currency = file.text("currency", false, config.currency);
  int index = 0;
  for (const Json* one : file.items("endpoints", true)) {
    config.endpoints.push_back(endpoint_from(faults, *one, fmt::format("endpoints[{}]", index++)));
  }
  index = 0;
  for (const Json* one : file.items("models", true)) {
    config.models.push_back(model_from(faults, *one, fmt::format("models[{}]", index++)));
  }
  config.roles = words_from(file, "roles");
  config.budget = budget_from(file);
  config.parallel = static_cast<int>(
      std::clamp<std::int64_t>(file.integer("parallel", false, 0), -1, most_parallel + 1));
  if (config.parallel < 0 || config.parallel > most_parallel)
    file.fail("parallel", "is no number of questions", fmt::format("0 to {}", most_parallel));
  file.done();
  check_names(file, config);
  if (faults.first()) return *faults.first();
  return config;
}

}  // namespace cupilot
