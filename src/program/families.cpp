// Families from folders, from memory and from the library itself.
#include <algorithm>
#include <cassert>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <cupilot/family.hpp>

#include "base/embedded.hpp"
#include "kernel/tunable_model.hpp"
#include "pool/practice.hpp"
#include "program/hooks/write.hpp"
#include "program/part_task.hpp"
#include "program/recipe.hpp"
#include "strategy/technique_rows.hpp"

namespace cupilot {
namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string>;

// A file beyond this is a mistake.
constexpr std::uintmax_t largest_text = 4u << 20;

bool is_template(std::string_view path) {
  return path.starts_with("templates/") && path.ends_with(".cu");
}

// The family's own device headers by name, which its templates include as "cupilot/NAME.cuh".
std::shared_ptr<const DeviceHeaders> headers_of(const Texts& texts) {
  auto headers = std::make_shared<DeviceHeaders>();
  for (const auto& [path, text] : texts) {
    if (path.starts_with("device/") && path.ends_with(".cuh")) (*headers)[path.substr(7)] = text;
  }
  return headers;
}

Result<void> read_recipe(const std::string& text, const std::string& origin, Family& family) {
  auto recipe = recipe_from(text, origin + "/family.json");
  if (!recipe) return recipe.error();
  family.name = recipe->name;
  family.computes = recipe->computes;
  family.example = recipe->example;
  for (RecipeWord& word : recipe->words) family.words.push_back(std::move(word.shown));
  family.library = std::move(recipe->library);
  return {};
}

Result<void> read_templates(const Texts& texts, const std::string& origin, Family& family) {
  const auto headers = headers_of(texts);
  for (const auto& [path, text] : texts) {
    if (!is_template(path)) continue;
    auto tunable = parse_tunable(text, origin + "/" + path);
    if (!tunable) return tunable.error();
    tunable->headers = headers;
    family.templates.push_back(std::move(*tunable));
  }
  std::vector<Tunable*> all;
  for (Tunable& tunable : family.templates) all.push_back(&tunable);
  const auto weights = texts.find("templates/model.json");
  return set_folder_weights(all, weights == texts.end() ? "" : weights->second,
                            origin + "/templates/model.json");
}

Result<Family> read_family(const std::string& name, const Texts& texts, const std::string& origin) {
  Family family;
  family.name = name;
  family.origin = origin;
  if (const auto at = texts.find("family.json"); at != texts.end()) {
    if (auto read = read_recipe(at->second, origin, family); !read) return read.error();
  }
  if (auto read = read_templates(texts, origin, family); !read) return read.error();
  if (const auto at = texts.find("techniques.json"); at != texts.end()) {
    auto rows = technique_rows(at->second, origin + "/techniques.json");
    if (!rows) return rows.error();
    for (TechniqueRow& row : *rows) family.techniques.push_back(std::move(row.technique));
  }
  if (const auto at = texts.find("practice.json"); at != texts.end()) {
    auto practice = practice_from(at->second, origin + "/practice.json");
    if (!practice) return practice.error();
    family.practice = std::move(*practice);
  }
  family.texts = texts;
  return family;
}

Result<std::string> text_of(const fs::path& path) {
  const auto failed = [&](const std::string& reason) {
    return Error{ErrorCode::usage, "family file " + path.string() + ": " + reason,
                 "check the path and its permissions"};
  };
  std::error_code code;
  if (fs::file_size(path, code) > largest_text || code) return failed("larger than 4 MiB");
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return failed("cannot be read");
  return text.str();
}

// Texts of a folder and of the folders in it: .json, .cu and .cuh.
Result<Texts> texts_of_folder(const fs::path& folder) {
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    return Error{ErrorCode::usage, "family " + folder.string() + ": there is no such folder",
                 "name a folder with a family.json, templates/ or techniques.json"};
  }
  Texts texts;
  const auto add = [&](const fs::path& path) -> Result<void> {
    const std::string kind = path.extension().string();
    if (kind != ".json" && kind != ".cu" && kind != ".cuh") return {};
    auto text = text_of(path);
    if (!text) return text.error();
    texts[path.lexically_relative(folder).generic_string()] = std::move(*text);
    return {};
  };
  for (fs::recursive_directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    if (!at->is_regular_file(code)) continue;
    if (auto added = add(at->path()); !added) return added.error();
  }
  if (code) {
    return Error{ErrorCode::usage, "family " + folder.string() + ": " + code.message(),
                 "check the path and its permissions"};
  }
  return texts;
}

