// A disk that fails at the i-th write: a clean stop that names the file, and a journal that resume
// can end.
#include <fcntl.h>

#include <filesystem>
#include <optional>

#include "catch.hpp"
#include "evolution/support.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

struct FailingDisk {
  int left = 0;  // calls until the disk is full
  bool full() { return --left < 0; }
};

Error no_space(const std::string& path) {
  return {ErrorCode::failure, "cannot write " + path + ": No space left on device", "free space"};
}

class FailingFile : public AppendFile {
 public:
  FailingFile(std::unique_ptr<AppendFile> file, FailingDisk& disk, std::string path)
      : file_(std::move(file)), disk_(disk), path_(std::move(path)) {}
  Result<void> append(std::string_view bytes) override {
    if (!disk_.full()) return file_->append(bytes);
    // A full disk takes part of a write first.
    static_cast<void>(file_->append(bytes.substr(0, bytes.size() / 2)));
    return no_space(path_);
  }
  Result<void> sync() override {
    if (disk_.full()) return no_space(path_);
    return file_->sync();
  }

 private:
  std::unique_ptr<AppendFile> file_;
  FailingDisk& disk_;
  std::string path_;
};

class FailingHost : public Host {
 public:
  explicit FailingHost(int calls) { disk_.left = calls; }
  double monotonic_seconds() override { return real_host().monotonic_seconds(); }
  std::string utc_now() override { return "2026-01-31T12:00:00Z"; }
  Result<std::string> read_file(const std::string& path) override {
    return real_host().read_file(path);
  }
  bool exists(const std::string& path) override { return real_host().exists(path); }
  Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                     bool sync) override {
    if (disk_.full()) return no_space(path);
    return real_host().write_file_atomically(path, bytes, sync);
  }
  Result<void> make_directories(const std::string& path) override {
    return real_host().make_directories(path);
  }
  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path,
                                                  std::int64_t truncate_to) override {
    auto file = real_host().open_append(path, truncate_to);
    if (!file) return file;
    return std::unique_ptr<AppendFile>(
        std::make_unique<FailingFile>(std::move(*file), disk_, path));
  }
  Result<std::vector<std::string>> list(const std::string& dir) override {
    return real_host().list(dir);
  }
  Result<std::shared_ptr<void>> lock(const std::string& path) override {
    return real_host().lock(path);
  }

 private:
  FailingDisk disk_;
};

}  // namespace

TEST_CASE("a full disk ends a run cleanly wherever it strikes", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  REQUIRE_OK(evolve(Task{}, *device, small_run(dir / "whole", 14)));
  const std::string expected = essence(dir / "whole");
  const int stride = sanitized() ? 15 : 5;
  bool ended = false;
  for (int calls = 0; !ended && calls < 300; calls += calls < 12 ? 1 : stride) {
    const std::string run_dir = dir / ("run" + std::to_string(calls));
    FailingHost host(calls);
    EvolveOptions options = small_run(run_dir, 14);
    options.host = &host;
    auto report = evolve(Task{}, *device, options);
    ended = static_cast<bool>(report);
    if (ended) break;
    INFO("full after " << calls << " calls: " << report.error().message);
    CHECK(report.error().code == ErrorCode::failure);
    CHECK(report.error().message.find(run_dir + "/") != std::string::npos);
    // With space again the run goes on as if nothing had been.
    auto resumed = resume(run_dir, *device, {});
    if (!resumed) resumed = evolve(Task{}, *device, small_run(run_dir, 14));
    REQUIRE_OK(resumed);
    CHECK(essence(run_dir) == expected);
  }
  CHECK(ended);
}

TEST_CASE("a place that cannot be written is named before anything is spent") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  std::ofstream(dir / "file") << "no directory";
  auto report = evolve(Task{}, *device, small_run(dir / "file/run"));
  REQUIRE_FALSE(report);
  CHECK(report.error().message.find(dir / "file/run") != std::string::npos);
}

