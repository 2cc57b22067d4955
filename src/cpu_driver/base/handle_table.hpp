// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handles whose validity can be checked. A handle is not an address: it encodes a kind, a
// generation and an index. The table therefore recognises an outdated or invented handle without
// reading freed memory. Finding an object costs one atomic read-modify-write. An object stays alive
// until the last `ref` to it is destroyed, even if another thread closes the handle earlier.
//
// A standing handle has generation 0 and names at most one object at a time. After a standing
// handle was closed, it may name a new object. Primary contexts have standing handles.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

namespace flotilla::cpu_driver {

enum class handle_kind : std::uint64_t {
  context = 1,
  green_context,
  stream,
  event,
  module,
  function,
  library,
  kernel,
  graph,
  graph_node,
  graph_exec
};

template <class T, class Handle, handle_kind kind>
class handle_table {
  struct slot {
    // Bits 63 to 33: the generation. Bit 32: whether the handle is open. Bits 31 to 0: the number
    // of references. The open handle itself counts as one reference.
    std::atomic<std::uint64_t> word{0};
    alignas(T) std::byte storage[sizeof(T)];
    T* object() noexcept { return std::launder(reinterpret_cast<T*>(storage)); }
  };

 public:
  /// A movable reference that keeps one object alive. The reference is empty if no object was
  /// found.
  class ref {
   public:
    ref() = default;
    ref(ref&& other) noexcept
        : table_(other.table_), slot_(std::exchange(other.slot_, nullptr)), index_(other.index_) {}
    ref& operator=(ref&& other) noexcept {
      std::swap(table_, other.table_);
      std::swap(slot_, other.slot_);
      std::swap(index_, other.index_);
      return *this;
    }
    ~ref() {
      if (slot_ != nullptr) { table_->release(*slot_, index_); }
    }
    explicit operator bool() const noexcept { return slot_ != nullptr; }
    T* get() const noexcept { return slot_ != nullptr ? slot_->object() : nullptr; }
    T* operator->() const noexcept { return slot_->object(); }
    T& operator*() const noexcept { return *slot_->object(); }

   private:
    friend class handle_table;
    ref(handle_table* table, slot* held, std::uint64_t index) noexcept
        : table_(table), slot_(held), index_(index) {}
    handle_table* table_ = nullptr;
    slot* slot_ = nullptr;
    std::uint64_t index_ = 0;
  };

  static constexpr std::size_t standing_handles = 64;

  /// Returns the only table of this type in the process. The table is never destroyed, because
  /// threads and static destructors may call the driver until the process ends.
  static handle_table& of_process() {
    static auto* const only = new handle_table;
    return *only;
  }

  /// Opens a new handle, and constructs an object from this handle and `arguments`. Throws
  /// std::bad_alloc if no handle is left, and every exception that the constructor throws.
  template <class... Arguments>
  ref open(Arguments&&... arguments) {
    return make(nullptr, std::forward<Arguments>(arguments)...);
  }

  /// Constructs an object with the standing handle `number`. The caller must ensure three things:
  /// `number` is less than `standing_handles`, the handle names no object now, and no other thread
  /// calls this function with the same number. Calls of find() may run concurrently.
  template <class... Arguments>
  ref open_standing(std::size_t number, Arguments&&... arguments) {
    Handle const standing = encode(number, 0);
    ref made = make(standing, std::forward<Arguments>(arguments)...);
    std::uint64_t const generation =
        made.slot_->word.load(std::memory_order_relaxed) >> generation_shift;
    // release: pairs with the acquire in resolve()
    standing_[number].store(encode(made.index_, generation), std::memory_order_release);
    return made;
  }

  /// Returns the object, or an empty ref if `handle` is not an open handle of this kind.
  ref find(Handle handle) noexcept {
    std::uint64_t index = 0;
    std::uint64_t generation = 0;
    if (!decode(resolve(handle), index, generation)) { return {}; }
    slot* const place = find_slot(index);
    if (place == nullptr) { return {}; }
    std::uint64_t word = place->word.load(std::memory_order_relaxed);
    do {
      if ((word >> generation_shift) != generation || (word & open_bit) == 0) { return {}; }
      // acquire: pairs with the release in make()
    } while (!place->word.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                                std::memory_order_relaxed));
    return ref(this, place, index);
  }

  /// Returns whether `handle` is a standing handle that names an object, or has named one before.
  [[nodiscard]] bool is_standing(Handle handle) const noexcept {
    std::uint64_t index = 0;
    std::uint64_t generation = 0;
    return decode(handle, index, generation) && generation == 0 && resolve(handle) != nullptr;
  }

  /// Closes the handle, so that find() no longer finds the object. The object is destroyed when no
  /// ref to it is left. Returns false if the handle was not open.
  bool close(Handle handle) noexcept {
    std::uint64_t index = 0;
    std::uint64_t generation = 0;
    if (!decode(resolve(handle), index, generation)) { return false; }
    slot* const place = find_slot(index);
    if (place == nullptr) { return false; }
    std::uint64_t word = place->word.load(std::memory_order_relaxed);
    do {
      if ((word >> generation_shift) != generation || (word & open_bit) == 0) { return false; }
    } while (!place->word.compare_exchange_weak(word, word & ~open_bit, std::memory_order_acq_rel,
                                                std::memory_order_relaxed));
    live_.fetch_sub(1, std::memory_order_relaxed);
    release(*place, index);
    return true;
  }

