#pragma once
// A submitted task. Made to lie in shared memory: indices and offsets, no addresses of the process, and
// all zeros is a valid, free slot. Callables are the exception, and marked by their kind.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"
#include "dispatch/urgency.hpp"

namespace flotilla::dispatch {

enum class task_kind : std::uint8_t { launch, transfer, work, recorded };

/// Where a slot is: the pool in the upper half, the place in it in the lower.
using slot_address = std::uint32_t;
inline constexpr slot_address no_slot = 0xffff'ffff;

/// Where the end of a task will be seen: a lane of a device, and the number the lane will write. One word,
/// so that it is read and written at once. Zero: not launched.
struct end_mark {
  std::uint64_t word = 0;
  static end_mark of(unsigned device, unsigned lane, std::uint64_t number) noexcept {
    return {std::uint64_t{device} << 56 | std::uint64_t{lane} << 48 | number};
  }
  [[nodiscard]] bool launched() const noexcept { return word != 0; }
  [[nodiscard]] unsigned device() const noexcept { return static_cast<unsigned>(word >> 56); }
  [[nodiscard]] unsigned lane() const noexcept { return static_cast<unsigned>(word >> 48) & 0xff; }
  [[nodiscard]] std::uint64_t number() const noexcept { return word & 0xffff'ffff'ffff; }
};

/// A task that waits in a device's hands for its batch to be full: it is not launched, but what is put behind it
/// into the same batch runs after it. Zero: not staged.
struct stage_mark {
  static std::uint32_t of(unsigned device, unsigned lane) noexcept { return (device + 1) << 8 | lane; }
  static bool is_on(std::uint32_t mark, unsigned device) noexcept { return mark >> 8 == device + 1; }
  static unsigned lane(std::uint32_t mark) noexcept { return mark & 0xff; }
};

/// A generation counts up when a task is submitted and when it ends: odd while a task is open. The lowest
/// bit of the word says that its ticket is gone, or counted (`detached`), the next that something is to happen at its end
/// (`watched`), so that who ends it learns both in the step that ends it.
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

/// The tasks parked on one: the head of a list through `next_parked`, under the generation it is for.
/// Closed once the task has ended, or somebody found it launched: then nobody parks on it any more.
struct successor_word {
  static constexpr std::uint32_t none = 0xffff'ffff;
  static constexpr std::uint32_t closed = 0xffff'fffe;
  static std::uint64_t of(std::uint64_t generation, std::uint32_t head) noexcept {
    return generation << 32 | head;
  }
  static std::uint32_t generation(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }
  static std::uint32_t head(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
};

struct alignas(base::cache_line) slot {
  static constexpr std::size_t inline_dependencies = 4;
  static constexpr std::size_t inline_bytes = 128;

  // The words that submitter, drainer and waiters share.
  std::atomic<std::uint64_t> generation;   // submitter and ender; the ticket's drop and `then` set bits
  std::atomic<std::uint64_t> end;          // end_mark: the holder of the device's lease
  std::atomic<std::uint64_t> successors;   // successor_word: whoever parks, launches, ends
  std::atomic<std::uint64_t> epoch;        // submitter: what was current when it was submitted
  std::atomic<std::uint32_t> device;       // 1 + the device that has it; 0: none yet
  std::atomic<std::uint32_t> parked_on;    // 1 + a slot_address while parked, else 0
  std::atomic<std::uint32_t> next_parked;  // the next in its predecessor's list
  std::atomic<std::uint32_t> wanted;       // a waiter wants it; only a hint, may be of an earlier task
  std::atomic<std::uint32_t> staged;       // stage_mark: the holder of the lease of the device it names

  // What the submitter writes before it pushes the slot's address, and the drainer reads.
  task_kind kind;
  bool batch;
  bool large;                     // a launch: the arguments lie in the side store
  bool holds_work;                // `bytes` holds a live work object; the drainer clears it
  bool labelled;                  // the side store has its label
  urgency level;
  std::uint32_t submitter;        // token of the submitting thread, cut
  std::uint32_t kernel;
  std::uint32_t shared_bytes;
  std::uint32_t grid[3];
  std::uint16_t block[3];
  std::uint16_t argument_bytes;
  std::uint16_t dependencies;     // a count; those past the inline ones lie in the side store
  std::array<std::uint32_t, inline_dependencies> after_slot;
  std::array<std::uint32_t, inline_dependencies> after_generation;  // cut: a count of 2^32 does not come round

  alignas(16) std::byte bytes[inline_bytes];  // arguments, a transfer, a work object, or a replayed_part
};
static_assert(sizeof(slot) == 256);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace flotilla::dispatch
