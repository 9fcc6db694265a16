#include <cupilot/parts/host.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/phases.hpp"

namespace cupilot {
namespace {

Error file_error(const std::string& what, const std::string& path, int number) {
  std::string hint;
  if (number == ENOSPC || number == EDQUOT)
    hint = "free space on that file system, then continue with `cupilot resume`";
  if (number == EROFS || number == EACCES || number == EPERM)
    hint = "choose a directory that can be written";
  if (number == ENOENT || number == ENOTDIR || number == EEXIST) hint = "check the path";
  return {ErrorCode::failure, what + " " + path + ": " + std::strerror(number), hint};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Never one of 0, 1 and 2: where a program was started without standard streams, what it prints
// would go into the file.
int open_beyond_streams(const std::string& path, int flags, mode_t mode = 0) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int beyond = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int number = errno;
  ::close(fd);
  errno = number;
  return beyond;
}

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EIO;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

// Small pieces are gathered: a call for each would cost more than they do.
int write_all(int fd, std::span<const std::string_view> pieces) {
  constexpr std::size_t most_gathered = 1 << 16;
  std::string gathered;
  for (const std::string_view piece : pieces) {
    if (gathered.size() + piece.size() > most_gathered) {
      if (const int number = write_all(fd, gathered); number != 0) return number;
      gathered.clear();
    }
    if (piece.size() <= most_gathered) {
      gathered += piece;
    } else if (const int number = write_all(fd, piece); number != 0) {
      return number;
    }
  }
  return write_all(fd, gathered);
}

int sync_directory_of(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  const Descriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return errno;
  return ::fsync(fd.get()) == 0 ? 0 : errno;
}

class PosixAppendFile : public AppendFile {
 public:
  PosixAppendFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Result<void> append(std::string_view bytes) override {
    if (const int number = write_all(fd_.get(), bytes); number != 0)
      return file_error("cannot write", path_, number);
    return {};
  }
  Result<void> sync() override {
    if (::fdatasync(fd_.get()) != 0) return file_error("cannot sync", path_, errno);
    if (is_at_its_path()) return {};
    return Error{ErrorCode::failure,
                 path_ + " was removed, renamed or replaced while it was written",
                 "put its directory back under that name, then continue with `cupilot resume`"};
  }

 private:
  // True if the path still leads to the directory that was opened; otherwise files written beside
  // it would go elsewhere.
  bool is_at_its_path() const {
    struct stat open {
    }, named{};
    if (::fstat(fd_.get(), &open) != 0) return false;
    return ::stat(path_.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
  }

  Descriptor fd_;
  std::string path_;
};

class PosixHost : public Host {
 public:
  double monotonic_seconds() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  std::string utc_now() override {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
  }

  Result<std::string> read_file(const std::string& path) override {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) return file_error("cannot read", path, errno);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) return file_error("cannot read", path, errno);
    if (S_ISDIR(info.st_mode)) return file_error("cannot read", path, EISDIR);
    std::string text;
    text.reserve(static_cast<std::size_t>(std::max<off_t>(info.st_size, 0)));
    char buffer[1 << 16];
    while (true) {
      const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return file_error("cannot read", path, errno);
      if (count == 0) return text;
      text.append(buffer, static_cast<std::size_t>(count));
    }
  }

