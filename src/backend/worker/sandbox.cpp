#include "backend/worker/sandbox.hpp"

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

constexpr std::uint64_t read_access =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;

constexpr std::uint64_t device_access = 1ull << 15;  // LANDLOCK_ACCESS_FS_IOCTL_DEV

std::uint64_t handled_access(int version) {
  std::uint64_t all = read_access | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                      LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                      LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                      LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                      LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (version >= 2) all |= 1ull << 13;  // LANDLOCK_ACCESS_FS_REFER
  if (version >= 3) all |= 1ull << 14;  // LANDLOCK_ACCESS_FS_TRUNCATE
  if (version >= 5) all |= device_access;
  return all;
}

void allow(int ruleset, const std::string& path, std::uint64_t access) {
  const int descriptor = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat info {};
  landlock_path_beneath_attr rule{};
  rule.parent_fd = descriptor;
  rule.allowed_access = access;
  if (fstat(descriptor, &info) == 0 && !S_ISDIR(info.st_mode))
    rule.allowed_access &= ~std::uint64_t{LANDLOCK_ACCESS_FS_READ_DIR};
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
    SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(process_madvise),
    SCMP_SYS(setsid),
    SCMP_SYS(setpgid),
    SCMP_SYS(setrlimit),
    SCMP_SYS(setpriority),
    SCMP_SYS(personality),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(chown),
    SCMP_SYS(fchown),
    SCMP_SYS(lchown),
    SCMP_SYS(fchownat),
    SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr),
    SCMP_SYS(removexattr),
    SCMP_SYS(lremovexattr),
    SCMP_SYS(fremovexattr),
    SCMP_SYS(utime),
    SCMP_SYS(utimes),
    SCMP_SYS(utimensat),
    SCMP_SYS(truncate),
    SCMP_SYS(setuid),
    SCMP_SYS(setgid),
    SCMP_SYS(setreuid),
    SCMP_SYS(setregid),
    SCMP_SYS(setresuid),
    SCMP_SYS(setresgid),
    SCMP_SYS(setgroups),
    SCMP_SYS(capset),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(ioperm),
    SCMP_SYS(iopl),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(syslog),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsmount),
    SCMP_SYS(memfd_create),
    SCMP_SYS(mknod),
    SCMP_SYS(mknodat),
};

bool add_rules(scmp_filter_ctx filter) {
  for (const int call : denied_calls) {
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0) != 0) return false;
  }
  // abort() signals its own process; no other may be signalled.
  const auto self = static_cast<scmp_datum_t>(getpid());
  if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1,
                       scmp_arg_cmp{0, SCMP_CMP_NE, self, 0}) != 0)
    return false;
  // Limits may be read, not set.
  if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
                       scmp_arg_cmp{2, SCMP_CMP_NE, 0, 0}) != 0)
    return false;
  // clone3 hides its flags in memory: ENOSYS makes the C library fall back to clone, where they can
  // be read.
  if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) != 0) return false;
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)) == 0;
}

}  // namespace

bool limit_process(const Limits& limits) {
  bool good = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  good = set_limit(RLIMIT_CORE, 0) && good;
  if (limits.address_space > 0) good = set_limit(RLIMIT_AS, limits.address_space) && good;
  if (limits.cpu_seconds > 0) good = set_limit(RLIMIT_CPU, limits.cpu_seconds) && good;
  if (limits.file_bytes > 0) good = set_limit(RLIMIT_FSIZE, limits.file_bytes) && good;
  if (limits.files > 0) good = set_limit(RLIMIT_NOFILE, limits.files) && good;
  if (limits.alone) good = set_limit(RLIMIT_NPROC, 0) && good;
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return good;
}

int landlock_version() {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

bool confine_files(const std::vector<std::string>& readable,
                   const std::vector<std::string>& writable) {
  const int version = landlock_version();
  if (version == 0) return false;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = handled_access(version);
  const int ruleset =
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (ruleset < 0) return false;
  for (const std::string& path : readable) allow(ruleset, path, read_access);
  const std::uint64_t write_access =
      read_access | LANDLOCK_ACCESS_FS_WRITE_FILE | (version >= 5 ? device_access : 0);
  for (const std::string& path : writable) allow(ruleset, path, write_access);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const bool good = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  close(ruleset);
  return good;
}

bool confine_calls(bool every_thread) {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return false;
  if (every_thread) seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
  const bool good = add_rules(filter) && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return good;
}

}  // namespace cupilot
