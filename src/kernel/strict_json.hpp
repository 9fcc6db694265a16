// Strict reading of JSON objects: every key is known, every type is right, nothing stands twice. Only .cpp files that read
// JSON include this.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <cupilot/expr.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

using Json = nlohmann::ordered_json;

inline constexpr int json_depth_limit = 32;

inline Error json_fault(const std::string& where, const std::string& reason, const std::string& fix = {}) {
  return {ErrorCode::usage, where + ": " + reason, fix};
}

// Parses one JSON object; refuses syntax errors (with line and column), repeated keys, and nesting over json_depth_limit.
Result<Json> parse_object(std::string_view text, const std::string& where);

// Reads members of one object and remembers the first mistake. `where` prefixes messages: "plan.launches[0]".
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string where, std::initializer_list<const char*> known);

  const std::optional<Error>& fault() const { return fault_; }
  void fail(const std::string& key, const std::string& reason, const std::string& fix = {});
  // Takes over the mistake of a nested reader, unless there is one already.
  void adopt(const Error& error) {
    if (!fault_) fault_ = error;
  }
  std::string place(const std::string& key) const { return where_.empty() ? key : where_ + "." + key; }

  // The member, or null when absent. An absent `needed` member is a fault.
  const Json* find(const char* key, bool needed = false);
  const Json* find_object(const char* key, bool needed = false);
  const Json* find_array(const char* key, bool needed = false);

  std::string text(const char* key, bool needed, const std::string& fallback = {});
  std::int64_t integer(const char* key, bool needed, std::int64_t fallback = 0);
  bool boolean(const char* key, bool fallback);
  Expr expr(const char* key, bool needed, const Expr& fallback = 0);
  // An array of expressions with at least `least` and at most `most` members.
  std::vector<Expr> exprs(const char* key, bool needed, std::size_t least, std::size_t most, std::vector<Expr> fallback = {});
  std::vector<std::string> texts(const char* key, bool needed);
  std::vector<std::int64_t> integers(const char* key, bool needed);

  // An expression of any place: a string that parses, or an integer.
  Expr to_expr(const Json& value, const std::string& key);

 private:
  const Json* object_ = nullptr;
  std::string where_;
  std::optional<Error> fault_;
};

// The key of `known` nearest to `word`, for "did you mean".
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// An identifier of C: what constants, buffers and launches may be called.
bool is_identifier(std::string_view word);

}  // namespace cupilot
