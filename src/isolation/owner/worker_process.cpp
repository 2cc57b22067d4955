// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/worker_process.hpp"

#include <cuda.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "isolation/channel/control_socket.hpp"
#include "isolation/channel/system_error.hpp"
#include "isolation/channel/waiting.hpp"

extern char** environ;

namespace flotilla::isolated {

namespace {

// By number: the header of some versions of glibc declares these functions as C++ functions.
int open_process(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
/// Kills a process that is not reaped yet.
void kill_process(int pidfd, pid_t pid) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0) == 0) { return; }
  // A filter of system calls may know only the older call. If the process has been reaped (ESRCH),
  // the system may have given its number to another one.
  if (errno == ENOSYS || errno == EPERM) { ::kill(pid, SIGKILL); }
}

/// Copies a descriptor to a number above those that the worker inherits, so that none of the copies
/// for the worker overwrites another one.
descriptor raised(int number) {
  descriptor made{::fcntl(number, F_DUPFD_CLOEXEC, 16)};
  if (!made.valid()) { throw_refused("fcntl", "a descriptor for a worker process"); }
  return made;
}

class spawn_settings {
 public:
  spawn_settings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t all;
    ::sigfillset(&all);
    // Blocked until the worker ignores them (ignore_signals).
    ::posix_spawnattr_setsigmask(&attributes, &all);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    // A process group of its own: Ctrl-C goes to the owner, which decides what ends.
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~spawn_settings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  spawn_settings(spawn_settings const&) = delete;
  spawn_settings& operator=(spawn_settings const&) = delete;
  void pass(descriptor const& from, int to) {
    ::posix_spawn_file_actions_adddup2(&actions, from.get(), to);
  }
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

/// Waits until a message or the end of the socket can be read.
/// @return 0  There was neither before the limit, or the worker is lost.
int wait_for_message(int socket, std::atomic<int> const& lost, std::chrono::milliseconds limit) {
  // A process that hangs in its driver keeps its end of the socket even after it was killed. So
  // look regularly whether somebody has given it up.
  constexpr std::chrono::milliseconds period{50};
  auto const begin = std::chrono::steady_clock::now();
  while (lost.load() == 0) {
    pollfd one{socket, POLLIN, 0};
    int const found = ::poll(&one, 1, static_cast<int>(period.count()));
    if (found > 0) { return found; }
    if (found < 0 && errno != EINTR) { return found; }
    auto const time = std::chrono::steady_clock::now() - begin;
    // In milliseconds: the limit may be the maximum, which does not fit into nanoseconds.
    if (std::chrono::duration_cast<std::chrono::milliseconds>(time) > limit) { return 0; }
  }
  return 0;
}

}  // namespace

worker_process::worker_process(std::string const& program, int host_memory)
    : channels_file_(make_sealed_memory("flotilla channels", sizeof(channel_block))) {
  channels_ = mapping{channels_file_, sizeof(channel_block)};
  auto [mine, its] = make_sockets();
  descriptor const socket = raised(its.get());
  descriptor const channels = raised(channels_file_.get());
  descriptor const memory = raised(host_memory);
  spawn_settings with;
  with.pass(socket, socket_descriptor);
  with.pass(channels, channels_descriptor);
  with.pass(memory, host_memory_descriptor);
  // Nothing else of this process reaches the worker.
  ::posix_spawn_file_actions_addclosefrom_np(&with.actions, host_memory_descriptor + 1);
  char name[] = "flotilla-worker";
  char* arguments[] = {name, nullptr};
  errno =
      ::posix_spawn(&pid_, program.c_str(), &with.actions, &with.attributes, arguments, environ);
  if (errno != 0) { throw_refused("posix_spawn", "the program '" + program + "'"); }
  pidfd_ = descriptor{open_process(pid_)};
  socket_ = std::move(mine);
  if (!pidfd_.valid()) {
    int const why = errno;
    ::kill(pid_, SIGKILL);
    reap();
    errno = why;
    throw_refused("pidfd_open", "the worker process");
  }
}

worker_process::~worker_process() { lose(CUDA_ERROR_LAUNCH_FAILED, "nobody needs it any more"); }

control_answer worker_process::ask(control_message const& what, int passed,
                                   std::chrono::milliseconds limit) {
  std::lock_guard const lock{socket_use_};
  control_answer found{};
  descriptor unused;
  errno = 0;
  bool const is_sent = lost_.load() == 0 && send_message(socket_.get(), &what, sizeof what, passed);
  int const readable = is_sent ? wait_for_message(socket_.get(), lost_, limit) : 0;
  if (readable > 0 && receive_message(socket_.get(), &found, sizeof found, unused)) {
    found.text[sizeof found.text - 1] = '\0';
    return found;
  }
  int const refused = errno;
  char why[120] = "its worker process does not answer";
  if (refused != 0 && refused != EPIPE && refused != ECONNRESET) {
    char const* const call = !is_sent ? "sendmsg" : readable < 0 ? "poll" : "recvmsg";
    std::snprintf(why, sizeof why, "%s to its worker process failed with errno %d", call, refused);
  }
  lose(CUDA_ERROR_LAUNCH_FAILED, why);
  control_answer made{lost_.load(), {}};
  copy_reason(made.text);
  return made;
}

