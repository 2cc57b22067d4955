// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that a submitting process and a draining process share. The two processes map the memory
// at different addresses.

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <stdexcept>

#include "dispatch/queue/thread_inboxes.hpp"
#include "dispatch/task/slot_pool.hpp"
#include "dispatch/task/slot_returns.hpp"

namespace flotilla::dispatch::two_processes {

inline constexpr std::size_t window = 256;  // number of slots; each is used thousands of times
inline constexpr unsigned producers = 2;
inline constexpr unsigned lanes = 4;
inline constexpr unsigned pool_number = 3;

/// The completion number of one lane, as in a completion page.
struct alignas(base::cache_line) counter {
  std::atomic<std::uint64_t> number;
};

/// The beginning of the memory. The slot pool follows, and then one result for each task. At first,
/// all bytes are 0.
struct shared_head {
  std::array<counter, lanes> done;
  alignas(inbox) std::byte boxes[producers][sizeof(inbox)];
  slot_address rings[producers][inbox::ring_words(window)];
  std::atomic<std::uint32_t> unordered;  // tasks that ran before a predecessor
  std::atomic<std::uint32_t> reused;     // slots that were not open, or were given back twice
  std::atomic<std::uint32_t> dropped;    // tasks that ended after their ticket was dropped
};

/// The memory as one process has mapped it.
class view {
 public:
  view(int file, std::size_t tasks)
      : bytes_(bytes(tasks)),
        memory_(map(file, bytes_)),
        pool(pool_number, window, memory_ + pool_at()) {}
  ~view() { ::munmap(memory_, bytes_); }
  view(view const&) = delete;
  view& operator=(view const&) = delete;

  [[nodiscard]] static std::size_t bytes(std::size_t tasks) {
    return pool_at() + slot_pool::bytes(window) + tasks * sizeof(std::uint64_t);
  }
  /// Constructs the inboxes. Must be called once, in one of the processes.
  void make_inboxes() {
    for (unsigned i = 0; i < producers; ++i) {
      ::new (head().boxes[i]) inbox{window, head().rings[i]};
    }
  }
  [[nodiscard]] void const* address() const { return memory_; }
  [[nodiscard]] shared_head& head() {
    return *std::launder(reinterpret_cast<shared_head*>(memory_));
  }
  [[nodiscard]] inbox& box(unsigned i) {
    return *std::launder(reinterpret_cast<inbox*>(head().boxes[i]));
  }
  [[nodiscard]] slot& at(slot_address of) { return pool[of & 0xffff]; }
  /// The results are not atomic, just as the memory that kernels write is not. The completion
  /// numbers order the accesses.
  [[nodiscard]] std::uint64_t* results() {
    return reinterpret_cast<std::uint64_t*>(memory_ + pool_at() + slot_pool::bytes(window));
  }

 private:
  static constexpr std::size_t pool_at() {
    return (sizeof(shared_head) + base::cache_line - 1) / base::cache_line * base::cache_line;
  }
  static std::byte* map(int file, std::size_t bytes) {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) { throw std::runtime_error{"mmap failed"}; }
    return static_cast<std::byte*>(at);
  }
  std::size_t bytes_;
  std::byte* memory_;

 public:
  slot_pool pool;
};

/// A file that exists only in memory. At first, it has `bytes` zero bytes.
class memory_file {
 public:
  explicit memory_file(std::size_t bytes) : file_(::memfd_create("flotilla_test", MFD_CLOEXEC)) {
    if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(bytes)) != 0) {
      throw std::runtime_error{"memfd_create failed"};
    }
  }
  ~memory_file() { ::close(file_); }
  memory_file(memory_file const&) = delete;
  memory_file& operator=(memory_file const&) = delete;
  [[nodiscard]] int file() const { return file_; }

 private:
  int file_;
};

/// Writes task `id` into the slot as a submitter does, but without predecessors.
inline void fill(slot& made, std::uint64_t id) {
  made.kind = task_kind::launch;
  made.kernel = static_cast<std::uint32_t>(id % 7);
  made.grid[0] = static_cast<std::uint32_t>(id);
  made.grid[1] = made.grid[2] = 1;
  made.block[0] = static_cast<std::uint16_t>(id % 1024);
  made.block[1] = made.block[2] = 1;
  made.argument_bytes = static_cast<std::uint16_t>(8 * (1 + id % (slot::inline_bytes / 8)));
  std::uint64_t word = id;
  for (std::size_t at = 0; at < made.argument_bytes; at += sizeof word) {
    std::memcpy(made.bytes + at, &word, sizeof word);  // so the first word is the id
    word = word * 6364136223846793005 + 1442695040888963407;
  }
}

[[nodiscard]] inline std::uint64_t id_of(slot const& of) {
  std::uint64_t id;
  std::memcpy(&id, of.bytes, sizeof id);
  return id;
}

/// The result of the task. It depends on every value that `fill` has written.
[[nodiscard]] inline std::uint64_t result_of(slot const& of) {
  std::uint64_t sum =
      of.kernel + 3u * of.grid[0] + 5u * of.block[0] + static_cast<unsigned>(of.kind);
  for (std::size_t at = 0; at < of.argument_bytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, of.bytes + at, sizeof word);
    sum = (sum ^ word) * 1099511628211;
  }
  return sum | 1;  // never 0, because 0 means that the task did not run
}

}  // namespace flotilla::dispatch::two_processes
