#include "task/file_content.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/hash.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

using Bytes = std::vector<std::byte>;

Error file_error(const FileContent& file, const std::string& reason, const std::string& fix) {
  return {ErrorCode::usage, fmt::format("{}: {}", file.path, reason), fix};
}

Result<Bytes> read_bytes(const FileContent& file) {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(file.path, failed);
  std::ifstream in(file.path, std::ios::binary);
  if (failed || !in) {
    return file_error(
        file, "content of a tensor cannot be read",
        "put it back at that path, or mend fill.file, a path from the task file's folder on");
  }
  const auto end =
      static_cast<std::uintmax_t>(file.offset) + static_cast<std::uintmax_t>(file.bytes);
  if (end > size) {
    return file_error(
        file, fmt::format("has {} bytes, {} from {} on are asked", size, file.bytes, file.offset),
        "mend fill.bytes and fill.offset, or write the whole tensor");
  }
  Bytes bytes;
  try {
    bytes.resize(static_cast<std::size_t>(file.bytes));
  } catch (const std::exception&) {
    return file_error(file, fmt::format("{} bytes are more than this host has memory", file.bytes),
                      "let the task have a smaller tensor, or use a host with more memory");
  }
  in.seekg(file.offset);
  if (!in.read(reinterpret_cast<char*>(bytes.data()), file.bytes))
    return file_error(file, "content of a tensor cannot be read", "look at the disk it lies on");
  const std::string digest =
      sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (digest != file.sha256) {
    return file_error(
        file, fmt::format("the bytes have SHA-256 {}, the task names {}", digest, file.sha256),
        "the file is another than the task was written for: put that one there, or "
        "give fill.sha256 the digest it has");
  }
  return bytes;
}

// Says what is wrong with an element's value; "": nothing.
std::string fault_of(const Tensor& tensor, const FillParams& p, long long below, long long place) {
  const Fill& fill = tensor.fill;
  if (!is_float_type(p.type)) {
    const long long value = load_integer(p.given, place, p.type);
    if (tensor.type == DType::boolean)
      return value == 0 || value == 1 ? "" : fmt::format("{}, which is no bool", value);
    const bool outside = below > 0 && (value < 0 || value >= below);
    return outside ? fmt::format("{}, not in 0 to {}, which fill.below says", value, below - 1)
                   : "";
  }
  const double value = decode(load_bits(p.given, place, p.type), p.type);
  if (fill.values != FillValues::any && !std::isfinite(value))
    return fmt::format("{}, where fill.values leaves it out", value);
  if (fill.values == FillValues::range && (value < fill.low || value > fill.high))
    return fmt::format("{}, not in {} to {}, which fill.low and fill.high say", value, fill.low,
                       fill.high);
  return "";
}

Result<void> check_values(const Tensor& tensor, const FillParams& p) {
  for (long long place = 0; place < p.given_count; ++place) {
    const std::string fault = fault_of(tensor, p, p.below, place);
    if (fault.empty()) continue;
    return file_error(tensor.fill.file,
                      fmt::format("element {} of tensor '{}' is {}", place, tensor.name, fault),
                      "mend the file, or let the task allow it");
  }
  for (long long i = 0; tensor.fill.structure != Structure::dense && i < p.elements; ++i) {
    const long long place = storage_offset(p, i);
    if (load_bits(p.given, place, p.type) == fill_bits(p, i)) continue;
    return file_error(tensor.fill.file,
                      fmt::format("element {} of tensor '{}' is none that structure {} allows",
                                  place, tensor.name, name_of(tensor.fill.structure)),
                      "mend the file, or use structure dense");
  }
  return {};
}

// Looks at each time shape whose storage has as many bytes as the file.
Result<void> check_file(const Task& task, std::size_t tensor, FileShapes shapes) {
  const Tensor& checked = task.tensors[tensor];
  std::string sizes;
  bool fits = false;
  for (const Workload& shape : task.time_shapes) {
    const auto layout = shape_of(task, checked, shape);
    if (!layout) return layout.error();
    const std::int64_t bytes = layout->span * size_of(checked.type);
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", bytes);
    if (bytes != checked.fill.file.bytes) continue;
    fits = true;
    const auto params = fill_params(task, tensor, shape, {});
    if (!params) return params.error();
    if (auto valid = check_values(checked, *params); !valid) return valid;
  }
  if (fits) return {};
  if (shapes == FileShapes::some) {
    const auto read = file_bytes(checked.fill.file);
    return read ? Result<void>() : read.error();
  }
  return file_error(
      checked.fill.file,
      fmt::format("{} bytes are no storage of tensor '{}', which has {} at the task's "
                  "time shapes",
                  checked.fill.file.bytes, checked.name, sizes),
      "mend fill.bytes, the tensor's type or its shape");
}

}  // namespace

Result<std::span<const std::byte>> file_bytes(const FileContent& file) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Bytes>> kept;  // by digest
  const std::lock_guard lock(mutex);
  std::unique_ptr<const Bytes>& bytes = kept[file.sha256];
  if (bytes == nullptr) {
    auto read = read_bytes(file);
    if (!read) return read.error();
    bytes = std::make_unique<const Bytes>(std::move(*read));
  }
  if (bytes->size() != static_cast<std::size_t>(file.bytes)) {
    return file_error(
        file, fmt::format("{} bytes are asked, and the digest is of {}", file.bytes, bytes->size()),
        "mend fill.bytes, or give fill.sha256 the digest of these bytes");
  }
  return std::span<const std::byte>(*bytes);
}

Result<void> check_files(const Task& task, FileShapes shapes) {
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    const Tensor& tensor = task.tensors[i];
    if (tensor.role == Role::out || tensor.fill.kind != FillKind::file) continue;
    if (auto fits = check_file(task, i, shapes); !fits) return fits;
  }
  return {};
}

}  // namespace cupilot
