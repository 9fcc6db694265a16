// Strict reading of JSON files of any kind: every field that exists is asked for by name and type,
// every other one is an error. The first error stays; after it readers answer defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/expr.hpp>
#include <cupilot/result.hpp>

#include "base/json.hpp"

namespace cupilot {

using Json = OrderedJson;

// Collects the errors of one file.
class JsonFaults {
 public:
  // `guide`: the page that describes the file.
  JsonFaults(std::string origin, std::string guide)
      : origin_(std::move(origin)), guide_(std::move(guide)) {}
  // "task.json: tensors[0].type: 'fp7' is no known type", and the fix as hint; without one, the
  // guide.
  void fail(const std::string& where, const std::string& reason, const std::string& fix = {});
  const std::optional<Error>& first() const { return first_; }
  const std::string& guide() const { return guide_; }

 private:
  std::string origin_, guide_;
  std::optional<Error> first_;
};

// One JSON object. `done` complains of fields nobody asked for, then of needed ones that are
// missing.
class JsonObject {
 public:
  JsonObject(JsonFaults& faults, const Json& value, std::string where);

  // The field, or null.
  const Json* find(const char* key, bool needed = false);
  // Finds an object; otherwise as find().
  const Json* find_object(const char* key, bool needed = false);
  std::string text(const char* key, bool needed, std::string otherwise = {});
  double number(const char* key, double otherwise);
  bool truth(const char* key, bool otherwise);
  std::int64_t integer(const char* key, bool needed, std::int64_t otherwise = 0);
  Expr expr(const char* key, bool needed, Expr otherwise = 0);
  // Between `least` and `most` of them, where the field stands.
  std::vector<Expr> exprs(const char* key, bool needed, std::size_t least = 0,
                          std::size_t most = SIZE_MAX);
  std::vector<std::string> texts(const char* key, bool needed = false);
  std::vector<std::int64_t> integers(const char* key, bool needed);
  // Position among `words`.
  std::size_t choice(const char* key, std::span<const std::string_view> words,
                     std::size_t otherwise);
  // Elements of an array, empty when absent.
  std::vector<const Json*> items(const char* key, bool needed);
  void done();

  std::string where(std::string_view key) const {
    return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
  }
  void fail(std::string_view key, const std::string& reason, const std::string& fix = {}) {
    faults_.fail(where(key), reason, fix);
  }
  JsonFaults& faults() { return faults_; }
  // A whole number, or a text that parses.
  Expr to_expr(const Json& value, const std::string& place);

 private:
  JsonFaults& faults_;
  const Json* object_ = nullptr;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> missing_;
};

// The whole text as one object. Error: not JSON (with line and column), a name twice in one object,
// nesting beyond 32.
Result<Json> read_json_object(std::string_view text, const std::string& origin);

}  // namespace cupilot
