// Content of tensors that files hold (docs/formats/task.md, Content).
#pragma once

#include <cstddef>
#include <span>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// The bytes, read and compared with their digest once a process, which keeps them. Any thread.
// Error usage: they are not there, or others.
Result<std::span<const std::byte>> file_bytes(const FileContent& file);

// Reads the file of each fill of kind file. Error usage names the first that is not the tensor's
// storage at a time shape, or holds values that the task leaves out.
Result<void> check_files(const Task& task);

}  // namespace cupilot
