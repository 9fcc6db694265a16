// The tensors and scalars of a task among a captured launch's arguments.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cupilot/parts/capture.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// A pointer among a launch's arguments.
struct LaunchPointer {
  std::size_t argument = 0;
  std::uint64_t offset = 0;   // in the argument
  std::uint64_t address = 0;  // where it points to
  std::uint64_t room = 0;     // bytes from there to its allocation's end
  std::size_t buffer = 0;     // the allocation, among the launch's
  bool written = false;       // the launch changed some of them
  bool zero = false;          // they were zero before it
  bool again = false;         // an earlier argument names the same address
  std::string name{};         // "arg2", "arg2+8"
  std::string taken{};        // the tensor; "": none
};

struct Binding {
  std::vector<LaunchPointer> places{};           // in the arguments' order
  std::map<std::size_t, std::string> scalars{};  // by argument
  std::vector<std::string> in_order{};           // tensors that --bind does not name

  const LaunchPointer* at(std::size_t argument, std::uint64_t offset) const;
  const LaunchPointer* of(const std::string& tensor) const;
  std::string says() const;  // "arg0 is x, arg1 is y"
};

// `words`: as of captured_kernel(), which says what they mean. Error usage: the arguments do not
// tell which are the tensors, or have too little room for them at the first time shape.
Result<Binding> bind_launch(const Capture& capture, const CapturedLaunch& launch, const Task& task,
                            const std::vector<std::string>& words);

// Error usage: the task is of several shapes.
Result<void> check_one_shape(const CapturedLaunch& launch, const Task& task);

// Bytes of a buffer that `file` kept from `address` on: "" where none were.
Result<std::string> kept_bytes(const Capture& capture, const CapturedBuffer& buffer,
                               const std::string& file, std::uint64_t address);

// A number among the launch's arguments; zero past their end.
std::uint64_t word_at(const CapturedLaunch& launch, std::uint64_t at, std::size_t bytes);

// Names the launch.
Error launch_refusal(const CapturedLaunch& launch, const std::string& why, const char* next);

}  // namespace cupilot