  /// Destroys an object whose type has a `retire()`. For such an object, release() calls retire()
  /// instead of the destructor. retire() must cause a later call of finish().
  void finish(Handle handle) noexcept {
    std::uint64_t index = 0;
    std::uint64_t generation = 0;
    if (decode(handle, index, generation)) { destroy(*find_slot(index), index); }
  }

  /// Returns the number of open handles. The number is exact only while no thread opens or closes a
  /// handle.
  std::size_t live() const noexcept { return live_.load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned low_bits = 4;  // always zero, as in an aligned address
  static constexpr unsigned index_bits = 20;
  // A handle has 47 bits, like an address in user space: four for the kind, 19 for the generation,
  // 20 for the index, and four that are zero.
  static constexpr unsigned generation_bits = 19;
  static constexpr unsigned generation_shift = 33;
  static constexpr std::uint64_t open_bit = std::uint64_t{1} << 32;
  static constexpr std::uint64_t references = open_bit - 1;
  static constexpr std::uint64_t last_generation = (std::uint64_t{1} << generation_bits) - 1;
  static constexpr std::size_t chunk_slots = 64;
  static constexpr std::size_t chunk_count = (std::size_t{1} << index_bits) / chunk_slots;
  using chunk = std::array<slot, chunk_slots>;

  static Handle encode(std::uint64_t index, std::uint64_t generation) noexcept {
    return reinterpret_cast<Handle>(
        (((static_cast<std::uint64_t>(kind) << generation_bits | generation) << index_bits) | index)
        << low_bits);
  }

  static bool decode(Handle handle, std::uint64_t& index, std::uint64_t& generation) noexcept {
    auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
    if ((bits & ((1u << low_bits) - 1)) != 0) { return false; }
    bits >>= low_bits;
    index = bits & ((std::uint64_t{1} << index_bits) - 1);
    bits >>= index_bits;
    generation = bits & last_generation;
    return (bits >> generation_bits) == static_cast<std::uint64_t>(kind);
  }

  /// Constructs an object. Its handle is `standing`, or a new handle if `standing` is null.
  template <class... Arguments>
  ref make(Handle standing, Arguments&&... arguments) {
    std::uint64_t const index = take_index();
    slot& place = *find_slot(index);
    std::uint64_t const generation =
        (place.word.load(std::memory_order_relaxed) >> generation_shift) + 1;
    try {
      ::new (static_cast<void*>(place.storage))
          T(standing != nullptr ? standing : encode(index, generation),
            std::forward<Arguments>(arguments)...);
    } catch (...) {
      give_index(index);
      throw;
    }
    live_.fetch_add(1, std::memory_order_relaxed);  // relaxed: orders no other memory access
    // release: pairs with the acquire in find()
    place.word.store((generation << generation_shift) | open_bit | 2, std::memory_order_release);
    return ref(this, &place, index);
  }

  /// Converts a standing handle to the ordinary handle of the newest object with this standing
  /// handle, or to null if there was no such object yet. Returns any other handle unchanged.
  Handle resolve(Handle handle) const noexcept {
    std::uint64_t index = 0;
    std::uint64_t generation = 0;
    if (!decode(handle, index, generation) || generation != 0) { return handle; }
    if (index >= standing_handles) { return nullptr; }
    // acquire: pairs with the release in open_standing()
    return standing_[index].load(std::memory_order_acquire);
  }

  slot* find_slot(std::uint64_t index) noexcept {
    // acquire: pairs with the release in take_index()
    chunk* const found = chunks_[index / chunk_slots].load(std::memory_order_acquire);
    return found != nullptr ? &(*found)[index % chunk_slots] : nullptr;
  }

  std::uint64_t take_index() {
    std::lock_guard const lock(mutex_);
    if (!free_.empty()) {
      std::uint64_t const index = free_.front();
      free_.pop_front();
      return index;
    }
    if (next_ == chunk_count * chunk_slots) { throw std::bad_alloc(); }
    if (next_ % chunk_slots == 0) {
      // A chunk is never freed, because a thread may look up an outdated handle at any time.
      chunks_[next_ / chunk_slots].store(new chunk, std::memory_order_release);
    }
    return next_++;
  }

  void give_index(std::uint64_t index) noexcept {
    std::lock_guard const lock(mutex_);
    try {
      free_.push_back(index);  // at the end, so that all slots are reused equally often
    } catch (std::bad_alloc const&) {
      // If there is no memory for the list, the slot is never used again, which is harmless.
    }
  }

  void release(slot& place, std::uint64_t index) noexcept {
    // acq_rel: everything that threads did through other refs happens before the object's
    // destruction
    if ((place.word.fetch_sub(1, std::memory_order_acq_rel) & references) != 1) { return; }
    if constexpr (requires(T & object) { object.retire(); }) {
      place.object()->retire();  // causes a later call of finish()
    } else {
      destroy(place, index);
    }
  }

  void destroy(slot& place, std::uint64_t index) noexcept {
    place.object()->~T();
    // A slot whose generations are used up is never used again. Otherwise two objects would get the
    // same handle.
    if ((place.word.load(std::memory_order_relaxed) >> generation_shift) < last_generation) {
      give_index(index);
    }
  }

  std::array<std::atomic<chunk*>, chunk_count> chunks_{};
  std::array<std::atomic<Handle>, standing_handles> standing_{};
  std::atomic<std::size_t> live_{0};
  std::mutex mutex_;
  std::deque<std::uint64_t> free_;  // guarded by mutex_
  std::uint64_t next_ = 0;          // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
