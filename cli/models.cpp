#include "models.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "device.hpp"

namespace cupilot::cli {
namespace {

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::string() : value;
}

// The first of them that is set.
std::string first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = variable(name); !value.empty()) return value;
  }
  return {};
}

constexpr std::string_view handoff_prefix = "handoff:";

bool is_url(const std::string& words) {
  return words.starts_with("http://") || words.starts_with("https://");
}

// One model for every agent. `is_free`: nobody is paid.
ModelsConfig one_model(ModelEndpoint endpoint, std::string model, bool is_free) {
  ModelsConfig config;
  ModelSpec spec;
  spec.name = spec.model = std::move(model);
  spec.endpoint = endpoint.name;
  if (is_free) spec.price = ModelPrice{};
  config.endpoints = {std::move(endpoint)};
  config.roles = {{"*", spec.name}};
  config.models = {std::move(spec)};
  return config;
}

constexpr std::string_view agents[] = {"generator", "strategist", "translator", "reviser",
                                       "aligner"};

// A role that is no agent's would be passed over, and an agent without a model end the run where it
// is asked first.
Result<void> check_roles(const ModelsConfig& config, const std::string& file) {
  const std::string known = fmt::format("{} and * for the others", fmt::join(agents, ", "));
  for (const auto& [role, models] : config.roles) {
    if (role != "*" && std::find(std::begin(agents), std::end(agents), role) == std::end(agents))
      return Error{ErrorCode::usage, fmt::format("{}: roles.{}: no agent is called so", file, role),
                   "there are " + known};
  }
  for (const std::string_view agent : agents) {
    if (config.roles.contains("*") || config.roles.contains(std::string(agent))) continue;
    return Error{ErrorCode::usage, fmt::format("{}: roles: no model answers for {}", file, agent),
                 "name a model for it, or for *"};
  }
  return {};
}

}  // namespace

std::string tape_path(const std::string& run_dir) { return run_dir + "/tape.jsonl"; }

bool is_handoff(const std::string& words) { return words.starts_with(handoff_prefix); }

std::string fault_of_models(const std::string& words) {
  if (is_handoff(words))
    return words.size() > handoff_prefix.size() ? "" : "handoff: lacks its folder";
  if (is_url(words) || real_host().exists(words)) return "";
  return "there is no file \"" + words + "\"; or name handoff:DIR, or URL#MODEL";
}

Result<ModelsConfig> models_from_words(const std::string& words) {
  if (is_handoff(words)) return one_model({.name = "handoff"}, "handoff", true);
  if (is_url(words)) {
    const std::size_t mark = words.find('#');
    const std::string model = mark == std::string::npos ? "default" : words.substr(mark + 1);
    return one_model({.name = "server", .url = words.substr(0, mark)}, model,
                     words.starts_with("http://"));
  }
  auto text = real_host().read_file(words);
  if (!text)
    return Error{ErrorCode::usage, "--models: " + text.error().message,
                 "docs/formats/models.md shows one"};
  auto config = read_models(*text, words);
  if (!config) return config.error();
  if (auto known = check_roles(*config, words); !known) return known.error();
  return config;
}

Result<std::unique_ptr<ChatClient>> open_models_of(const std::string& words,
                                                   const std::string& run_dir, std::uint64_t seed,
                                                   std::function<void(const std::string&)> notice) {
  if (auto made = real_host().make_directories(run_dir); !made) return made.error();
  if (is_handoff(words)) {
    HandoffOptions options;
    options.folder = words.substr(handoff_prefix.size());
    options.tape = tape_path(run_dir);
    options.parallel = handoff_parallel;
    options.notice = std::move(notice);
    return open_handoff(options);
  }
  auto config = models_from_words(words);
  if (!config) return config.error();
  ModelOptions options;
  options.tape = tape_path(run_dir);
  options.environment = variable;
  options.proxy = first_of({"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"});
  options.no_proxy = first_of({"NO_PROXY", "no_proxy"});
  options.seed = seed;
  options.notice = std::move(notice);
  options.worker_path = backend_options().worker_path;
  return open_models(*config, options);
}

}  // namespace cupilot::cli
