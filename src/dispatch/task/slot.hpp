#pragma once
// A submitted task. Slots can lie in shared memory: they hold indices and offsets, no addresses of
// the process, and all zeros is a valid, free slot. Callables are the exception; their kind marks
// them.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/cache_line.hpp"
#include "dispatch/task/priority.hpp"

namespace flotilla::dispatch {

enum class task_kind : std::uint8_t { launch, memory_op, callable, recorded };

/// The place of a slot: the number of its pool in the upper half, its index there in the lower
/// half.
using slot_address = std::uint32_t;
inline constexpr slot_address no_slot = 0xffff'ffff;

/// Where the end of a launched task becomes visible: a lane of a device, and the number that the
/// lane will write. One word, so that it is read and written atomically. Zero: not launched.
struct end_mark {
  std::uint64_t word = 0;
  static end_mark of(unsigned device, unsigned lane, std::uint64_t number) noexcept {
    return {std::uint64_t{device} << 56 | std::uint64_t{lane} << 48 | number};
  }
  [[nodiscard]] bool valid() const noexcept { return word != 0; }
  [[nodiscard]] unsigned device() const noexcept { return static_cast<unsigned>(word >> 56); }
  [[nodiscard]] unsigned lane() const noexcept { return static_cast<unsigned>(word >> 48) & 0xff; }
  [[nodiscard]] std::uint64_t number() const noexcept { return word & 0xffff'ffff'ffff; }
};

/// The open batch that a task lies in: the batch is not launched yet, but a successor that joins it
/// runs after the task. Zero: in no open batch.
struct batch_mark {
  static std::uint32_t of(unsigned device, unsigned lane) noexcept {
    return (device + 1) << 8 | lane;
  }
  static bool is_on(std::uint32_t mark, unsigned device) noexcept {
    return mark >> 8 == device + 1;
  }
  static unsigned lane(std::uint32_t mark) noexcept { return mark & 0xff; }
};

/// The generation of a slot counts up when a task is submitted and again when it ends: odd means
/// open. The lowest bit of the word says that the task's ticket is gone or already counted
/// (`detached`); the next bit says that a continuation waits for the task (`watched`). One word, so
/// that the thread that ends the task learns both in the atomic step that ends it.
struct generation_word {
  static constexpr std::uint64_t detached_bit = 1;
  static constexpr std::uint64_t watched_bit = 2;
  static constexpr std::uint64_t of(std::uint64_t generation) noexcept { return generation << 2; }
  std::uint64_t word = 0;
  [[nodiscard]] std::uint64_t generation() const noexcept { return word >> 2; }
  [[nodiscard]] bool open() const noexcept { return (word & 4) != 0; }
  [[nodiscard]] bool detached() const noexcept { return (word & detached_bit) != 0; }
  [[nodiscard]] bool watched() const noexcept { return (word & watched_bit) != 0; }
};

/// The tasks parked on a task: the head of a list through `next_parked`, with the generation that
/// the list belongs to. The list is closed when the task ends, or when a thread finds the task
/// launched. No task parks on a closed list.
struct successor_word {
  static constexpr std::uint32_t none = 0xffff'ffff;
  static constexpr std::uint32_t closed = 0xffff'fffe;
  static std::uint64_t of(std::uint64_t generation, std::uint32_t head) noexcept {
    return generation << 32 | head;
  }
  static std::uint32_t generation(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static std::uint32_t head(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
  }
  static bool is_task(std::uint32_t head) noexcept { return head != none && head != closed; }
};

struct alignas(base::cache_line) slot {
  static constexpr std::size_t inline_dependencies = 4;
  static constexpr std::size_t inline_bytes = 128;

  // The words that submitter, lease holder and waiters share. Each names its writers. Acquire loads
  // pair as follows. `generation`: with the release in open_slot and the exchange in task_end.
  // `end`: with the release in mark_launched. `successors`: with the exchanges in park and
  // take_successors. `device`: with the release in intake.
  std::atomic<std::uint64_t> generation;   // submitter, task_end; a dropped ticket, `then`: bits
  std::atomic<std::uint64_t> end;          // end_mark: the holder of the device's lease
  std::atomic<std::uint64_t> successors;   // successor_word: threads that park, launch or end
  std::atomic<std::uint64_t> epoch;        // submitter: the epoch in which it was submitted
  std::atomic<std::uint32_t> device;       // 1 + the device that has the task; 0: no device yet
  std::atomic<std::uint32_t> parked_on;    // 1 + a slot_address while parked, else 0
  std::atomic<std::uint32_t> next_parked;  // the next task in its predecessor's list
  std::atomic<std::uint32_t> demanded;  // a hint: a thread waits for it, or did for an earlier task
  std::atomic<std::uint32_t> batched;   // batch_mark: the holder of that device's lease

  // The submitter writes these before it pushes the slot's address; the lease holder reads them.
  task_kind kind;
  bool batch;                // task_options::batch
  bool large;                // of a launch: the arguments lie in slot_side
  bool holds_callable;       // `bytes` holds a live callable; the lease holder clears it
  bool labelled;             // slot_side holds the label
  std::atomic<bool> posted;  // it has no ticket; posted_errors reads it at any time
  priority_level level;
  std::uint32_t submitter;  // lower half of the submitting thread's token
  std::uint32_t kernel;
  std::uint32_t shared_bytes;
  std::uint32_t grid[3];
  std::uint16_t block[3];
  std::uint16_t argument_bytes;
  std::uint16_t dependencies;  // a count; slot_side holds those that do not fit here
  std::array<std::uint32_t, inline_dependencies> after_slot;
  // Lower halves: no task waits through 2^32 generations of one slot.
  std::array<std::uint32_t, inline_dependencies> after_generation;

  // Arguments of a launch, or a memory_command, a callable, a replayed_part.
  alignas(16) std::byte bytes[inline_bytes];
};
static_assert(sizeof(slot) == 256);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The memory_command, callable or replayed_part that a slot holds.
template <class T>
[[nodiscard]] T& held_in(slot& task) noexcept {
  return *std::launder(reinterpret_cast<T*>(task.bytes));
}

}  // namespace flotilla::dispatch
