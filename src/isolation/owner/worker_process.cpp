// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/worker_process.hpp"

#include <cuda.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <flotilla/error/driver_status.hpp>
#include <flotilla/error/error.hpp>

#include "isolation/channel/control_socket.hpp"
#include "isolation/channel/waiting.hpp"

extern char** environ;

namespace flotilla::isolated {

namespace {

// By number: the header of some versions of glibc declares these functions as C++ functions.
int open_process(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
void kill_process(int pidfd) { ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); }

/// Copies a descriptor to a number above those that the worker inherits, so that none of the copies
/// for the worker overwrites another one.
descriptor raised(int number) { return descriptor{::fcntl(number, F_DUPFD_CLOEXEC, 16)}; }

class spawn_settings {
 public:
  spawn_settings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
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

std::string how_it_ended(siginfo_t const& about) {
  if (about.si_code == CLD_EXITED) {
    return "its worker process ended with exit status " + std::to_string(about.si_status);
  }
  return "its worker process was killed by signal " + std::to_string(about.si_status);
}

}  // namespace

worker_process::worker_process(std::string const& program, int host_memory)
    : channels_file_(make_sealed_memory("flotilla channels", sizeof(channel_block))) {
  auto [mine, its] = make_sockets();
  auto const refuse = [&](int why) {
    throw driver_error(driver_status::operating_system, "posix_spawn",
                       "the program '" + program + "': " + std::strerror(why));
  };
  if (!channels_file_.valid() || !mine.valid()) { refuse(errno); }
  channels_ = mapping{channels_file_, sizeof(channel_block)};
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
  int const failed =
      ::posix_spawn(&pid_, program.c_str(), &with.actions, &with.attributes, arguments, environ);
  if (failed != 0) { refuse(failed); }
  pidfd_ = descriptor{open_process(pid_)};
  socket_ = std::move(mine);
  if (!pidfd_.valid()) {
    int const why = errno;
    ::kill(pid_, SIGKILL);
    reap();
    refuse(why);
  }
}

worker_process::~worker_process() { lose(CUDA_ERROR_LAUNCH_FAILED, "nobody needs it any more"); }

control_answer worker_process::ask(control_message const& what, int passed) {
  std::lock_guard const lock{socket_use_};
  control_answer found{};
  descriptor unused;
  bool const has_answer = lost_.load() == 0 &&
                          send_message(socket_.get(), &what, sizeof what, passed) &&
                          receive_message(socket_.get(), &found, sizeof found, unused);
  if (!has_answer) {
    lose(CUDA_ERROR_LAUNCH_FAILED, "its worker process does not answer");
    control_answer made{lost_.load(), {}};
    std::strncpy(made.text, reason().c_str(), sizeof made.text - 1);
    return made;
  }
  found.text[sizeof found.text - 1] = '\0';
  return found;
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
  if (is_new) {
    control_message open{};
    open.kind = control_message::kinds::open_channel;
    open.number = static_cast<std::uint32_t>(found);
    static_cast<void>(ask(open));  // a lost worker answers no request either
  }
  return found;
}

void worker_process::give_back_channel(int number) noexcept {
  std::lock_guard const lock{mutex_};
  if (!is_shared(number)) { taken_ &= ~(1u << number); }
}

void worker_process::lose(int status, std::string const& reason) noexcept {
  {
    std::lock_guard const lock{mutex_};
    if (lost_.load() == 0) { reason_ = reason; }
    int none = 0;
    // Only once: a successor may serve the device by the time of a second call.
    bool const is_first = lost_.compare_exchange_strong(none, status);
    if (is_first && device_ != nullptr) { device_->store(status); }
    if (!has_ended_ && pidfd_.valid()) { kill_process(pidfd_.get()); }
  }
  if (channels_.data() == nullptr) { return; }
  for (std::size_t i = 0; i < channels_per_worker; ++i) { wake(at(static_cast<int>(i)).answered); }
}

void worker_process::crash() noexcept {
  std::lock_guard const lock{mutex_};
  if (!has_ended_ && pidfd_.valid()) { kill_process(pidfd_.get()); }
}

void worker_process::report_fault(int status, std::string const& reason) noexcept {
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
  return reason_;
}

void worker_process::reap() noexcept {
  siginfo_t about{};
  int found = 0;
  do {
    found = ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED);
  } while (found != 0 && errno == EINTR);
  // If the application has reaped the process, or ignores SIGCHLD, nobody knows how it ended.
  lose(CUDA_ERROR_LAUNCH_FAILED,
       found == 0 ? how_it_ended(about) : std::string{"its worker process ended"});
  std::lock_guard const lock{mutex_};
  has_ended_ = true;
  ended_.notify_all();
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
