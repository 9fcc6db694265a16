// Checks that an answer fits the JSON schema it was asked for; endpoints promise it and do not all
// keep it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <cupilot/result.hpp>

namespace cupilot {

class AnswerSchema {
 public:
  // Error{usage}: no JSON schema.
  static Result<AnswerSchema> from(const std::string& schema);

  // The first JSON object in `text` (fenced or chatty text around it is dropped) when it fits, else
  // what is wrong with it.
  struct Checked {
    std::string object;  // canonical text
    std::string wrong;   // empty: it fits
  };
  Checked check(std::string_view text) const;

 private:
  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace cupilot
