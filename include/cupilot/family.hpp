// Families: folders of data that say how a task is named and made, what its kernels are written
// from, and what is known to make them fast (docs/formats/family.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/parts/library_call.hpp>
#include <cupilot/parts/pool.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// One `key=value` that names a task of the family.
struct FamilyWord {
  enum class Kind { size, number, flag, dtype, precision, choice };
  std::string name{};
  Kind kind = Kind::size;
  std::string about{};                 // one line for people
  std::string default_value{};         // as it is typed; "": follows from other words
  std::vector<std::string> options{};  // dtype, precision, choice: what it may be
};
std::string_view name_of(FamilyWord::Kind kind);

// Every part may be empty: a family of techniques alone serves a host with a writer of its own.
struct Family {
  std::string name{};      // first word of its tasks
  std::string computes{};  // one line for people
  std::string example{};   // words of a task
  std::vector<FamilyWord> words{};
  std::vector<Tunable> templates{};
  std::vector<Technique> techniques{};  // rows beside those of kernels/techniques.json
  std::vector<PoolEntry> practice{};    // starting points from published practice
  std::optional<LibraryCall> library{};
  std::map<std::string, std::string> texts{};  // its files by path within the folder
  std::string origin{};                        // the folder, for messages
  bool built_in = false;  // its techniques are in catalogue(), its practice in each new pool
};
using Families = std::vector<Family>;

// The families of kernels/families, by name.
const Families& builtin_families();

// The built-in families and one of each folder. Error usage: a folder or file that cannot be read
// or is malformed; a name of a family, template or technique that is taken.
Result<Families> load_families(const std::vector<std::string>& folders);

// A family from memory: texts by path within its folder ("family.json", "templates/NAME.cu",
// "device/NAME.cuh", "techniques.json", "practice.json", references). `name`: where family.json
// says none. Error usage names the text.
Result<Family> family_from(const std::string& name,
                           const std::map<std::string, std::string>& texts);

// Adds one to others. Error usage: a name of a family, template or technique that is taken.
Result<void> add_family(Family family, Families& families);

const Family* find_family(const Families& families, std::string_view name);

// {"NAME", "key=value", …} of a family, or {"path/to/task.json"}. Error usage names the word, the
// reason and the nearest word that is known.
Result<Task> task_from_words(const std::vector<std::string>& words,
                             const Families& families = builtin_families());

// Templates of all families, in their order; those with an anchor are made for the task, and left
// out where its graph has another form.
std::vector<Tunable> templates_of(const Families& families, const Task& task);
// catalogue(), and the rows of families that are not built in.
std::vector<Technique> techniques_of(const Families& families);
// Library calls of all families.
std::vector<LibraryCall> library_calls_of(const Families& families);

}  // namespace cupilot
CUPILOT_EXPORTS_END
