#include "llm/key_source.hpp"

#include <algorithm>
#include <filesystem>

namespace cupilot {
namespace {

constexpr std::size_t shortest_key = 8;  // shorter ones would be found by chance in ordinary text

Error key_error(const std::string& what, const std::string& next) {
  return {ErrorCode::usage, what, next};
}

bool others_may_read(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  using std::filesystem::perms;
  return !error && (status.permissions() & (perms::group_read | perms::others_read)) != perms::none;
}

}  // namespace

Result<Secret> load_key(const KeySource& source, Host& host,
                        const std::function<std::string(const std::string&)>& environment) {
  if (source.env.empty() && source.file.empty()) return Secret();
  const std::string from =
      source.env.empty() ? "the file " + source.file : "the variable " + source.env;
  std::string text;
  if (!source.env.empty()) {
    text = environment ? environment(source.env) : std::string();
    if (text.empty())
      return key_error(from + " holds no key: it is not set", "export " + source.env + "=…");
  } else {
    if (others_may_read(source.file))
      return key_error(from + " can be read by others", "chmod 600 " + source.file);
    auto bytes = host.read_file(source.file);
    if (!bytes) return key_error("a key: " + bytes.error().message, bytes.error().hint);
    text = std::move(*bytes);
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (text.size() < shortest_key || !printable) {
    return key_error(
        from + " holds no key: it wants 8 printable characters or more, without blanks", "");
  }
  return Secret(std::move(text));
}

}  // namespace cupilot
