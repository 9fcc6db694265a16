// The folder that a capture is written to: docs/formats/capture.md. All is written at once, so that
// a program that dies keeps what was captured before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupilot::inject {

// Limits and place, from the environment that `cupilot capture` sets.
struct Settings {
  std::string folder{};               // empty: nothing is captured
  std::int64_t launches = 32;         // distinct ones to keep
  std::uint64_t bytes = 64ull << 20;  // of an allocation
  std::uint64_t all_bytes = 8ull << 30;
  std::string entry{};  // part of the names of the kernels to keep; empty: all
};
const Settings& settings();

// A line of JSON in the making: the keys and values of one object.
class Line {
 public:
  Line() = default;
  explicit Line(std::string_view event);
  Line& text(std::string_view key, std::string_view value);
  Line& number(std::string_view key, std::uint64_t value);
  Line& numbers(std::string_view key, std::span<const std::uint64_t> values);
  // A value that is JSON already.
  Line& json(std::string_view key, std::string_view value);
  std::string object() const { return text_ + "}"; }

 private:
  void key(std::string_view name);
  std::string text_ = "{";
};
std::string quoted(std::string_view text);

// Appends the line to the folder's list of events. False once writing has failed.
bool append(const Line& line);
// Makes a folder of the folder; false: there is one.
bool make_folder(const std::string& name);
// Writes a file of the folder, by another name first.
bool write_file(const std::string& name, std::span<const std::uint8_t> bytes);
// Takes so many bytes of what may be written in all; false: there are none left.
bool take_room(std::uint64_t bytes);
// Says one line on standard error and captures nothing more.
void stand_aside(const std::string& reason);
bool standing_aside();

std::string hexadecimal(std::span<const std::uint8_t> bytes);
std::string hexadecimal(std::uint64_t value);
std::uint64_t hash_of(std::span<const std::uint8_t> bytes, std::uint64_t seed = 0);

}  // namespace cupilot::inject
