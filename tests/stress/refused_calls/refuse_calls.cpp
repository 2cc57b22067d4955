// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Refuses one system call, for programs that load this library with LD_PRELOAD. Only calls of
// flotilla itself count. These variables of the environment say which call:
//
// FLOTILLA_TEST_REFUSED_CALL    the name of the function of the C library
// FLOTILLA_TEST_REFUSED_NUMBER  the number of the call
// FLOTILLA_TEST_REFUSED_ALWAYS  if it is set: later calls, too
// FLOTILLA_TEST_REFUSED_ERRNO   the error
// FLOTILLA_TEST_REFUSED_IN      owner or worker
// FLOTILLA_TEST_REFUSED_MARK    a file that is made when the call is refused
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

char const* value_of(char const* name) {
  char const* const found = std::getenv(name);
  return found != nullptr ? found : "";
}

struct rule {
  char const* call = value_of("FLOTILLA_TEST_REFUSED_CALL");
  long number = std::atol(value_of("FLOTILLA_TEST_REFUSED_NUMBER"));
  int error = std::atoi(value_of("FLOTILLA_TEST_REFUSED_ERRNO"));
  bool always = *value_of("FLOTILLA_TEST_REFUSED_ALWAYS") != '\0';
  char const* mark = value_of("FLOTILLA_TEST_REFUSED_MARK");
  bool is_worker = std::strcmp(program_invocation_short_name, "flotilla-worker") == 0;
  bool is_here = is_worker == (std::strcmp(value_of("FLOTILLA_TEST_REFUSED_IN"), "worker") == 0);
};

rule const& the_rule() {
  static rule const only;
  return only;
}

// A worker counts from its start, and the owner from `flotilla_test_refuse`.
std::atomic<bool> is_on{false};
std::atomic<long> counted{0};

/// Whether the code at the address is flotilla's: in a program or library with this name.
bool is_of_flotilla(void const* caller) {
  Dl_info about{};
  if (::dladdr(caller, &about) == 0 || about.dli_fname == nullptr) { return false; }
  return std::strstr(about.dli_fname, "refused_calls_client") != nullptr ||
         std::strstr(about.dli_fname, "flotilla-worker") != nullptr;
}

bool refuses(char const* call, void const* caller) {
  rule const& what = the_rule();
  bool const counts = what.is_here && (what.is_worker || is_on.load()) &&
                      std::strcmp(call, what.call) == 0 &&
                      (caller == nullptr || is_of_flotilla(caller));
  if (!counts) { return false; }
  long const number = counted.fetch_add(1) + 1;
  if (number < what.number || (number > what.number && !what.always)) { return false; }
  // There are several workers. Only the first one that comes so far refuses the call.
  int const made = static_cast<int>(
      ::syscall(SYS_openat, AT_FDCWD, what.mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (made >= 0) { ::syscall(SYS_close, made); }
  if (made < 0 && !what.always) { return false; }
  errno = what.error;
  return true;
}

template <class Function>
Function* next(Function*, char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// The name of the function, the number of the caller's frame, and what a refusal returns.
#define FLOTILLA_REFUSED(name, result) \
  if (refuses(#name, __builtin_return_address(0))) { return result; }
#define FLOTILLA_NEXT(name) next(&::name, #name)

extern "C" {

void flotilla_test_refuse(int on) { is_on.store(on != 0); }

int memfd_create(char const* name, unsigned flags) noexcept {
  FLOTILLA_REFUSED(memfd_create, -1)
  return FLOTILLA_NEXT(memfd_create)(name, flags);
}
int ftruncate(int file, off_t bytes) noexcept {
  FLOTILLA_REFUSED(ftruncate, -1)
  return FLOTILLA_NEXT(ftruncate)(file, bytes);
}
int fcntl(int file, int what, ...) {
  va_list more;
  va_start(more, what);
  long const value = va_arg(more, long);
  va_end(more);
  FLOTILLA_REFUSED(fcntl, -1)
  return FLOTILLA_NEXT(fcntl)(file, what, value);
}
void* mmap(void* at, size_t bytes, int rights, int flags, int file, off_t offset) noexcept {
  FLOTILLA_REFUSED(mmap, MAP_FAILED)
  return FLOTILLA_NEXT(mmap)(at, bytes, rights, flags, file, offset);
}
int madvise(void* at, size_t bytes, int advice) noexcept {
  FLOTILLA_REFUSED(madvise, -1)
  return FLOTILLA_NEXT(madvise)(at, bytes, advice);
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  FLOTILLA_REFUSED(fallocate, -1)
  return FLOTILLA_NEXT(fallocate)(file, mode, offset, bytes);
}
int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  FLOTILLA_REFUSED(socketpair, -1)
  return FLOTILLA_NEXT(socketpair)(domain, type, protocol, ends);
}
ssize_t sendmsg(int socket, msghdr const* message, int flags) {
  FLOTILLA_REFUSED(sendmsg, -1)
  return FLOTILLA_NEXT(sendmsg)(socket, message, flags);
}
ssize_t recvmsg(int socket, msghdr* message, int flags) {
  FLOTILLA_REFUSED(recvmsg, -1)
  return FLOTILLA_NEXT(recvmsg)(socket, message, flags);
}
int poll(pollfd* all, nfds_t count, int milliseconds) {
  FLOTILLA_REFUSED(poll, -1)
  return FLOTILLA_NEXT(poll)(all, count, milliseconds);
}
int eventfd(unsigned value, int flags) noexcept {
  FLOTILLA_REFUSED(eventfd, -1)
  return FLOTILLA_NEXT(eventfd)(value, flags);
}
int posix_spawn(pid_t* made, char const* path, posix_spawn_file_actions_t const* actions,
                posix_spawnattr_t const* attributes, char* const* arguments, char* const* names) {
  FLOTILLA_REFUSED(posix_spawn, errno)
  return FLOTILLA_NEXT(posix_spawn)(made, path, actions, attributes, arguments, names);
}
int waitid(idtype_t type, id_t id, siginfo_t* about, int options) {
  FLOTILLA_REFUSED(waitid, -1)
  return FLOTILLA_NEXT(waitid)(type, id, about, options);
}
int prctl(int what, ...) noexcept {
  va_list more;
  va_start(more, what);
  unsigned long values[4];
  for (unsigned long& each : values) { each = va_arg(more, unsigned long); }
  va_end(more);
  FLOTILLA_REFUSED(prctl, -1)
  return FLOTILLA_NEXT(prctl)(what, values[0], values[1], values[2], values[3]);
}
/// The standard library calls it for its threads, so nobody knows for whom.
int pthread_create(pthread_t* made, pthread_attr_t const* with, void* (*function)(void*),
                   void* argument) noexcept {
  if (refuses("pthread_create", nullptr)) { return errno; }
  return FLOTILLA_NEXT(pthread_create)(made, with, function, argument);
}
/// Refuses calls by the name of the system call: pidfd_open and pidfd_send_signal.
long syscall(long number, ...) noexcept {
  va_list more;
  va_start(more, number);
  long values[6];
  for (long& each : values) { each = va_arg(more, long); }
  va_end(more);
  char const* const call = number == SYS_pidfd_open          ? "pidfd_open"
                           : number == SYS_pidfd_send_signal ? "pidfd_send_signal"
                                                             : nullptr;
  if (call != nullptr && refuses(call, __builtin_return_address(0))) { return -1; }
  return FLOTILLA_NEXT(syscall)(number, values[0], values[1], values[2], values[3], values[4],
                                values[5]);
}

}  // extern "C"
