#include <cstdlib>
#include <sstream>
#include <vector>

#include <cupilot/family.hpp>
#include <cupilot/version.hpp>

#include "capi/handles.hpp"

using namespace cupilot;
using namespace cupilot::c;

namespace {

Result<Task> task_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  // A path may hold spaces.
  if (!words.empty() && find_family(builtin_families(), words.front()) == nullptr &&
      text.ends_with(".json"))
    return load_task(text);
  return task_from_words(words);
}

cupilot_task* handle_of(cupilot_error* error, const char* text, const char* name,
                        Result<Task> (*read)(const std::string&)) {
  return guarded<cupilot_task*>(error, nullptr, [&]() -> Result<cupilot_task*> {
    if (text == nullptr) return null_argument(name);
    auto task = read(text);
    if (!task) return task.error();
    return new cupilot_task{std::move(*task)};
  });
}

}  // namespace

const char* cupilot_version(void) { return version; }
int32_t cupilot_abi(void) { return CUPILOT_ABI; }
void cupilot_free_text(char* text) { std::free(text); }

cupilot_task* cupilot_task_from_words(const char* words, cupilot_error* error) {
  return handle_of(error, words, "words", task_of);
}

cupilot_task* cupilot_task_from_json(const char* json, cupilot_error* error) {
  return handle_of(error, json, "json",
                   [](const std::string& text) { return task_from_json(text, "the given task"); });
}

void cupilot_task_free(cupilot_task* task) { delete task; }
