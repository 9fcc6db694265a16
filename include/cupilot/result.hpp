// How every stage answers: a value, a refused candidate (data), or a failed machine (an error).
#pragma once

#include <cassert>
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
};

// A machine, a file or a caller failed. `message` names the thing and the reason, `hint` the next
// step.
struct Error {
  ErrorCode code = ErrorCode::failure;
  std::string message{};
  std::string hint{};

  // Prepends what was being done: "compiling gemm: no such file".
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

// T or Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // Only after operator bool said false.
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  T& value() {
    assert(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    assert(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

// Done, or Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error)
      : failed_(true), error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return !failed_; }
  Error& error() { return error_; }
  const Error& error() const { return error_; }

 private:
  bool failed_ = false;
  Error error_;
};

// T, a refused candidate, or Error.
template <class T>
class [[nodiscard]] Attempt {
 public:
  Attempt(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Attempt(Rejected rejected)
      : state_(std::in_place_index<1>, std::move(rejected)) {
  }  // NOLINT(google-explicit-constructor)
  Attempt(Error error)
      : state_(std::in_place_index<2>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  bool is_rejected() const { return state_.index() == 1; }
  bool is_error() const { return state_.index() == 2; }
  Rejected& rejected() { return std::get<1>(state_); }
  const Rejected& rejected() const { return std::get<1>(state_); }
  Error& error() { return std::get<2>(state_); }
  const Error& error() const { return std::get<2>(state_); }

 private:
  T& value() {
    assert(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    assert(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  std::variant<T, Rejected, Error> state_;
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
