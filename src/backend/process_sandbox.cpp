#include "backend/process_sandbox.hpp"

#include <cerrno>

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cupilot {
namespace {

bool set_limit(__rlimit_resource resource, std::uint64_t value) {
  const rlimit limit{value, value};
  return setrlimit(resource, &limit) == 0;
}

constexpr std::uint64_t read_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;

std::uint64_t handled_access(int version) {
  std::uint64_t all = read_access | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                      LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                      LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (version >= 2) all |= 1ull << 13;  // LANDLOCK_ACCESS_FS_REFER
  if (version >= 3) all |= 1ull << 14;  // LANDLOCK_ACCESS_FS_TRUNCATE
  return all;
}

void allow_reading(int ruleset, const std::string& path) {
  const int descriptor = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat info {};
  landlock_path_beneath_attr rule{};
  rule.parent_fd = descriptor;
  rule.allowed_access = read_access;
  if (fstat(descriptor, &info) == 0 && !S_ISDIR(info.st_mode)) rule.allowed_access &= ~std::uint64_t{LANDLOCK_ACCESS_FS_READ_DIR};
  syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(descriptor);
}

constexpr int denied_calls[] = {
    SCMP_SYS(socket),
    SCMP_SYS(socketpair),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(ptrace),
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(bpf),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(kcmp),
    SCMP_SYS(kill),
    SCMP_SYS(tkill),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(setsid),
};

bool add_rules(scmp_filter_ctx filter) {
  for (const int call : denied_calls) {
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0) != 0) return false;
  }
  // clone3 hides its flags in memory: ENOSYS makes the C library fall back to clone, where they can be read.
  if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) != 0) return false;
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)) == 0;
}

}  // namespace

bool limit_process(const Limits& limits) {
  bool good = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  good = set_limit(RLIMIT_CORE, 0) && good;
  if (limits.address_space > 0) good = set_limit(RLIMIT_AS, limits.address_space) && good;
  if (limits.cpu_seconds > 0) good = set_limit(RLIMIT_CPU, limits.cpu_seconds) && good;
  if (limits.file_bytes > 0) good = set_limit(RLIMIT_FSIZE, limits.file_bytes) && good;
  if (limits.files > 0) good = set_limit(RLIMIT_NOFILE, limits.files) && good;
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return good;
}

int landlock_version() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

bool confine_files(const std::vector<std::string>& readable) {
  const int version = landlock_version();
  if (version == 0) return false;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = handled_access(version);
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (ruleset < 0) return false;
  for (const std::string& path : readable) allow_reading(ruleset, path);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const bool good = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  close(ruleset);
  return good;
}

bool confine_calls() {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return false;
  const bool good = add_rules(filter) && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return good;
}

}  // namespace cupilot
