// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objects behind the handles of the C interface.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "c_api/handle_bits.hpp"
#include "c_api/place_list.hpp"

namespace flotilla::c_api {

/// All objects of one kind.
///
/// Memory of places is never returned, so `find` needs no lock, also for a handle of an object that
/// is gone. Threads: any may call any function, but nobody may use an object while another thread
/// removes or takes it. Cost: `find` three loads; the others a few more, and sometimes a lock.
template <class T, kinds Kind>
class handle_table {
 public:
  using value_type = T;

  /// The only table of this type. It is never destroyed, because destructors of static objects may
  /// use handles.
  [[nodiscard]] static handle_table& get() {
    static auto* const made = new handle_table;
    return *made;
  }

  /// Adds an object and returns its handle.
  /// @throws std::bad_alloc
  [[nodiscard]] std::uint64_t add(T&& object) {
    return emplace([&]() -> T { return std::move(object); });
  }
  /// Adds the object that `make` returns, without moving it. Takes the place first, so nothing can
  /// fail after `make` has returned.
  /// @throws std::bad_alloc, and the exceptions of `make`
  template <class Make>
  [[nodiscard]] std::uint64_t emplace(Make const& make) {
    std::uint32_t const at = take_place();
    entry& one = *entry_at(at);
    try {
      ::new (static_cast<void*>(one.storage)) T(make());
    } catch (...) {
      give_back(at);
      throw;
    }
    std::uint64_t const made = handle_bits::make(Kind, ++one.uses, at);
    one.id.store(made, std::memory_order_release);  // pairs with the acquire in find
    return made;
  }
  /// Returns the object of a handle, or null if there is none.
  [[nodiscard]] T* find(std::uint64_t id) const noexcept {
    entry* const one = entry_at(handle_bits::place(id));
    bool const is_there =
        one != nullptr && id != 0 && one->id.load(std::memory_order_acquire) == id;
    return is_there ? object_of(*one) : nullptr;
  }
  /// Removes and destroys an object. If several threads remove it, one of them succeeds.
  /// @return whether the caller has removed it
  bool remove(std::uint64_t id) noexcept {
    entry* const one = claim(id);
    if (one == nullptr) { return false; }
    object_of(*one)->~T();
    give_back(handle_bits::place(id));
    return true;
  }
  /// Removes an object and returns it. If several threads take it, one of them gets it, and the
  /// others do not touch it.
  [[nodiscard]] std::optional<T> take(std::uint64_t id) noexcept {
    entry* const one = claim(id);
    if (one == nullptr) { return std::nullopt; }
    T& object = *object_of(*one);
    std::optional<T> taken{std::move(object)};
    object.~T();
    give_back(handle_bits::place(id));
    return taken;
  }

 private:
  static constexpr std::size_t per_slab = 1024;
  static constexpr std::size_t max_slabs = handle_bits::max_places / per_slab;
  struct entry {
    std::atomic<std::uint64_t> id{0};  // 0: there is no object
    std::uint64_t uses = 0;
    alignas(T) std::byte storage[sizeof(T)];
  };

  handle_table() : slabs_{std::make_unique<std::atomic<entry*>[]>(max_slabs)} {}

  /// Returns the places that the calling thread keeps. Null: the thread ends, and has none.
  [[nodiscard]] static kept_places* kept() {
    static thread_local constinit kept_state mine;
    if (mine.places == nullptr && !mine.is_over) [[unlikely]] { make_kept(mine); }
    return mine.places;
  }
  [[gnu::noinline]] static void make_kept(kept_state& state) {
    static thread_local kept_places places{get().free_, state};
  }
  [[nodiscard]] std::uint32_t take_place() {
    auto const make = [this](std::uint32_t place) { make_room(place); };
    if (kept_places* const mine = kept()) [[likely]] { return mine->take(make); }
    std::uint32_t one = 0;
    free_.take(std::span{&one, 1}, make);
    return one;
  }
  void give_back(std::uint32_t place) noexcept {
    if (kept_places* const mine = kept()) [[likely]] { return mine->give_back(place); }
    free_.give_back(std::span{&place, 1});
  }
  /// Makes the handle name no object. @return the entry of the object, which now belongs to the
  /// caller; null if there is none.
  [[nodiscard]] entry* claim(std::uint64_t id) noexcept {
    entry* const one = entry_at(handle_bits::place(id));
    std::uint64_t expected = id;
    bool const is_mine = one != nullptr && id != 0 && one->id.compare_exchange_strong(expected, 0);
    return is_mine ? one : nullptr;
  }
  [[nodiscard]] static T* object_of(entry& one) noexcept {
    return std::launder(reinterpret_cast<T*>(one.storage));
  }
  [[nodiscard]] entry* entry_at(std::uint32_t place) const noexcept {
    entry* const slab = slabs_[place / per_slab].load(std::memory_order_acquire);
    return slab == nullptr ? nullptr : slab + place % per_slab;
  }
  /// Makes the slab of a new place. One thread at a time.
  void make_room(std::uint32_t place) {
    std::atomic<entry*>& slab = slabs_[place / per_slab];
    if (slab.load(std::memory_order_relaxed) != nullptr) { return; }
    owned_.push_back(std::make_unique<entry[]>(per_slab));
    slab.store(owned_.back().get(), std::memory_order_release);  // pairs with entry_at
  }

  place_list free_;
  std::vector<std::unique_ptr<entry[]>> owned_;
  std::unique_ptr<std::atomic<entry*>[]> slabs_;
};

}  // namespace flotilla::c_api
