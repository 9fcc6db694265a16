#include "inject/record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cupilot::inject {
namespace {

std::atomic<bool> aside{false};
std::atomic<std::uint64_t> written{0};

Settings read_settings() {
  Settings read;
  const auto value = [](const char* name) {
    const char* found = std::getenv(name);
    return std::string(found != nullptr ? found : "");
  };
  read.folder = value("CUPILOT_CAPTURE");
  read.entry = value("CUPILOT_CAPTURE_ENTRY");
  if (const std::string n = value("CUPILOT_CAPTURE_LAUNCHES"); !n.empty())
    read.launches = std::atoll(n.c_str());
  if (const std::string n = value("CUPILOT_CAPTURE_MEGABYTES"); !n.empty())
    read.bytes = static_cast<std::uint64_t>(std::atoll(n.c_str())) << 20;
  return read;
}

// Writes all of it to an open file.
bool write_all(int file, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t wrote = ::write(file, at, bytes);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    at += wrote;
    bytes -= static_cast<std::size_t>(wrote);
  }
  return true;
}

bool failed(const std::string& name) {
  stand_aside(settings().folder + "/" + name + ": " + std::strerror(errno));
  return false;
}

}  // namespace

const Settings& settings() {
  static const Settings& read = *new Settings(read_settings());  // asked at the very end, too
  return read;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Line::Line(std::string_view event) { text("event", event); }

void Line::key(std::string_view name) {
  if (text_.size() > 1) text_ += ", ";
  text_ += quoted(name) + ": ";
}
Line& Line::text(std::string_view name, std::string_view value) {
  key(name);
  text_ += quoted(value);
  return *this;
}
Line& Line::number(std::string_view name, std::uint64_t value) {
  key(name);
  text_ += std::to_string(value);
  return *this;
}
Line& Line::numbers(std::string_view name, std::span<const std::uint64_t> values) {
  std::string list = "[";
  for (const std::uint64_t value : values)
    list += (list.size() > 1 ? ", " : "") + std::to_string(value);
  return json(name, list + "]");
}
Line& Line::json(std::string_view name, std::string_view value) {
  key(name);
  text_ += value;
  return *this;
}

bool append(const Line& line) {
  if (standing_aside()) return false;
  const std::string path = settings().folder + "/capture.jsonl", text = line.object() + "\n";
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return failed("capture.jsonl");
  const bool done = write_all(file, text.data(), text.size());  // lines of processes do not mix
  ::close(file);
  return done || failed("capture.jsonl");
}

bool make_folder(const std::string& name) {
  const std::string path = settings().folder + "/" + name;
  if (::mkdir(path.c_str(), 0755) == 0) return true;
  if (errno != EEXIST) failed(name);
  return false;
}

bool write_file(const std::string& name, std::span<const std::uint8_t> bytes) {
  const std::string path = settings().folder + "/" + name;
  const std::string part = path + "." + std::to_string(::getpid()) + ".part";
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return failed(name);
  const bool done = write_all(file, bytes.data(), bytes.size());
  ::close(file);
  if (done && ::rename(part.c_str(), path.c_str()) == 0) return true;
  failed(name);
  ::unlink(part.c_str());
  return false;
}

bool take_room(std::uint64_t bytes) {
  return written.fetch_add(bytes) + bytes <= settings().all_bytes;
}

void stand_aside(const std::string& reason) {
  if (aside.exchange(true)) return;
  std::fprintf(stderr, "cupilot capture: %s: nothing more is captured; the program goes on\n",
               reason.c_str());
}

bool standing_aside() { return aside || settings().folder.empty(); }

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::uint64_t hash_of(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ull ^ seed ^ bytes.size();
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
  };
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  std::uint64_t rest = 0;
  if (i < bytes.size()) std::memcpy(&rest, bytes.data() + i, bytes.size() - i);
  mix(rest);
  return hash;
}

}  // namespace cupilot::inject