  Result<std::string> read_part(const std::string& path, std::int64_t offset,
                                std::int64_t size) override {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) return file_error("cannot read", path, errno);
    struct stat file {};
    if (::fstat(fd.get(), &file) != 0) return file_error("cannot read", path, errno);
    if (S_ISREG(file.st_mode))
      size = std::clamp<std::int64_t>(file.st_size - offset, 0,
                                      size);  // no memory for what is not there
    std::string text(static_cast<std::size_t>(size), '\0');
    std::size_t filled = 0;
    while (filled < text.size()) {
      const ssize_t count = ::pread(fd.get(), text.data() + filled, text.size() - filled,
                                    static_cast<off_t>(offset) + static_cast<off_t>(filled));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return file_error("cannot read", path, errno);
      if (count == 0) break;
      filled += static_cast<std::size_t>(count);
    }
    text.resize(filled);
    return text;
  }

  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }

  Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                     bool sync) override {
    return write_pieces_atomically(path, {&bytes, 1}, sync);
  }

  Result<void> write_pieces_atomically(const std::string& path,
                                       std::span<const std::string_view> pieces,
                                       bool sync) override {
    const std::string temporary = path + ".tmp." + std::to_string(::getpid());
    int number = 0;
    {
      const Descriptor fd(open_beyond_streams(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644));
      if (fd.get() < 0) return file_error("cannot write", path, errno);
      number = write_all(fd.get(), pieces);
      if (number == 0 && sync && ::fsync(fd.get()) != 0) number = errno;
    }
    if (number == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) number = errno;
    if (number == 0 && sync) number = sync_directory_of(path);
    if (number == 0) return {};
    ::unlink(temporary.c_str());
    return file_error("cannot write", path, number);
  }

  Result<void> make_directories(const std::string& path) override {
    std::error_code code;
    std::filesystem::create_directories(path, code);
    if (code) return file_error("cannot make directory", path, code.value());
    return {};
  }

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path,
                                                  std::int64_t truncate_to) override {
    const int fd = open_beyond_streams(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0) return file_error("cannot open", path, errno);
    auto file = std::make_unique<PosixAppendFile>(fd, path);
    // A lock beside it is lost with its name, and does not know the file's other names.
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return file_error("cannot lock", path, errno);
      return Error{ErrorCode::usage, path + " is being written by another process",
                   "wait for that process to end, or choose another --run directory"};
    }
    if (truncate_to >= 0 && ::ftruncate(fd, truncate_to) != 0)
      return file_error("cannot truncate", path, errno);
    if (const int number = sync_directory_of(path); number != 0)
      return file_error("cannot sync the directory of", path, number);
    return std::unique_ptr<AppendFile>(std::move(file));
  }

  Result<std::vector<std::string>> list(const std::string& dir) override {
    std::error_code code;
    std::vector<std::string> names;
    for (std::filesystem::directory_iterator it(dir, code), end; !code && it != end;
         it.increment(code)) {
      names.push_back(it->path().filename().string());
    }
    if (code) return file_error("cannot list", dir, code.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::shared_ptr<void>> lock(const std::string& path) override {
    const int fd = open_beyond_streams(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0) return file_error("cannot lock", path, errno);
    auto held = std::make_shared<Descriptor>(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return file_error("cannot lock", path, errno);
      char text[32] = {};
      const ssize_t count = ::pread(fd, text, sizeof text - 1, 0);
      std::string pid(text, count > 0 ? static_cast<std::size_t>(count) : 0);
      while (!pid.empty() && pid.back() == '\n') pid.pop_back();
      return Error{ErrorCode::usage,
                   path + " is locked by process " + (pid.empty() ? "unknown" : pid),
                   "wait for that process to end, or choose another --run directory"};
    }
    // The pid only names the holder in a message; the lock itself is the kernel's.
    if (::ftruncate(fd, 0) != 0) return file_error("cannot lock", path, errno);
    if (const int number = write_all(fd, std::to_string(::getpid()) + "\n"); number != 0) {
      return file_error("cannot lock", path, number);
    }
    return std::shared_ptr<void>(std::move(held));
  }
};

}  // namespace

Result<std::string> Host::read_part(const std::string& path, std::int64_t offset,
                                    std::int64_t size) {
  auto whole = read_file(path);
  if (!whole || offset >= static_cast<std::int64_t>(whole->size()))
    return whole ? Result<std::string>("") : std::move(whole);
  return whole->substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

double Host::thread_cpu_seconds() { return cupilot::thread_cpu_seconds(); }

Result<void> Host::write_pieces_atomically(const std::string& path,
                                           std::span<const std::string_view> pieces, bool sync) {
  std::string bytes;
  for (const std::string_view piece : pieces) bytes += piece;
  return write_file_atomically(path, bytes, sync);
}

Host& real_host() {
  static PosixHost host;
  return host;
}

}  // namespace cupilot
