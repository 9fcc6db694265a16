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

// Says that a file is a tensor's storage at one of all time shapes, or that these are some of them,
// as in the search of one shape of a portfolio, which the file need not fit.
enum class FileShapes { all, some };

// Reads the file of each fill of kind file. Error usage names the first that is not there, that is
// not the tensor's storage at a time shape, or that holds values that the task leaves out.
Result<void> check_files(const Task& task, FileShapes shapes = FileShapes::all);

}  // namespace cupilot
