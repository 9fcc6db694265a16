// Models as the program opens them. Of the environment it reads the variables that the models file
// names for keys, and HTTPS_PROXY, ALL_PROXY and NO_PROXY in capitals or not.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <cupilot/chat.hpp>
#include <cupilot/parts/models.hpp>

namespace cupilot::cli {

// Returns the reason why `words` name no models: neither handoff:DIR, nor URL#MODEL, nor a file;
// empty: they do.
std::string fault_of_models(const std::string& words);

// True if questions go to files that anybody answers.
bool is_handoff(const std::string& words);

// A handoff is given as many questions at a time as there are slots in a generation.
inline constexpr int handoff_parallel = 12;
// A search with models has so many first slots, and a slot's breeding looks back so far at least.
inline constexpr int initial_slots = 12, usual_lookahead = 4;

// The models that `words` name; of handoff:DIR one that stands for any that answers.
Result<ModelsConfig> models_from_words(const std::string& words);

// The tape stands in the run directory, which is made. `notice` is called from any thread.
Result<std::unique_ptr<ChatClient>> open_models_of(const std::string& words,
                                                   const std::string& run_dir, std::uint64_t seed,
                                                   std::function<void(const std::string&)> notice);

std::string tape_path(const std::string& run_dir);

}  // namespace cupilot::cli
