#pragma once
// Handles that can be checked. A handle is no address but a kind, a generation and an index, so
// that any value an application passes, stale or invented, is recognised without touching memory
// that may be gone. Finding an object costs one atomic step; it stays alive until the last `ref` to
// it goes, also when another thread closes it meanwhile.
//
// Beside those there are standing handles, of generation 0: each names one object after the other,
// and may be found again after it was closed.

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
    // Bits 63..33 generation, 32 open, 31..0 references; being open counts as one.
    std::atomic<std::uint64_t> word{0};
    alignas(T) std::byte storage[sizeof(T)];
    T* object() noexcept { return std::launder(reinterpret_cast<T*>(storage)); }
  };

 public:
  /// Keeps one object alive. Movable; empty when nothing was found.
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

  /// Makes an object, constructed from its own handle and `arguments`. Throws std::bad_alloc when
  /// no handle is left, and what the constructor throws.
  template <class... Arguments>
  ref open(Arguments&&... arguments) {
    return make(nullptr, std::forward<Arguments>(arguments)...);
  }

  /// Makes an object that has standing handle `number` (below `standing_handles`), which names none
  /// at the time. Calls about one number come one after the other; finding needs no such care.
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

  /// The object, or an empty ref for whatever is no open handle of this kind.
  ref find(Handle handle) noexcept {
    std::uint64_t index = 0;
    std::uint64_t generation = 0;
    if (!decode(resolve(handle), index, generation)) { return {}; }
    slot* const place = find_slot(index);
    if (place == nullptr) { return {}; }
    std::uint64_t word = place->word.load(std::memory_order_relaxed);
    do {
      if ((word >> generation_shift) != generation || (word & open_bit) == 0) { return {}; }
      // acquire: pairs with the release in open()
    } while (!place->word.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                                std::memory_order_relaxed));
    return ref(this, place, index);
  }

  /// From now on nobody finds it. False when it was not open. The object dies with the last ref.
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

  /// Destroys an object whose `retire()` has taken over its end: see release().
  void finish(Handle handle) noexcept {
    std::uint64_t index = 0;
    std::uint64_t generation = 0;
    if (decode(handle, index, generation)) { destroy(*find_slot(index), index); }
  }

  /// Open handles. Exact only while nobody opens or closes.
  std::size_t live() const noexcept { return live_.load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned low_bits = 4;  // zero, as in an address
  static constexpr unsigned index_bits = 20;
  static constexpr unsigned generation_bits =
      19;  // 47 bits in all: a handle still looks like an address
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

  /// With a handle of its own where `standing` is null.
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
    live_.fetch_add(1, std::memory_order_relaxed);  // a count for people, orders nothing
    // release: pairs with the acquire in find()
    place.word.store((generation << generation_shift) | open_bit | 2, std::memory_order_release);
    return ref(this, &place, index);
  }

  /// The handle of what a standing one names now, null for none; any other as it is.
  Handle resolve(Handle handle) const noexcept {
    std::uint64_t index = 0;
    std::uint64_t generation = 0;
    if (!decode(handle, index, generation) || generation != 0) { return handle; }
    if (index >= standing_handles) { return nullptr; }
    return standing_[index].load(std::memory_order_acquire);  // pairs with open_standing()
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
      // Never given back: a stale handle may be looked up at any time.
      chunks_[next_ / chunk_slots].store(new chunk, std::memory_order_release);
    }
    return next_++;
  }

  void give_index(std::uint64_t index) noexcept {
    std::lock_guard const lock(mutex_);
    try {
      free_.push_back(index);  // at the end, so that generations are used up evenly
    } catch (std::bad_alloc const&) {
      // The index stays unused: a loss of one slot, while a handle given twice would be a lie.
    }
  }

  void release(slot& place, std::uint64_t index) noexcept {
    // acq_rel: everything done through other refs happens before the end of the object
    if ((place.word.fetch_sub(1, std::memory_order_acq_rel) & references) != 1) { return; }
    if constexpr (requires(T& object) { object.retire(); }) {
      place.object()->retire();  // somebody else, later, calls finish()
    } else {
      destroy(place, index);
    }
  }

  void destroy(slot& place, std::uint64_t index) noexcept {
    place.object()->~T();
    // A slot whose generations are used up is retired, so that no handle is ever given twice.
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
