// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/refusal.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace flotilla::base {

namespace {

struct limit_name {
  int resource;
  char const* name;    // for getrlimit
  char const* option;  // of ulimit
  char const* unit;
};
constexpr std::array limit_names{
    limit_name{RLIMIT_NPROC, "RLIMIT_NPROC", "-u", "processes and threads of this user"},
    limit_name{RLIMIT_AS, "RLIMIT_AS", "-v", "bytes"},
    limit_name{RLIMIT_DATA, "RLIMIT_DATA", "-d", "bytes"},
    limit_name{RLIMIT_NOFILE, "RLIMIT_NOFILE", "-n", "descriptors"},
    limit_name{RLIMIT_FSIZE, "RLIMIT_FSIZE", "-f", "bytes"},
    limit_name{RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", "-l", "bytes"},
};

// Memory of the thread itself, because a note can be about missing memory.
thread_local constinit std::array<char, 400> noted{};
thread_local constinit std::size_t noted_bytes = 0;
thread_local constinit int noted_status = 0;

/// While the object lives, RLIMIT_FSIZE makes a write of this thread fail with EFBIG, without a
/// signal.
class without_size_signal {
 public:
  without_size_signal() noexcept {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::sigset_t pending;
    was_pending_ = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~without_size_signal() {
    ::timespec const no_time{};
    if (!was_pending_) { static_cast<void>(::sigtimedwait(&signal_, nullptr, &no_time)); }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  without_size_signal(without_size_signal const&) = delete;
  without_size_signal& operator=(without_size_signal const&) = delete;

 private:
  ::sigset_t signal_, before_;
  bool was_pending_;
};

}  // namespace

std::string limits_text(std::initializer_list<int> resources) {
  std::string text;
  for (int const each : resources) {
    auto const named = std::find_if(limit_names.begin(), limit_names.end(),
                                    [each](limit_name const& of) { return of.resource == each; });
    ::rlimit limit{};
    if (named == limit_names.end() ||
        ::getrlimit(static_cast<__rlimit_resource>(each), &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY) {
      continue;
    }
    text += std::string{"; "} + named->name + " (ulimit " + named->option + ") is " +
            std::to_string(limit.rlim_cur) + ' ' + named->unit;
  }
  return text;
}

std::string refusal_text(std::string_view what, int error, std::initializer_list<int> resources) {
  return std::string{what} + ": " + std::generic_category().message(error) + limits_text(resources);
}

no_memory::no_memory(std::size_t bytes, int error) noexcept {
  auto const copy = [this](std::string_view text) {
    std::size_t const length = std::min(text.size(), text_.size() - 1);
    std::copy_n(text.begin(), length, text_.begin());
  };
  try {
    copy(refusal_text(std::to_string(bytes) + " bytes of host memory could not be reserved", error,
                      limits_of_memory));
  } catch (std::bad_alloc const&) { copy("host memory could not be reserved"); }
}

no_memory::no_memory(std::string_view what) noexcept : no_memory{0, ENOMEM} {
  try {
    std::string const text =
        refusal_text("host memory for " + std::string{what} + " could not be reserved", ENOMEM,
                     limits_of_memory);
    text_.fill('\0');
    std::copy_n(text.begin(), std::min(text.size(), text_.size() - 1), text_.begin());
  } catch (std::bad_alloc const&) {  // the text of the other constructor stays
  }
}

void note_refusal(int status, std::string_view text) noexcept {
  noted_status = status;
  noted_bytes = std::min(text.size(), noted.size());
  std::copy_n(text.begin(), noted_bytes, noted.begin());
}

void forget_refusal() noexcept { noted_bytes = 0; }

std::string take_refusal(int status) {
  if (status != noted_status) { return {}; }
  std::string text{noted.data(), noted_bytes};
  noted_bytes = 0;
  return text;
}

int write_all(int descriptor, std::span<char const> bytes, std::size_t* written) noexcept {
  without_size_signal const scope;
  std::size_t done = 0;
  int error = 0;
  while (done < bytes.size() && error == 0) {
    ssize_t const count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count == 0) {
      error = ENOSPC;
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (written != nullptr) { *written = done; }
  return error;
}

}  // namespace flotilla::base