channel& worker_process::at(int number) const noexcept {
  return reinterpret_cast<channel_block*>(channels_.data())->channels[number];
}

int worker_process::take_channel() {
  constexpr int shared = channels_per_worker - 1;
  int found = shared;
  bool is_new = false;
  {
    std::lock_guard const lock{mutex_};
    for (int i = 0; i < shared && found == shared; ++i) {
      if ((taken_ >> i & 1) == 0) { found = i; }
    }
    std::uint32_t const bit = 1u << found;
    taken_ |= found == shared ? 0 : bit;
    is_new = (opened_ & bit) == 0;
    opened_ |= bit;
  }
  if (!is_new) { return found; }
  control_message open{};
  open.kind = control_message::kinds::open_channel;
  open.number = static_cast<std::uint32_t>(found);
  // The worker makes no driver call for it, so it answers at once.
  control_answer const answer = ask(open, -1, start_limit);
  if (answer.status != CUDA_SUCCESS && lost_.load() == 0) {
    lose(CUDA_ERROR_LAUNCH_FAILED, answer.text);
  }
  return found;
}

void worker_process::give_back_channel(int number) noexcept {
  std::lock_guard const lock{mutex_};
  if (!is_shared(number)) { taken_ &= ~(1u << number); }
}

void worker_process::lose(int status, std::string_view reason) noexcept {
  {
    std::lock_guard const lock{mutex_};
    if (lost_.load() == 0) {
      std::size_t const size = std::min(reason.size(), reason_.size() - 1);
      std::memcpy(reason_.data(), reason.data(), size);
      reason_[size] = '\0';
    }
    int none = 0;
    // Only once: a successor may serve the device by the time of a second call.
    bool const is_first = lost_.compare_exchange_strong(none, status);
    if (is_first && device_ != nullptr) { device_->store(status); }
    if (!is_reaped_ && pidfd_.valid()) { kill_process(pidfd_.get(), pid_); }
  }
  if (channels_.data() == nullptr) { return; }
  for (std::size_t i = 0; i < channels_per_worker; ++i) { wake(at(static_cast<int>(i)).answered); }
}

void worker_process::crash() noexcept {
  std::lock_guard const lock{mutex_};
  if (!is_reaped_ && pidfd_.valid()) { kill_process(pidfd_.get(), pid_); }
}

void worker_process::report_fault(int status, std::string_view reason) noexcept {
  if (lost_.load() == 0) { has_faulted_.store(true); }
  lose(status, reason);
}

void worker_process::serve(std::atomic<int>& device) noexcept {
  std::lock_guard const lock{mutex_};
  device_ = &device;
  device.store(lost_.load());
}

std::string worker_process::reason() const {
  std::lock_guard const lock{mutex_};
  return reason_.data();
}

void worker_process::copy_reason(std::span<char> into) const noexcept {
  std::lock_guard const lock{mutex_};
  std::string_view const text{reason_.data()};
  std::size_t const kept = std::min(text.size(), into.size() - 1);
  *std::copy_n(text.begin(), kept, into.begin()) = '\0';
}

bool worker_process::reap(int flags) noexcept {
  siginfo_t about{};
  int found = 0;
  do {
    found = ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | flags);
  } while (found != 0 && errno == EINTR);
  if (found == 0 && about.si_pid == 0) { return false; }
  char how[80] = "its worker process ended";
  // If the application has reaped the process, or ignores SIGCHLD, nobody knows how it ended.
  if (found == 0) {
    std::snprintf(how, sizeof how,
                  about.si_code == CLD_EXITED ? "its worker process ended with exit status %d"
                                              : "its worker process was killed by signal %d",
                  about.si_status);
  }
  {
    std::lock_guard const lock{mutex_};
    is_reaped_ = true;  // first: nothing may be sent to the number of the process any more
  }
  lose(CUDA_ERROR_LAUNCH_FAILED, how);
  std::lock_guard const lock{mutex_};
  has_ended_ = true;
  ended_.notify_all();
  return true;
}

void worker_process::wait_for_end() {
  std::unique_lock lock{mutex_};
  ended_.wait(lock, [this] { return has_ended_; });
}

void worker_process::wait_for_end_of_work(device_kind kind) {
  // When a GPU's driver reports a fault, it has ended all work of the process on the GPU, so the
  // process itself may end in the background (51 to 57 ms on an H200). In all other cases a kernel
  // may still write.
  if (kind == device_kind::gpu && has_faulted_.load()) { return; }
  wait_for_end();
}

}  // namespace flotilla::isolated
