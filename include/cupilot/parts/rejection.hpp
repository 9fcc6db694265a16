// The append-only table of rejection codes (docs/formats/rejections.md is checked against it).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct RejectionCode {
  std::string_view code{};  // "verify.bound"
  Stage stage = Stage::write;
  std::string_view meaning{};  // one sentence for a person
};

// Every code a candidate can be rejected with, in the order they were introduced.
std::span<const RejectionCode> rejection_codes();

// A rejection with a code of the table. An unknown code is a programming error and asserts.
Rejected reject(std::string_view code, std::string message, std::string where = {});

std::string_view name_of(Stage stage);

// The next step after a rejection, for a person.
std::string next_step(const Rejected& rejected);

}  // namespace cupilot
CUPILOT_EXPORTS_END
