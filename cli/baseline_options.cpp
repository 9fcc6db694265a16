#include "baseline_options.hpp"

#include <cupilot/parts/contestants.hpp>

namespace cupilot::cli {

void add_against(CLI::App& verb, std::vector<std::string>& names, const std::string& more) {
  std::string known;
  for (const Contestant& one : contestants()) known += (known.empty() ? "" : ", ") + one.name;
  verb.add_option("--against", names,
                  "timed beside the champion, separated by commas: PyTorch of your python3 (" +
                      known + more)
      ->delimiter(',');
}

void add_captured(CLI::App& verb, EvolveFlags& flags) {
  verb.add_option("--task", flags.stated,
                  "what a captured launch computes: FAMILY key=value …, or a task file");
  verb.add_option("--entry", flags.entry,
                  "part of the name of the capture's kernel; of a kernel file, the kernel");
  add_bind(verb, flags.bind);
}

void add_bind(CLI::App& verb, std::vector<std::string>& words) {
  verb.add_option("--bind", words,
                  "NAME=argN: the tensor or scalar of the task that a captured argument is, N from "
                  "0; default: pointers in order. Repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace cupilot::cli
