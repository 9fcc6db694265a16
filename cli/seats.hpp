// Models in the seats of a search, as flags say.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/run_report.hpp>

#include "commands/verbs.hpp"

namespace cupilot::cli {

// Error usage where the flags name models and the directory holds a run already: its tape would be
// written over.
Result<void> check_unused(const SeatFlags& flags, const std::string& run_dir);

// Null when the flags name no model. `notice` is called from any thread.
Result<std::unique_ptr<ChatClient>> open_seats(const SeatFlags& flags, const std::string& run_dir,
                                               std::uint64_t seed,
                                               std::function<void(const std::string&)> notice);

// Seats of a run that is resumed. One that had models goes on with what its tape says they said;
// what they did not say is left to the built-in strategist.
Result<std::unique_ptr<ChatClient>> reopen_seats(const SeatFlags& flags, const std::string& run_dir,
                                                 const RunBeginning& run,
                                                 std::function<void(const std::string&)> notice);

// Settings of a search with models: fewer slots a generation, each bred from what is
// freshest, and refused kernels go back. Error usage: a file of the flags cannot be read.
Result<void> seat_models(const SeatFlags& flags, ChatClient* client, bool measures,
                         EvolveOptions& options);

}  // namespace cupilot::cli
