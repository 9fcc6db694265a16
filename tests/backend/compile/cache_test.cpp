#include "backend/compile/cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.hpp"

using namespace cupilot;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/cupilot-cache-XXXXXX";
    path = mkdtemp(name);
    kept = path + "/below/compiled";
  }
  ~Folder() { fs::remove_all(path); }
  std::string path, kept;
};

CompileOrder order(const std::string& text) {
  CompileOrder what;
  what.request.text = text;
  what.request.arch = "sm_90a";
  what.options = standard_compile_options(what.request);
  return what;
}

CompileAnswer answer(const std::string& ptx) {
  CompileAnswer done;
  done.output.ptx = ptx;
  done.output.cubin = {1, 2, 3};
  done.output.log = "registers";
  done.output.lowered_names = {{"f<1>", "_Z1f"}};
  done.output.seconds = 0.5;
  done.output.compiler = "nvrtc 13.0";
  done.sandbox.landlock = 4;
  return done;
}

std::vector<fs::path> files_in(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

}  // namespace

TEST_CASE("what was compiled is found again by another process of the same compiler") {
  const Folder folder;
  const auto first = CompileCache::open(folder.kept, "compiler a");
  CHECK(first.unused().empty());
  CHECK_FALSE(first.find(order("x")));
  first.keep(order("x"), answer("ptx of x"));
  const auto found = CompileCache::open(folder.kept, "compiler a").find(order("x"));
  REQUIRE(found);
  CHECK(pack(*found) == pack(answer("ptx of x")));
  struct stat made {};
  REQUIRE(stat(folder.kept.c_str(), &made) == 0);
  CHECK((made.st_mode & 0777) == 0700);
}

TEST_CASE("nothing is found of another text, option, name, kind or compiler") {
  const Folder folder;
  const auto cache = CompileCache::open(folder.kept, "compiler a");
  cache.keep(order("x"), answer("ptx of x"));
  const auto but = [](auto change) {
    CompileOrder other = order("x");
    change(other);
    return other;
  };
  CHECK_FALSE(cache.find(but([](CompileOrder& o) { o.request.text += " "; })));
  CHECK_FALSE(cache.find(but([](CompileOrder& o) { o.request.arch = "sm_100a"; })));
  CHECK_FALSE(cache.find(but([](CompileOrder& o) { o.options.push_back("-G"); })));
  CHECK_FALSE(cache.find(but([](CompileOrder& o) { o.request.name_expressions = {"f<2>"}; })));
  CHECK_FALSE(cache.find(but([](CompileOrder& o) { o.request.ptx_only = true; })));
  CHECK_FALSE(CompileCache::open(folder.kept, "compiler b").find(order("x")));
  CHECK(cache.find(but([](CompileOrder& o) { o.cpu_seconds = 99; })));
}

TEST_CASE("failures are not kept, nor anything without a folder") {
  const Folder folder;
  const auto cache = CompileCache::open(folder.kept, "compiler");
  for (const auto kind : {CompileAnswer::Kind::refused, CompileAnswer::Kind::crashed,
                          CompileAnswer::Kind::out_of_time}) {
    CompileAnswer failed = answer("");
    failed.kind = kind;
    cache.keep(order("x"), failed);
  }
  CHECK(files_in(folder.kept).empty());
  const auto none = CompileCache::open("", "compiler");
  none.keep(order("x"), answer("ptx"));
  CHECK_FALSE(none.find(order("x")));
}

TEST_CASE("a damaged image is not used") {
  const Folder folder;
  const auto cache = CompileCache::open(folder.kept, "compiler");
  cache.keep(order("x"), answer("ptx of x"));
  const fs::path file = files_in(folder.kept).at(0);
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 4;
    std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
    if (cache.find(order("x"))) FAIL_CHECK("flipped byte " << at);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << whole.substr(0, at);
    if (cache.find(order("x"))) FAIL_CHECK("cut at byte " << at);
  }
  cache.keep(order("x"), answer("ptx of x"));
  CHECK(cache.find(order("x")));
}

TEST_CASE("a folder that others may write to, or that is none, is not used, and why is told") {
  const Folder folder;
  fs::create_directories(folder.kept);
  for (const mode_t mode : {0720, 0702}) {
    REQUIRE(chmod(folder.kept.c_str(), mode) == 0);
    const auto cache = CompileCache::open(folder.kept, "compiler");
    CHECK(cache.unused().find("can be written by others") != std::string::npos);
    cache.keep(order("x"), answer("ptx"));
    CHECK(files_in(folder.kept).empty());
  }
  const std::string file = folder.path + "/file";
  std::ofstream(file) << "text";
  CHECK(CompileCache::open(file, "compiler").unused() == file + " is no folder");
  CHECK_FALSE(CompileCache::open(file + "/below", "compiler").unused().empty());
}

TEST_CASE("a full folder loses the images that were not used for the longest") {
  const Folder folder;
  const auto cache = CompileCache::open(folder.kept, "compiler");
  const std::string ptx(1000, 'p');
  const auto aged = [&](int hours) {
    for (const fs::path& file : files_in(folder.kept))
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(hours));
  };
  for (const char* text : {"a", "b", "c", "d"}) {
    cache.keep(order(text), answer(ptx));
    aged(1);
  }
  REQUIRE(cache.find(order("a")));
  const auto each = static_cast<std::int64_t>(fs::file_size(files_in(folder.kept).at(0)));
  const auto smaller = CompileCache::open(folder.kept, "compiler", 3 * each);
  CHECK(smaller.find(order("a")));
  CHECK_FALSE(smaller.find(order("b")));
  CHECK_FALSE(smaller.find(order("c")));
  CHECK(smaller.find(order("d")));
}
