// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the system refused, in words: the limits of the process, and notes for the texts of
// driver_error.

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <span>
#include <string>
#include <string_view>

namespace flotilla::base {

/// Returns which of the limits the process has, as the end of a text, such as
/// "; RLIMIT_NOFILE (ulimit -n) is 100 descriptors". Empty if it has none of them.
/// @param resources  For getrlimit, such as RLIMIT_NPROC.
[[nodiscard]] std::string limits_text(std::initializer_list<int> resources);

/// Returns `what`, the text of the errno and the limits that can be the reason.
[[nodiscard]] std::string refusal_text(std::string_view what, int error,
                                       std::initializer_list<int> resources);

/// The limits that can be the reason if there is no memory, thread or descriptor, or if a file is
/// too long.
inline constexpr std::initializer_list<int> limits_of_memory{RLIMIT_AS, RLIMIT_DATA};
inline constexpr std::initializer_list<int> limits_of_threads{RLIMIT_NPROC, RLIMIT_AS, RLIMIT_DATA};
inline constexpr std::initializer_list<int> limits_of_descriptors{RLIMIT_NOFILE};
inline constexpr std::initializer_list<int> limits_of_files{RLIMIT_FSIZE};

/// A std::bad_alloc whose text names the bytes and the limits.
class no_memory : public std::bad_alloc {
 public:
  no_memory(std::size_t bytes, int error) noexcept;
  /// @param what  What needed memory, for example "a runtime".
  explicit no_memory(std::string_view what) noexcept;
  [[nodiscard]] char const* what() const noexcept override { return text_.data(); }

 private:
  std::array<char, 200> text_{};
};

/// The CPU driver returns only a status, a CUresult. It notes what the system refused, and the next
/// driver_error of this thread with this status has the note in its text. Long notes are cut off.
void note_refusal(int status, std::string_view text) noexcept;
/// Removes the note of this thread, because there is another reason for the status.
void forget_refusal() noexcept;
/// Returns the note and removes it. Empty if there is none, or if it is about another status.
[[nodiscard]] std::string take_refusal(int status);

/// Writes all bytes to a file. If RLIMIT_FSIZE does not allow that, the system sends SIGXFSZ, which
/// ends the process by default. The function blocks the signal and takes it.
/// @return 0, or an errno; EFBIG because of the limit. ENOSPC if the system writes nothing.
[[nodiscard]] int write_all(int descriptor, std::span<char const> bytes,
                            std::size_t* written = nullptr) noexcept;

}  // namespace flotilla::base
