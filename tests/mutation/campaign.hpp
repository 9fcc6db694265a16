// Every operator on every kernel of the list, each at one place: the pipe must refuse what came
// out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot::mutation {

// A mutant that does what the kernel did, and why.
struct Equivalent {
  std::string kernel{}, fault{};
  int site = 0;
  std::string argument{};
};

struct Campaign {
  std::vector<std::string> kernels{};
  std::vector<Equivalent> equivalent{};
};
Result<Campaign> read_campaign(const std::string& path);

struct Mutant {
  std::string kernel{}, fault{};
  int site = 0, sites = 0;
  KernelSource source{};
  std::string line{};  // of the text, where it differs
};

// One mutant an operator and kernel, its place drawn from the seed; with `every`, all places.
// Error: a kernel that cannot be read, or that has no place for an operator.
Result<std::vector<Mutant>> mutants(const Campaign& campaign, const std::string& folder,
                                    std::uint64_t seed, bool every);

// refused: as it must be. equal: the compiler made the same PTX of it. survived: the pipe took it.
// broken: it was refused before it ran, so that it shows nothing.
enum class Fate { refused, equal, survived, broken };
struct Verdict {
  Fate fate = Fate::broken;
  std::string code{}, message{};
  double seconds = 0;
};
// A kernel's task by the words of its header; files are named from the repository's root.
Result<Task> task_of(const std::string& root, const std::vector<std::string>& words);
// Puts a source through the whole pipe as a finalist.
Verdict judge_source(const Task& task, const KernelSource& source, Backend& backend);
Verdict judge(const std::string& root, const Mutant& mutant, const KernelSource& original,
              Backend& backend);

}  // namespace cupilot::mutation
