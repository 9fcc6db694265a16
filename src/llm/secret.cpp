#include "llm/secret.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace cupilot {
namespace {

constexpr std::string_view mask = "[key]";

std::string base64_of(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

// Adds the text that base64 of anything that holds `key` contains: the characters that its
// neighbours do not touch, for each of three places it may stand at.
void add_base64(std::set<std::string>& traces, std::string_view key) {
  for (std::size_t before = 0; before < 3; ++before) {
    const std::string all = base64_of(std::string(before, '\0') + std::string(key));
    const std::size_t first = before == 0 ? 0 : before + 1;
    const std::size_t whole = 8 * (before + key.size()) / 6;
    std::string trace = all.substr(first, whole - first);
    traces.insert(trace);
    std::replace(trace.begin(), trace.end(), '+', '-');
    std::replace(trace.begin(), trace.end(), '/', '_');
    traces.insert(trace);
  }
}

// Writings of the whole key that escape no single character.
std::set<std::string> traces_of(std::string_view key) {
  std::set<std::string> traces = {std::string(key.rbegin(), key.rend())};
  add_base64(traces, key);
  for (const char* unit : {"{:02x}", "{:02X}"}) {
    std::string hex;
    for (const char c : key) hex += fmt::format(fmt::runtime(unit), static_cast<int>(c));
    traces.insert(hex);
  }
  return traces;
}

// Upper and lower case are one: a key that something lowered still tells nearly all of itself.
bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// True if `digits` hexadecimal digits behind `prefix` name `c`.
bool is_code(std::string_view text, std::string_view prefix, std::size_t digits, char c) {
  if (!text.starts_with(prefix) || text.size() < prefix.size() + digits) return false;
  int value = 0;
  const char* begin = text.data() + prefix.size();
  const auto [end, error] = std::from_chars(begin, begin + digits, value, 16);
  return error == std::errc() && end == begin + digits && same(static_cast<char>(value), c);
}

// Length of `key` at the begin of `text`, each character as it is or escaped as in URLs, JSON or C,
// in any mixture; 0: it does not stand there.
std::size_t written_length(std::string_view text, std::string_view key) {
  if (key.empty() || text.empty()) return 0;
  const char c = key.front();
  const std::pair<bool, std::size_t> ways[] = {
      {same(text.front(), c), 1},
      {is_code(text, "%", 2, c), 3},
      {is_code(text, "\\u", 4, c), 6},
      {is_code(text, "\\x", 2, c), 4},
      {text.size() > 1 && text[0] == '\\' && same(text[1], c), 2}};
  for (const auto& [fits, size] : ways) {
    if (!fits) continue;
    if (key.size() == 1) return size;
    const std::size_t rest = written_length(text.substr(size), key.substr(1));
    if (rest > 0) return size + rest;
  }
  return 0;
}

std::string without_escaped(std::string_view text, std::string_view key) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = written_length(text, key);
    out += length > 0 ? mask : text.substr(0, 1);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace

Secret::Secret(std::string text) : text_(std::move(text)) {
  const std::set<std::string> traces = traces_of(text_);
  traces_.assign(traces.begin(), traces.end());
  std::stable_sort(traces_.begin(), traces_.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

Secret::~Secret() {
  OPENSSL_cleanse(text_.data(), text_.size());
  for (std::string& trace : traces_) OPENSSL_cleanse(trace.data(), trace.size());
}

std::string Secret::scrub(std::string_view text) const {
  std::string out = without_escaped(text, text_);
  for (const std::string& trace : traces_) {
    for (std::size_t at = out.find(trace); at != out.npos; at = out.find(trace, at + mask.size()))
      out.replace(at, trace.size(), mask);
  }
  return out;
}

std::string key_header_value(std::string_view prefix, const Secret& secret) {
  return std::string(prefix) + secret.text_;
}

}  // namespace cupilot
