#include "evolution/journal/refusals.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/tunable.hpp>

#include "evolution/journal/run_files.hpp"
#include "kernel/file_text.hpp"

namespace cupilot {
namespace {

constexpr std::string_view compiled_as = "kernel.cu";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Without its indent; control characters become blanks.
std::string shown_line(std::string_view line) {
  std::string text(line);
  for (char& c : text) c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t end = text.find_last_not_of(' ');
  return end == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

// "kernel.cu:19" or "kernel.cu(19)" in a text.
struct Location {
  std::size_t at = 0, length = 0;
  int line = 0;
};

std::optional<Location> place_in(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(compiled_as, from); at != std::string_view::npos;
       at = text.find(compiled_as, at + 1)) {
    const std::size_t digits = at + compiled_as.size() + 1;
    if (digits >= text.size() || (text[digits - 1] != ':' && text[digits - 1] != '(')) continue;
    int line = 0;
    const auto read = std::from_chars(text.data() + digits, text.data() + text.size(), line);
    if (read.ec != std::errc() || line <= 0) continue;
    std::size_t end = static_cast<std::size_t>(read.ptr - text.data());
    if (text[digits - 1] == '(' && end < text.size() && text[end] == ')') ++end;
    return Location{at, end - at, line};
  }
  return std::nullopt;
}

void add_own(OwnTemplates& own, const std::string& path, std::string text) {
  if (const auto tunable = parse_tunable(text, path))
    own.push_back({tunable->name, path, std::move(text)});
}

// Null: the template is none of the user's.
const OwnTemplate* own_template(const std::string& name, const OwnTemplates& own) {
  const auto found = std::find_if(own.begin(), own.end(),
                                  [&](const OwnTemplate& one) { return one.name == name; });
  return found == own.end() ? nullptr : &*found;
}

// A kernel's text ends as the template's file does. 0: the line is not of the file.
int line_in_file(const std::vector<std::string_view>& kernel,
                 const std::vector<std::string_view>& file, int line) {
  const auto behind = static_cast<std::ptrdiff_t>(kernel.size()) - line;
  const std::ptrdiff_t there = static_cast<std::ptrdiff_t>(file.size()) - behind;
  if (behind < 0 || there < 1 || there > static_cast<std::ptrdiff_t>(file.size())) return 0;
  const auto same = kernel[static_cast<std::size_t>(line - 1)];
  return file[static_cast<std::size_t>(there - 1)] == same ? static_cast<int>(there) : 0;
}

// A line of a file of the user's.
struct FileLine {
  const OwnTemplate* file = nullptr;
  int line = 0;
};

// The line of the template or of a device header, which stands in a kernel's text below its name.
FileLine own_line(const std::vector<std::string_view>& kernel, const OwnTemplate& mine,
                  const OwnTemplates& own, int line) {
  if (const int there = line_in_file(kernel, lines_of(mine.text), line)) return {&mine, there};
  constexpr std::string_view named = "// cupilot/";
  if (line > static_cast<int>(kernel.size())) return {};
  int above = line - 1;
  while (above > 0 && !kernel[static_cast<std::size_t>(above - 1)].starts_with(named)) --above;
  if (above == 0) return {};
  const OwnTemplate* header =
      own_template(std::string(kernel[static_cast<std::size_t>(above - 1)].substr(3)), own);
  if (header == nullptr) return {};
  const auto file = lines_of(header->text);
  const std::size_t there = static_cast<std::size_t>(line - above);
  const bool same =
      there <= file.size() && file[there - 1] == kernel[static_cast<std::size_t>(line - 1)];
  return same ? FileLine{header, line - above} : FileLine{};
}

// Places of the kernel's text in `words` become places of the user's files; the first of them.
FileLine move_to_file(std::string& words, const std::vector<std::string_view>& kernel,
                      const OwnTemplate& mine, const OwnTemplates& own) {
  FileLine first;
  for (auto place = place_in(words, 0); place;) {
    std::size_t next = place->at + place->length;
    if (const FileLine there = own_line(kernel, mine, own, place->line); there.line > 0) {
      const std::string& path = there.file->path;
      const std::string moved =
          fmt::format("{}:{}", path.substr(path.find_last_of('/') + 1), there.line);
      words.replace(place->at, place->length, moved);
      next = place->at + moved.size();
      if (first.line == 0) first = there;
    }
    place = place_in(words, next);
  }
  return first;
}

// The line that holds the expression in backquotes with which a refusal of a plan begins.
int line_of_expression(const std::string& message, const std::vector<std::string_view>& file) {
  const std::size_t end = message.find('`', 1);
  if (!message.starts_with('`') || end == std::string::npos || end < 2) return 0;
  const std::string_view expression = std::string_view(message).substr(1, end - 1);
  const std::string quoted = fmt::format("\"{}\"", expression);
  const auto found = std::find_if(file.begin(), file.end(), [&](std::string_view line) {
    return line.find(quoted) != std::string_view::npos;
  });
  return found == file.end() ? 0 : static_cast<int>(found - file.begin()) + 1;
}

}  // namespace

OwnTemplates own_templates(const std::vector<std::string>& shown,
                           const std::vector<std::string>& read, const Families& families) {
  OwnTemplates own;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (auto text = file_text(read[i])) add_own(own, shown[i], std::move(*text));
  }
  for (const Family& family : families) {
    for (const auto& [path, text] : family.texts) {
      if (family.built_in) continue;
      if (path.starts_with("templates/") && path.ends_with(".cu"))
        add_own(own, family.origin + "/" + path, text);
      if (path.starts_with("device/"))
        own.push_back(
            {"cupilot/" + path.substr(path.find('/') + 1), family.origin + "/" + path, text});
    }
  }
  return own;
}

