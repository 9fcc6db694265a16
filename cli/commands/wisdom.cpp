// `cupilot wisdom FILE`: what it holds, and the dispatcher made from it.
#include <fmt/format.h>

#include <algorithm>

#include <cupilot/parts/host.hpp>
#include <cupilot/wisdom.hpp>

#include "commands/verbs.hpp"
#include "screens/say.hpp"
#include "screens/wisdom.hpp"

namespace cupilot::cli {
namespace {

// The one that --entry names; all of them, for a dispatcher of several devices, where it names
// none.
Result<Wisdom> chosen_entries(Wisdom wisdom, const WisdomFlags& flags) {
  const int count = static_cast<int>(wisdom.entries.size());
  if (flags.entry == 0) return wisdom;
  if (flags.entry > count) {
    return Error{ErrorCode::usage, fmt::format("{} has {} entries", flags.file, count),
                 "see `cupilot wisdom FILE`"};
  }
  return Wisdom{{wisdom.entries[static_cast<std::size_t>(flags.entry - 1)]}};
}

Result<void> write_dispatcher(const Wisdom& wisdom, const WisdomFlags& flags) {
  const std::string task_name = wisdom.entries.empty() ? "" : wisdom.entries.front().task.name;
  auto files = dispatcher_files(wisdom.entries, flags.name.empty() ? task_name : flags.name);
  if (!files) return files.error();
  Host& host = real_host();
  if (auto made = host.make_directories(flags.dispatcher); !made) return made;
  for (const GeneratedFile& file : *files) {
    const std::string path = flags.dispatcher + "/" + file.name;
    if (auto written = host.write_file_atomically(path, file.text, false); !written) return written;
    if (!flags.json) say("wrote " + path);
  }
  return {};
}

}  // namespace

int wisdom_command(const WisdomFlags& flags) {
  Result<Wisdom> all = load_wisdom(flags.file);
  if (!all) return fail(all.error(), flags.json);
  const Result<Wisdom> wisdom = chosen_entries(std::move(*all), flags);
  if (!wisdom) return fail(wisdom.error(), flags.json);
  if (!flags.dispatcher.empty()) {
    if (auto written = write_dispatcher(*wisdom, flags); !written)
      return fail(written.error(), flags.json);
    if (!flags.json) return 0;
  }
  if (flags.json) {
    say(wisdom_summary_json(*wisdom));
    return 0;
  }
  const int first = std::max(1, flags.entry);
  for (std::size_t i = 0; i < wisdom->entries.size(); ++i)
    say(fmt::format("entry {}: {}", first + static_cast<int>(i),
                    wisdom_screen(wisdom->entries[i])));
  return 0;
}

}  // namespace cupilot::cli