Result<Families> embedded_families() {
  std::map<std::string, Texts> by_name;
  for (const EmbeddedFile& file : kernel_files()) {
    if (!file.name.starts_with("families/")) continue;
    const std::string_view path = file.name.substr(9);
    const std::size_t slash = path.find('/');
    by_name[std::string(path.substr(0, slash))][std::string(path.substr(slash + 1))] = file.text;
  }
  Families families;
  for (const auto& [name, texts] : by_name) {
    auto family = read_family(name, texts, "builtin families/" + name);
    if (!family) return family.error();
    family->built_in = true;
    families.push_back(std::move(*family));
  }
  return families;
}

Error taken(const Family& family, const std::string& what, const std::string& name,
            const std::string& by) {
  return {ErrorCode::usage,
          fmt::format("family {} ({}): {} '{}' is already the name of one of {}", family.name,
                      family.origin, what, name, by),
          "choose another name"};
}

}  // namespace

const Families& builtin_families() {
  static const Families all = [] {
    auto read = embedded_families();
    assert(read && "a built-in family does not parse");
    return read ? std::move(*read) : Families{};
  }();
  return all;
}

Result<Family> family_from(const std::string& name,
                           const std::map<std::string, std::string>& texts) {
  return read_family(name, texts, name);
}

Result<void> add_family(Family family, Families& families) {
  const auto same = [](const auto& all, const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  };
  if (family.name.empty())
    return Error{ErrorCode::usage, "family " + family.origin + ": it has no name", "give it one"};
  for (const Family& other : families) {
    if (other.name == family.name) return taken(family, "family", family.name, other.origin);
    for (const Tunable& tunable : family.templates) {
      if (same(other.templates, tunable.name))
        return taken(family, "template", tunable.name, other.origin);
    }
    for (const Technique& technique : family.techniques) {
      if (same(other.techniques, technique.name))
        return taken(family, "technique", technique.name, other.origin);
    }
  }
  for (const Technique& technique : family.techniques) {
    if (find_technique(technique.name) != nullptr)
      return taken(family, "technique", technique.name, "the catalogue");
  }
  families.push_back(std::move(family));
  return {};
}

Result<Families> load_families(const std::vector<std::string>& folders) {
  Families families = builtin_families();
  for (const std::string& folder : folders) {
    auto texts = texts_of_folder(folder);
    if (!texts) return texts.error();
    fs::path path = fs::path(folder).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    auto family = read_family(path.filename().string(), *texts, folder);
    if (!family) return family.error();
    if (auto added = add_family(std::move(*family), families); !added) return added.error();
  }
  return families;
}

const Family* find_family(const Families& families, std::string_view name) {
  const auto found = std::find_if(families.begin(), families.end(),
                                  [&](const Family& family) { return family.name == name; });
  return found == families.end() ? nullptr : &*found;
}

std::vector<Tunable> templates_of(const Families& families, const Task& task) {
  std::vector<Tunable> all;
  bool served = false;  // by a template that was written for the family
  for (const Family& family : families) {
    for (const Tunable& tunable : family.templates) {
      if (!tunable.anchor.empty() && tunable.family != task.family) continue;
      served = served || serves(tunable, task);
      all.push_back(tunable);
    }
  }
  if (served) return all;
  std::vector<Tunable> stated = templates_of_operator(families, task);
  const auto is_stated = [&](const Tunable& tunable) {
    return std::any_of(stated.begin(), stated.end(),
                       [&](const Tunable& one) { return one.name == tunable.name; });
  };
  for (const Family& family : families) {
    for (const Tunable& tunable : family.templates) {
      if (tunable.anchor.empty() || !task.repeats.empty() || is_stated(tunable)) continue;
      if (auto made = with_hooks(tunable, task)) all.push_back(std::move(*made));
    }
  }
  for (Tunable& made : stated) all.push_back(std::move(made));
  return all;
}

std::vector<Technique> techniques_of(const Families& families) {
  std::vector<Technique> all(catalogue().begin(), catalogue().end());
  for (const Family& family : families) {
    if (!family.built_in) all.insert(all.end(), family.techniques.begin(), family.techniques.end());
  }
  return all;
}

std::vector<LibraryCall> library_calls_of(const Families& families) {
  std::vector<LibraryCall> all;
  for (const Family& family : families) {
    if (family.library) all.push_back(*family.library);
  }
  return all;
}

}  // namespace cupilot