bool keep_first(FirstRefusals& all, FirstRefusal refusal) {
  const auto found = all.find(refusal.why.code);
  const bool fresh = found == all.end();
  if (fresh || refusal.candidate < found->second.candidate)
    all.insert_or_assign(refusal.why.code, std::move(refusal));
  return fresh;
}

FirstRefusal first_refusal(const Candidate& candidate) {
  const std::string& name = candidate.source.template_name;
  return {candidate.id,
          candidate.id == 0 ? "the plain setting of " + name : describe(candidate.strategy), name,
          candidate.kernel_id, std::get<Rejected>(candidate.outcome)};
}

Refusal explained(const FirstRefusal& refusal, std::string_view text, const OwnTemplates& own) {
  Refusal told;
  told.candidate = refusal.candidate;
  told.setting = refusal.setting;
  told.why = refusal.why;
  told.next = next_step(refusal.why);
  const std::vector<std::string_view> kernel = lines_of(text);
  const OwnTemplate* mine = own_template(refusal.template_name, own);
  if (mine == nullptr && refusal.why.code == "verify.no_shape")
    told.next =
        "nothing: numbers of a template that do not fit the task's shapes; others are tried";
  if (mine != nullptr) {
    const FileLine in_place = move_to_file(told.why.where, kernel, *mine, own);
    FileLine there = move_to_file(told.why.message, kernel, *mine, own);
    if (there.line == 0) there = in_place;
    if (there.line == 0) there = {mine, line_of_expression(told.why.message, lines_of(mine->text))};
    if (there.line > 0) {
      told.line = there.line;
      told.source_line =
          shown_line(lines_of(there.file->text)[static_cast<std::size_t>(there.line - 1)]);
      told.file = there.file->path;
    }
  }
  if (told.line > 0) return told;
  auto place = place_in(told.why.message, 0);
  if (!place) place = place_in(told.why.where, 0);
  if (place && place->line <= static_cast<int>(kernel.size())) {
    told.line = place->line;
    told.source_line = shown_line(kernel[static_cast<std::size_t>(place->line - 1)]);
  }
  return told;
}

std::vector<Refusal> explained(const FirstRefusals& all, Host& host, const std::string& run_dir,
                               const OwnTemplates& own) {
  std::vector<Refusal> told;
  for (const auto& [code, refusal] : all) {
    const auto source = refusal.kernel_id.empty() || run_dir.empty()
                            ? Result<KernelSource>(Error{})
                            : kept_source(host, run_dir, refusal.kernel_id);
    told.push_back(explained(refusal, source ? source->text : "", own));
  }
  std::stable_sort(told.begin(), told.end(),
                   [](const Refusal& a, const Refusal& b) { return a.candidate < b.candidate; });
  return told;
}

std::string sentence(const Refusal& refusal) {
  std::string message = refusal.why.message;
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::string text = refusal.candidate == 0
                         ? fmt::format("{} {}: {}", refusal.setting, refusal.why.code, message)
                         : fmt::format("#{} ({}) {}: {}", refusal.candidate, refusal.setting,
                                       refusal.why.code, message);
  if (!refusal.why.where.empty()) text += fmt::format(" [{}]", refusal.why.where);
  if (refusal.line > 0)
    text += fmt::format("; {}:{}: {}", refusal.file.empty() ? compiled_as : refusal.file,
                        refusal.line, refusal.source_line);
  return text;
}

}  // namespace cupilot
