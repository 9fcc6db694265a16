// From words to a task.
#include <algorithm>

#include <fmt/format.h>

#include <cupilot/family.hpp>
#include <cupilot/parts/suite.hpp>

#include "program/recipe.hpp"
#include "task/nearest.hpp"
#include "task/operators.hpp"
#include "task/task_json.hpp"

namespace cupilot {
namespace {

bool looks_like_a_path(const std::string& word) {
  return word.find('/') != std::string::npos || word.ends_with(".json");
}

Error no_task(const Families& families) {
  std::string example = "a family's name with words";
  for (const Family& family : families) {
    if (family.example.empty()) continue;
    example = family.example;
    break;
  }
  return {ErrorCode::usage, "no task given", "name one: " + example + ", or a task file"};
}

Error unknown_task(const std::string& word, const Families& families) {
  std::vector<std::string_view> names;
  for (const Family& family : families) names.push_back(family.name);
  const std::string_view near = close_to(word, names);
  return {ErrorCode::usage, "unknown task '" + word + "'",
          near.empty() ? "`cupilot tasks` lists them; a task of your own is a .json file"
                       : fmt::format("did you mean {}?", near)};
}

// The family's own text, else one that operators have.
Result<Reference> reference_of(const Family& family, const std::string& path) {
  const auto own = family.texts.find(path);
  if (own != family.texts.end()) return Reference{own->second, family.origin + "/" + path};
  const std::string_view text = operator_reference(path);
  if (!text.empty()) return Reference{std::string(text), "kernels/reference/" + path};
  return Error{ErrorCode::usage,
               fmt::format("family {}: there is no reference {}", family.name, path),
               "name a file of the family's folder, or GROUP/FILE.cu of kernels/reference"};
}

// Adds what an operator row says where the recipe does not.
void add_operator(Json& task) {
  if (!task.contains("operations") || !task.at("operations").is_array() ||
      task.at("operations").empty())
    return;
  const Json& first = task.at("operations").front();
  const OperatorRow* row = first.is_object() && first.contains("kind") && first["kind"].is_string()
                               ? find_operator(first["kind"].get<std::string>())
                               : nullptr;
  if (row == nullptr || !row->rule.empty()) return;
  if (!task.contains("work")) {
    task["work"] = {{"flops", row->work.flops.text}};
    if (!row->work.matmul_like.empty()) task["work"]["matmul_like"] = row->work.matmul_like;
  }
  if (!task.contains("reference") && !row->references.empty())
    task["reference"] = row->group + "/" + row->references.front();
}

Result<Task> task_of(const Family& family, const std::vector<std::string>& typed) {
  const auto text = family.texts.find("family.json");
  if (text == family.texts.end()) {
    return Error{ErrorCode::usage, "family " + family.name + " makes no task of words",
                 "its folder has no family.json with a task; give a task file of this family"};
  }
  const std::string origin = family.origin + ": " + family.name;
  auto recipe = recipe_from(text->second, origin);
  if (!recipe) return recipe.error();
  if (!recipe->task) {
    return Error{ErrorCode::usage, "family " + family.name + " makes no task of words",
                 "its family.json has no task; give a task file of this family"};
  }
  auto values = WordValues::from(*recipe, typed);
  if (!values) return values.error();
  auto json = expand(*recipe->task, *values, origin);
  if (!json) return json.error();
  if (!json->contains("cupilot_task")) (*json)["cupilot_task"] = 2;
  add_operator(*json);
  std::string reference;
  auto task = read_task(*json, origin, reference);
  if (!task) return task.error();
  if (!reference.empty()) {
    auto found = reference_of(family, reference);
    if (!found) return found.error();
    task->reference = std::move(*found);
  }
  if (auto completed = complete(*task); !completed) return completed.error();
  if (auto valid = validate(*task); !valid) return valid.error();
  return task;
}

}  // namespace

Result<Task> task_from_words(const std::vector<std::string>& words, const Families& families) {
  if (words.empty()) return no_task(families);
  if (is_suite_word(words[0])) return task_from_suite(words);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (const Family* family = find_family(families, words[0])) return task_of(*family, rest);
  if (!looks_like_a_path(words[0])) return unknown_task(words[0], families);
  if (!rest.empty()) {
    return Error{ErrorCode::usage,
                 "a task file takes no further words, but there is '" + rest[0] + "'",
                 "put sizes into the file's time_shapes"};
  }
  return load_task(words[0]);
}

}  // namespace cupilot
