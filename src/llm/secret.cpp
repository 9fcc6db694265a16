#include "llm/secret.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace cupilot {
namespace {

constexpr std::string_view mask = "[key]";

std::string base64_of(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

// What base64 of any text that holds `key` contains: the characters that its neighbours do not touch, for each of three places
// it may stand at.
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

// An escape: how a character is written, and which ones beside letters and digits are left as they are.
struct Escape {
  const char* unit;  // of fmt, for the character's number
  std::string_view kept;
};

constexpr std::string_view unreserved = "-._~", of_uris = "-._~!#$&'()*+,/:;=?@[]";
constexpr std::string_view ascii_but_quotes = "!#$%&'()*+,-./:;<=>?@[]^_`{|}~";
constexpr std::string_view ascii_but_quotes_and_slash = "!#$%&'()*+,-.:;<=>?@[]^_`{|}~";
constexpr Escape escapes[] = {
    {"%{:02X}", unreserved},
    {"%{:02x}", unreserved},
    {"%{:02X}", of_uris},
    {"%{:02x}", of_uris},
    {"%{:02X}", ""},
    {"%{:02x}", ""},
    {"\\u{:04x}", ""},
    {"\\u{:04X}", ""},
    {"\\{:c}", ascii_but_quotes},
    {"\\{:c}", ascii_but_quotes_and_slash},
};
// Every character written so.
constexpr const char* codes[] = {"{:02x}", "{:02X}", "%{:02x}", "%{:02X}", "\\u{:04x}", "\\u{:04X}", "\\x{:02x}"};

std::string escaped(std::string_view key, const Escape& escape) {
  std::string out;
  for (const char c : key) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool kept = plain || escape.kept.find(c) != escape.kept.npos;
    out += kept ? std::string(1, c) : fmt::format(fmt::runtime(escape.unit), static_cast<int>(c));
  }
  return out;
}

std::string coded(std::string_view key, const char* unit) {
  std::string out;
  for (const char c : key) out += fmt::format(fmt::runtime(unit), static_cast<int>(c));
  return out;
}

std::set<std::string> traces_of(std::string_view key) {
  std::set<std::string> traces = {std::string(key), std::string(key.rbegin(), key.rend())};
  add_base64(traces, key);
  for (const Escape& escape : escapes) traces.insert(escaped(key, escape));
  for (const char* unit : codes) traces.insert(coded(key, unit));
  return traces;
}

}  // namespace

Secret::Secret(std::string text) : text_(std::move(text)) {
  const std::set<std::string> traces = traces_of(text_);
  traces_.assign(traces.begin(), traces.end());
  std::stable_sort(traces_.begin(), traces_.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

Secret::~Secret() {
  OPENSSL_cleanse(text_.data(), text_.size());
  for (std::string& trace : traces_) OPENSSL_cleanse(trace.data(), trace.size());
}

std::string Secret::scrub(std::string_view text) const {
  std::string out(text);
  for (const std::string& trace : traces_) {
    for (std::size_t at = out.find(trace); at != out.npos; at = out.find(trace, at + mask.size()))
      out.replace(at, trace.size(), mask);
  }
  return out;
}

std::string key_header_value(std::string_view prefix, const Secret& secret) { return std::string(prefix) + secret.text_; }

}  // namespace cupilot
