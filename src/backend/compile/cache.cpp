#include "backend/compile/cache.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <cupilot/parts/host.hpp>

#include "base/hash.hpp"

namespace cupilot {
namespace {

namespace fs = std::filesystem;

// First of each file, then the digest of what follows it, and a new line. Another layout of
// CompileAnswer takes another number.
constexpr std::string_view mark = "cupilot image 1 ";
constexpr std::size_t head_bytes = mark.size() + 64 + 1;

// Returns the reason for which the folder must not be used; empty: it may.
std::string refused(const std::string& folder) {
  struct stat found {};
  if (stat(folder.c_str(), &found) != 0) return fmt::format("{}: {}", folder, std::strerror(errno));
  if (!S_ISDIR(found.st_mode)) return folder + " is no folder";
  if (found.st_uid != geteuid())
    return folder + " belongs to another user, who could put images of other sources there";
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return folder + " can be written by others, who could put images of other sources there";
  return access(folder.c_str(), R_OK | W_OK | X_OK) == 0
             ? ""
             : fmt::format("{}: {}", folder, std::strerror(errno));
}

struct Image {
  fs::path path;
  fs::file_time_type used;
  std::int64_t bytes = 0;
};

// Removes what was used last the longest ago, until three quarters of the cap are left; other
// processes may do the same.
void shrink(const std::string& folder, std::int64_t cap) {
  std::vector<Image> images;
  std::int64_t sum = 0;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code gone;
    Image image{at->path(), at->last_write_time(gone), 0};
    if (!gone) image.bytes = static_cast<std::int64_t>(at->file_size(gone));
    if (gone) continue;
    sum += image.bytes;
    images.push_back(std::move(image));
  }
  if (sum <= cap) return;
  std::sort(images.begin(), images.end(),
            [](const Image& a, const Image& b) { return a.used < b.used; });
  for (const Image& image : images) {
    if (sum <= cap / 4 * 3) return;
    fs::remove(image.path, failed);
    sum -= image.bytes;
  }
}

}  // namespace

CompileCache CompileCache::open(const std::string& folder, const std::string& compiler,
                                std::int64_t cap) {
  CompileCache cache;
  if (folder.empty() || compiler.empty()) return cache;
  std::error_code failed;
  fs::create_directories(fs::path(folder).parent_path(), failed);
  mkdir(folder.c_str(), 0700);
  cache.unused_ = refused(folder);
  if (!cache.unused_.empty()) return cache;
  shrink(folder, cap);
  cache.folder_ = folder;
  cache.compiler_ = compiler;
  return cache;
}

std::string CompileCache::path_of(const CompileOrder& order) const {
  CompileOrder what = order;
  what.cpu_seconds = 0;
  return folder_ + "/" + sha256_hex(fmt::format("{}{}\n{}", mark, compiler_, pack(what)));
}

std::optional<CompileAnswer> CompileCache::find(const CompileOrder& order) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = path_of(order);
  const Result<std::string> text = real_host().read_file(path);
  if (!text || text->size() < head_bytes || !text->starts_with(mark)) return std::nullopt;
  const std::string_view body = std::string_view(*text).substr(head_bytes);
  if (text->compare(mark.size(), 65, sha256_hex(body) + "\n") != 0) return std::nullopt;
  auto answer = unpack_answer(body);
  if (!answer || answer->kind != CompileAnswer::Kind::done) return std::nullopt;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now
  return answer;
}

void CompileCache::keep(const CompileOrder& order, const CompileAnswer& answer) const {
  if (folder_.empty() || answer.kind != CompileAnswer::Kind::done) return;
  const std::string body = pack(answer), head = fmt::format("{}{}\n", mark, sha256_hex(body));
  const std::string_view pieces[] = {head, body};
  (void)real_host().write_pieces_atomically(path_of(order), pieces, false);
}

}  // namespace cupilot
