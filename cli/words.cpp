#include "words.hpp"

#include <cupilot/parts/gemm.hpp>

#include "nearest.hpp"

namespace cupilot::cli {
namespace {

bool looks_like_a_path(const std::string& word) {
  return word.find('/') != std::string::npos ||
         (word.size() > 5 && word.substr(word.size() - 5) == ".json");
}

}  // namespace

Result<Task> task_from_words(const std::vector<std::string>& words) {
  if (words.empty()) {
    return Error{ErrorCode::usage, "no task given",
                 "name one: gemm m=4096 n=4096 k=4096 dtype=bf16, or a task file"};
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "gemm") {
    Result<GemmSpec> spec = gemm_spec_from(rest);
    if (!spec) return std::move(spec.error());
    return gemm_task(*spec);
  }
  if (looks_like_a_path(words[0])) {
    if (!rest.empty()) {
      return Error{ErrorCode::usage,
                   "a task file takes no further words, but there is '" + rest[0] + "'",
                   "put sizes into the file's time_shapes"};
    }
    return load_task(words[0]);
  }
  const std::string near = nearest(words[0], {"gemm"});
  return Error{ErrorCode::usage, "unknown task '" + words[0] + "'",
               near.empty() ? "`cupilot tasks` lists them; a task of your own is a .json file"
                            : "did you mean " + near + "?"};
}

}  // namespace cupilot::cli
