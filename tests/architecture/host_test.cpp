// What a library owes the program it is linked into: no output, no environment, no signal handlers,
// no state to be noticed.
#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "architecture/source_files.hpp"
#include "catch.hpp"

using namespace cupilot::testing;

namespace {

// Runs in worker processes only, or is text of programs that the library writes.
bool is_of_another_program(const std::string& file) {
  static const std::set<std::string> files = {
      "src/backend/compile/server.cpp", "src/backend/counters/process.cpp",
      "src/backend/judge/serve.cpp",    "src/backend/worker/confine.cpp",
      "src/backend/worker/library.cpp", "src/backend/worker/main.cpp",
      "src/backend/worker/probe.cpp",   "src/backend/worker/roles.cpp",
      "src/backend/worker/runner.cpp",  "src/backend/worker/serve.cpp",
      "src/wisdom/dispatcher_main.cpp"};
  return files.contains(file) || file.starts_with("src/inject/");
}

struct Hit {
  std::string file, text;
};

std::vector<Hit> hits(const std::regex& pattern) {
  std::vector<Hit> found;
  for (const fs::path& path : sources_under(source_root / "src")) {
    const std::string file = fs::relative(path, source_root).string();
    if (is_of_another_program(file)) continue;
    for (std::string text : lines_of(path)) {
      text = text.substr(0, text.find("//"));
      std::smatch match;
      if (std::regex_search(text, match, pattern))
        found.push_back({file, match.size() > 1 ? match[1].str() : text});
    }
  }
  return found;
}

}  // namespace

TEST_CASE("the library prints nothing, ends nothing and leaves signals, locale and folders alone",
          "[architecture]") {
  const std::regex calls(
      R"re(\b(printf|fprintf|puts|fputs|putchar|perror|exit|_exit|quick_exit|abort|terminate|atexit|signal|sigaction|sigprocmask|pthread_sigmask|srand|rand|setlocale|umask|chdir|setenv|unsetenv|putenv)\s*\(|std::(cout|cerr|clog)\b)re");
  for (const Hit& hit : hits(calls)) {
    INFO(hit.file << ": " << hit.text);
    CHECK(hit.file == "src/base/result.cpp");  // wrong_access(), which a program may replace
  }
}

TEST_CASE("the environment is handed to workers and read nowhere", "[architecture]") {
  for (const Hit& hit : hits(std::regex(R"re(\b(getenv|secure_getenv|environ)\b)re"))) {
    INFO(hit.file << " reads the environment");
    CHECK(hit.file == "src/backend/worker/process.cpp");
  }
}

// Each row says why nobody notices it.
TEST_CASE("what outlives a call is constant, but for these", "[architecture]") {
  const std::set<std::pair<std::string, std::string>> harmless = {
      {"src/backend/compile/nvrtc.cpp",
       "calls"},  // NVRTC's functions, in the compiling worker alone
      {"src/backend/compile/jit_link.cpp", "calls"},  // nvJitLink's, the same
      {"src/backend/worker/process.cpp",
       "all"},  // killed children that have not ended yet: reaped by whoever comes next
      {"src/backend/open/open.cpp", "lacking"},  // has no members
      {"src/base/host.cpp", "host"},             // has no members
      {"src/base/phases.cpp",
       "current"},  // where this thread's phases go: set and put back by scope
      {"src/base/stop.cpp",
       "flags_of_thread"},  // which flags stop this thread's work: set and put back by scope
      {"src/evolution/run/timely_chat.hpp",
       "lock"},                       // the lock that this thread lends: set and put back by scope
      {"src/task/expr.cpp", "kept"},  // a thread's memo of a function of its key
      {"src/strategy/skeleton_plan.cpp", "values"},  // a thread's scratch memory
      {"src/ptx/machine/core_share.hpp",
       "running_"},  // launches in progress share the cores; results do not depend on it
      {"src/ptx/machine/decode_arithmetic.cpp",
       "preferred"},  // which instructions compute lanes; tests set it, results are equal
      {"src/task/file_content.cpp", "mutex"},  // of bytes by their digest, which recipes point to
      {"src/verify/checker_power.cpp", "mutex"},  // memo of a function of its key
      {"src/verify/checker_power.cpp", "known"},
  };
  // `static` or `thread_local` variables, and those at namespace scope, that are not const.
  const std::regex local(
      R"re(^\s*(?:static |thread_local |inline )+(?!.*\bconst\b)(?!.*\bconstexpr\b)[\w:<>,&* ]+?[ &*](\w+)\s*(?:=[^=].*|\{.*\})?;)re");
  const std::regex global(
      R"re(^(?!using |concept |constexpr|const |inline |static |thread_local |extern |return |typedef |namespace |struct |class |enum |friend |template|static_assert|public|private|else|break|continue|default|case )[A-Za-z_][\w:<>,&* ]*[ &*](\w+)(?:\s*=[^=].*|\{.*\})?;\s*$)re");
  for (const std::regex& pattern : {local, global}) {
    for (const Hit& hit : hits(pattern)) {
      INFO(hit.file << ": " << hit.text);
      CHECK(harmless.contains({hit.file, hit.text}));
    }
  }
}
