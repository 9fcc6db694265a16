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

// `unit` written for every character, or for those alone that are neither letters nor digits.
template <class Write>
std::string written(std::string_view key, bool every, Write unit) {
  std::string out;
  for (const char c : key) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    out += plain && !every ? std::string(1, c) : unit(static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out;
}

std::set<std::string> traces_of(std::string_view key) {
  std::set<std::string> traces = {std::string(key), std::string(key.rbegin(), key.rend())};
  add_base64(traces, key);
  for (const bool every : {false, true}) {
    traces.insert(written(key, every, [](unsigned c) { return fmt::format("%{:02X}", c); }));
    traces.insert(written(key, every, [](unsigned c) { return fmt::format("%{:02x}", c); }));
    traces.insert(written(key, every, [](unsigned c) { return fmt::format("\\u{:04x}", c); }));
    traces.insert(written(key, every, [](unsigned c) { return fmt::format("\\u{:04X}", c); }));
  }
  traces.insert(written(key, true, [](unsigned c) { return fmt::format("{:02x}", c); }));
  traces.insert(written(key, true, [](unsigned c) { return fmt::format("{:02X}", c); }));
  // The escapes that leave most characters alone: of a URL and of JSON.
  for (const std::string_view kept : {"-._~", "!$&'()*+,-./:;=?@_~"}) {
    traces.insert(written(key, false, [&](unsigned c) {
      const char ch = static_cast<char>(c);
      return kept.find(ch) != kept.npos ? std::string(1, ch) : fmt::format("%{:02X}", c);
    }));
  }
  traces.insert(written(key, false, [](unsigned c) {
    const char ch = static_cast<char>(c);
    return ch == '"' || ch == '\\' || ch == '/' ? std::string("\\") + ch : std::string(1, ch);
  }));
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
