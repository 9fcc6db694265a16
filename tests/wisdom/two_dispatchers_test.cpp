// Dispatchers of one name with different kernels, in two shared objects of one process: each must
// launch its own.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "support.hpp"
#include "support/kept_images.hpp"

using namespace cupilot;
namespace fs = std::filesystem;

namespace {

// Launches one shape; the number of a launch's parameters travels as its stream.
constexpr const char* library_text = R"(#include "dispatch.hpp"
extern "C" int launch_one() {
  dispatch all(FAKE);
  void* const tensor = reinterpret_cast<void*>(0xa0000000);
  return all.launch(1, 5, 5, 5, tensor, tensor, tensor, reinterpret_cast<void*>(2)).code;
}
)";

// Loads the libraries named behind the first word, all before the first launch.
constexpr const char* program_text = R"(#include <dlfcn.h>
#include <cstdio>
#include <cstring>
int main(int count, char** words) {
  void* fake = dlopen(FAKE, RTLD_NOW | RTLD_LOCAL);
  reinterpret_cast<void (*)(int, int)>(dlsym(fake, "fake_set"))(9, -1);
  const int scope = std::strcmp(words[1], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
  void* libraries[8] = {};
  for (int i = 2; i < count; ++i) {
    libraries[i] = dlopen(words[i], RTLD_NOW | scope);
    if (libraries[i] == nullptr) return std::printf("%s\n", dlerror()), 1;
  }
  for (int i = 2; i < count; ++i) {
    const int code = reinterpret_cast<int (*)()>(dlsym(libraries[i], "launch_one"))();
    if (code != 0) return std::printf("error %d\n", code), 1;
  }
  std::printf("%s", reinterpret_cast<const char* (*)()>(dlsym(fake, "fake_log"))());
}
)";

KernelSource kernel_of_grid(std::int64_t grid) {
  KernelSource source{Language::cuda,
                      "extern \"C\" __global__ void rows(float* y, int a) { y[a] = 1; }"};
  source.plan.launches = {{"main", "rows", When::run, {grid}, {256}}};
  source.plan.launches[0].args = {{PlanArgument::Kind::name, "D", {}},
                                  {PlanArgument::Kind::i32, {}, 1}};
  return source;
}

// A folder of its own, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / "cupilot-two-dispatchers-test";
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
};

void compile(const fs::path& folder, const std::string& compiler, const std::string& what) {
  const std::string command = fmt::format(
      "cd '{}' && {} -std=c++17 -Wall -Wextra -Werror -DFAKE='\"{}\"' -I'{}/include' {} -ldl",
      folder.string(), compiler, CUPILOT_FAKE_LIBCUDA, CUPILOT_SOURCE_DIR, what);
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

// The grids that were launched, in their order.
std::string launched(const fs::path& folder, const std::string& words) {
  const std::string command = fmt::format("cd '{}' && ./load {} > out", folder.string(), words);
  REQUIRE(std::system(command.c_str()) == 0);
  std::ifstream file(folder / "out");
  std::string grids;
  for (std::string line; std::getline(file, line);) {
    std::istringstream parts(line);
    std::string verb, entry, word, grid;
    if (parts >> verb >> entry >> word >> grid && verb == "launch") grids += grid + " ";
  }
  return grids;
}

bool runs(const char* compiler) {
  return std::system(fmt::format("{} --version > /dev/null 2>&1", compiler).c_str()) == 0;
}

}  // namespace

TEST_CASE("two dispatchers of one name in one process launch each its own kernels", "[wisdom]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const Folder folder;
  std::ofstream(folder.path / "library.cpp") << library_text;
  std::ofstream(folder.path / "load.cpp") << program_text;
  for (const std::int64_t grid : {1, 2}) {
    const fs::path own = folder.path / std::to_string(grid);
    fs::create_directories(own);
    const auto all = support::portfolio(*gemm_task({}), **backend, {kernel_of_grid(grid)});
    const auto files = dispatcher_files({all.entry}, "dispatch");
    REQUIRE(files);
    for (const GeneratedFile& file : *files) std::ofstream(own / file.name) << file.text;
  }
  compile(folder.path, CUPILOT_CXX, "load.cpp -o load");
  // g++ makes tables of inline functions unique in a process even under RTLD_LOCAL; only code that
  // is not inlined can be another's.
  for (const std::string compiler : {"g++ -O0", "g++ -O2", "clang++-14 -O0"}) {
    if (!runs(compiler.c_str())) continue;
    INFO(compiler);
    for (const char* grid : {"1", "2"})
      compile(folder.path, compiler,
              fmt::format("-fPIC -shared -I{0} library.cpp -o lib{0}.so", grid));
    for (const char* scope : {"global", "local"}) {
      INFO(scope);
      CHECK(launched(folder.path, fmt::format("{} ./lib1.so ./lib2.so", scope)) == "1 2 ");
      CHECK(launched(folder.path, fmt::format("{} ./lib2.so ./lib1.so", scope)) == "2 1 ");
    }
  }
}
