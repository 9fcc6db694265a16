// Stands for the worker program on a machine that lacks something: the name it is started by says
// what. The system calls of that protection answer as they would on an old kernel, then the real
// worker takes over. Or it plays a compiler that misbehaves.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backend/compile/protocol.hpp"
#include "backend/worker/process.hpp"

using namespace cupilot;

namespace {

void deny(scmp_filter_ctx filter, int call) {
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0);
}

void take_away(const std::string& what) {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (what == "landlock" || what == "everything") deny(filter, SCMP_SYS(landlock_create_ruleset));
  if (what == "rlimits" || what == "everything") {
    deny(filter, SCMP_SYS(setrlimit));
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(prlimit64), 1,
                     SCMP_A2(SCMP_CMP_NE, 0));
  }
  if (what == "seccomp" || what == "everything") {
    deny(filter, SCMP_SYS(seccomp));
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(prctl), 1,
                     SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP));
  }
  if (seccomp_load(filter) != 0) _exit(9);
  seccomp_release(filter);
}

// How often this program was started by its name before.
long started_before(const char* name) {
  const int counter = open((std::string(name) + ".starts").c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const off_t before = lseek(counter, 0, SEEK_END);
  if (write(counter, "+", 1) != 1) _exit(9);
  close(counter);
  return before;
}

// Greets like a compiler, then treats requests as `what` says: a word a server in the order they
// are started, the last for all that follow.
int misbehave(const char* name, std::string what) {
  for (long passed = started_before(name); passed > 0 && what.find('-') != std::string::npos;
       --passed) {
    what = what.substr(what.find('-') + 1);
  }
  what = what.substr(0, what.find('-'));
  const SandboxState state{4, true, true, "nvrtc 13.0", "nowhere", ""};
  send_frame(worker_channel,
             {static_cast<std::uint32_t>(CompileMessage::hello), 0, pack(state), {}},
             deadline_in(5));
  for (;;) {
    const auto received = receive_frame(worker_channel, deadline_in(30));
    const Frame* frame = std::get_if<Frame>(&received);
    if (frame == nullptr) return 0;
    if (what == "dies") abort();
    if (what == "hangs") pause();
    CompileAnswer answer;
    if (what == "forkless") answer.kind = CompileAnswer::Kind::not_begun;
    if (what == "crashes") answer.kind = CompileAnswer::Kind::crashed;
    if (what == "full") answer.kind = CompileAnswer::Kind::out_of_memory;
    if (what == "starves" || what == "grumbles") {
      answer.kind = CompileAnswer::Kind::refused;
      answer.output.log = std::string("kernel.cu(2): catastrophic error: ") +
                          (what == "starves" ? "" : "#error directive: ") + "out of memory\n";
    }
    if (what == "verbose") answer.kind = CompileAnswer::Kind::too_large;
    const std::uint64_t id = what == "misnumbers" ? frame->id + 1 : frame->id;
    const std::string body = what == "babbles" ? "no answer" : pack(answer);
    send_frame(worker_channel, {static_cast<std::uint32_t>(CompileMessage::answer), id, body, {}},
               deadline_in(5));
  }
}

}  // namespace

int main(int, char** argv) {
  const std::string name = std::filesystem::path(argv[0]).filename();
  const std::string kind = name.substr(0, name.find('-')), what = name.substr(name.find('-') + 1);
  if (kind == "compiler") return misbehave(argv[0], what);
  take_away(what);
  execv(CUPILOT_REAL_WORKER, argv);
  return 9;
}
