// Strict reading of JSON: every field that exists is asked for by name and type, every other one is an error. The first
// error stays; after it readers answer defaults.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/expr.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

using Json = nlohmann::ordered_json;

// Where errors of one file go.
class JsonFaults {
 public:
  explicit JsonFaults(std::string origin) : origin_(std::move(origin)) {}
  // "task.json: tensors[0].type: 'fp7' is no known type", and the fix as hint.
  void fail(const std::string& where, const std::string& reason, const std::string& fix);
  const std::optional<Error>& first() const { return first_; }

 private:
  std::string origin_;
  std::optional<Error> first_;
};

// One JSON object. `done` complains of fields nobody asked for.
class JsonObject {
 public:
  JsonObject(JsonFaults& faults, const Json& value, std::string where);

  // The field, or null; a missing needed one is an error.
  const Json* find(const char* key, bool needed = false);
  std::string text(const char* key, bool needed, std::string otherwise = {});
  double number(const char* key, double otherwise);
  bool truth(const char* key, bool otherwise);
  std::int64_t integer(const char* key, bool needed, std::int64_t otherwise = 0);
  Expr expr(const char* key, bool needed, Expr otherwise = 0);
  std::vector<Expr> exprs(const char* key, bool needed);
  std::vector<std::string> texts(const char* key);
  // Position among `words`.
  std::size_t choice(const char* key, std::span<const std::string_view> words, std::size_t otherwise);
  // Elements of an array, empty when absent.
  std::vector<const Json*> items(const char* key, bool needed);
  void done();

  std::string where(std::string_view key) const { return where_.empty() ? std::string(key) : where_ + "." + std::string(key); }
  JsonFaults& faults() { return faults_; }

 private:
  Expr to_expr(const Json& value, const std::string& place);

  JsonFaults& faults_;
  const Json* object_ = nullptr;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
};

// The whole text as one object. Error: not JSON (with line and column), a name twice in one object, nesting beyond 32.
Result<Json> read_json_object(std::string_view text, const std::string& origin);

}  // namespace cupilot