TEST_CASE("no file gets the number of a standard stream that is closed") {
  const TempDir dir;
  const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
  ::close(STDIN_FILENO);
  const auto file = real_host().open_append(dir / "file", -1);
  const bool free_beside_file = ::fcntl(STDIN_FILENO, F_GETFD) < 0;
  const auto lock = real_host().lock(dir / "lock");
  const bool free_beside_lock = ::fcntl(STDIN_FILENO, F_GETFD) < 0;
  ::dup2(kept, STDIN_FILENO);
  ::close(kept);
  REQUIRE_OK(file);
  REQUIRE_OK(lock);
  CHECK(free_beside_file);
  CHECK(free_beside_lock);
}

TEST_CASE(
    "a file has one writer, whatever became of the lock beside it and by whatever name it is "
    "opened") {
  const TempDir dir;
  auto journal = std::make_optional(Journal::create(real_host(), dir / "run"));
  REQUIRE_OK(*journal);
  (*journal)->add(RecordType::header, "{}");
  REQUIRE_OK((*journal)->commit());
  const std::string bytes = read_all(dir / "run/journal");
  std::filesystem::create_directory(dir / "linked");
  std::filesystem::create_hard_link(dir / "run/journal", dir / "linked/journal");
  std::filesystem::remove(dir / "run/lock");
  for (const char* name : {"run/journal", "linked/journal"}) {
    const auto second = real_host().open_append(dir / name, 0);
    INFO(name);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == ErrorCode::usage);
    CHECK(second.error().message.find(dir / name) != std::string::npos);
    CHECK(read_all(dir / name) == bytes);
  }
  journal.reset();
  REQUIRE_OK(real_host().open_append(dir / "linked/journal", -1));
}

TEST_CASE("a journal that lost its name is written no more") {
  struct Row {
    const char* what;
    std::function<void(const std::string& run)> happens;
  };
  const Row rows[] = {
      {"removed", [](const std::string& run) { std::filesystem::remove_all(run); }},
      {"renamed", [](const std::string& run) { std::filesystem::rename(run, run + "x"); }},
      {"replaced", [](const std::string& run) {
         std::filesystem::rename(run, run + "x");
         static_cast<void>(Journal::create(real_host(), run));
       }}};
  for (const Row& row : rows) {
    INFO(row.what);
    const TempDir dir;
    auto journal = Journal::create(real_host(), dir / "run");
    REQUIRE_OK(journal);
    journal->add(RecordType::header, "{}");
    REQUIRE_OK(journal->commit());
    row.happens(dir / "run");
    journal->add(RecordType::proposal, "{}");
    const auto done = journal->commit();
    REQUIRE_FALSE(done);
    CHECK(done.error().message.find(dir / "run/journal was removed, renamed or replaced") !=
          std::string::npos);
    CHECK_FALSE(done.error().hint.empty());
  }
}

TEST_CASE("a finished run on a disk that cannot be written tells what it found", "[threads]") {
  struct ReadOnlyHost : FailingHost {
    ReadOnlyHost() : FailingHost(0) {}
    Result<std::shared_ptr<void>> lock(const std::string& path) override {
      return Error{ErrorCode::failure, "cannot lock " + path + ": Read-only file system",
                   "choose a directory that can be written"};
    }
  } host;
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  REQUIRE_OK(evolve(Task{}, *device, small_run(dir / "run", 14)));
  EvolveOptions options;
  options.host = &host;
  const auto report = resume(dir / "run", *device, options);
  REQUIRE_OK(report);
  CHECK(report->evaluations == 14);
  CHECK(report->best);
  options.raise_evaluations = 30;
  const auto more = resume(dir / "run", *device, options);
  REQUIRE_FALSE(more);
  CHECK(more.error().message.find("Read-only") != std::string::npos);
  CHECK_THAT(more.error().hint, Catch::Contains("a run is continued in its own directory"));
}
