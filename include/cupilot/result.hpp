// The answer types of all stages: a value, a refused candidate (data), or a failed machine (an
// error).
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include <cupilot/parts/export.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// The process exit code that an error ends in; see docs/formats/exit-codes.md.
enum class ErrorCode {
  failure = 1,
  usage = 2,
  no_device = 3,
  toolchain = 4,
  endpoint = 5,
  budget = 6,
  no_candidate = 7,
  refused = 8,
  not_done = 9,
};

// A machine, a file or a caller failed. `message` names the thing and the reason, `hint` the next
// step.
struct Error {
  ErrorCode code = ErrorCode::failure;
  std::string message{};
  std::string hint{};

  // Puts the interrupted action before the message: "compiling gemm: no such file".
  [[nodiscard]] Error while_doing(const std::string& what) && {
    message = what + ": " + message;
    return std::move(*this);
  }
};

// The station of the pipe that refused a candidate.
enum class Stage { write, gate, compile, load, run, verify, floor, measure, confirm };

// A candidate was refused. `code` is a row of rejection.hpp's table, `where` the place (line,
// block, element, file).
struct Rejected {
  Stage stage = Stage::write;
  std::string code{};
  std::string message{};
  std::string where{};
};

// Ends the program after an access that contradicts a Result's or an Attempt's state, such as
// `*result` of an error; checked in every build type. `accessed` names the access, `held` what the
// object held instead: "value", or the message of its error or refusal.
// The library defines it weakly: it prints nothing and calls std::abort, so both texts stand in the
// backtrace. A program that links the static library may define it itself, to log or to throw.
[[noreturn]] void wrong_access(const char* accessed, const char* held);

// The answer of an Attempt without a value, on its way through a caller that returns an Attempt.
struct Failure {
  std::variant<Rejected, Error> reason{};
};

// T or Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return *value(); }
  const T& operator*() const& { return *value(); }
  T&& operator*() && { return std::move(*value()); }
  T* operator->() { return value(); }
  const T* operator->() const { return value(); }

  // Only after operator bool said false.
  Error& error() {
    check_failed();
    return *std::get_if<1>(&state_);
  }
  const Error& error() const {
    check_failed();
    return *std::get_if<1>(&state_);
  }
  // The error, to return from a function that returns a Result or an Attempt.
  const Error& failure() const { return error(); }

 private:
  T* value() {
    check_value();
    return std::get_if<0>(&state_);
  }
  const T* value() const {
    check_value();
    return std::get_if<0>(&state_);
  }
  void check_value() const {
    if (const Error* held = std::get_if<1>(&state_))
      wrong_access("value of a Result", held->message.c_str());
  }
  void check_failed() const {
    if (state_.index() == 0) wrong_access("error of a Result", "value");
  }
  std::variant<T, Error> state_;
};

// Done, or Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error)  // NOLINT(google-explicit-constructor)
      : failed_(true), error_(std::move(error)) {}
  explicit operator bool() const { return !failed_; }
  // Only after operator bool said false.
  Error& error() {
    check_failed();
    return error_;
  }
  const Error& error() const {
    check_failed();
    return error_;
  }
  // The error, to return from a function that returns a Result or an Attempt.
  const Error& failure() const { return error(); }

 private:
  void check_failed() const {
    if (!failed_) wrong_access("error of a Result", "value");
  }
  bool failed_ = false;
  Error error_;
};

// T, a refused candidate, or Error.
template <class T>
class [[nodiscard]] Attempt {
 public:
  Attempt(T value)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<0>, std::move(value)) {}
  Attempt(Rejected rejected)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(rejected)) {}
  Attempt(Error error)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<2>, std::move(error)) {}
  Attempt(Failure failure)  // NOLINT(google-explicit-constructor)
      : Attempt(
            std::visit([](auto& reason) { return Attempt(std::move(reason)); }, failure.reason)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return *value(); }
  const T& operator*() const& { return *value(); }
  T&& operator*() && { return std::move(*value()); }
  T* operator->() { return value(); }
  const T* operator->() const { return value(); }

  bool is_rejected() const { return state_.index() == 1; }
  bool is_error() const { return state_.index() == 2; }
  // Only where is_rejected().
  Rejected& rejected() {
    check_state(1, "refusal of an Attempt");
    return *std::get_if<1>(&state_);
  }
  const Rejected& rejected() const {
    check_state(1, "refusal of an Attempt");
    return *std::get_if<1>(&state_);
  }
  // Only where is_error().
  Error& error() {
    check_state(2, "error of an Attempt");
    return *std::get_if<2>(&state_);
  }
  const Error& error() const {
    check_state(2, "error of an Attempt");
    return *std::get_if<2>(&state_);
  }
  // The refusal or the error, to return from a function that returns an Attempt. Only after
  // operator bool said false.
  Failure failure() const {
    if (is_rejected()) return {*std::get_if<1>(&state_)};
    if (!is_error()) wrong_access("failure of an Attempt", "value");
    return {*std::get_if<2>(&state_)};
  }

 private:
  T* value() {
    check_state(0, "value of an Attempt");
    return std::get_if<0>(&state_);
  }
  const T* value() const {
    check_state(0, "value of an Attempt");
    return std::get_if<0>(&state_);
  }
  void check_state(std::size_t wanted, const char* accessed) const {
    if (state_.index() != wanted) wrong_access(accessed, held());
  }
  const char* held() const {
    if (const Rejected* rejected = std::get_if<1>(&state_)) return rejected->message.c_str();
    if (const Error* error = std::get_if<2>(&state_)) return error->message.c_str();
    return "value";
  }
  std::variant<T, Rejected, Error> state_;
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
