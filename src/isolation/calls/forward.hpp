// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Forwards an entry point by the types of its arguments. worker/arguments.hpp is the other end.

#include <string>
#include <type_traits>
#include <utility>

#include "isolation/calls/never_throws.hpp"
#include "isolation/calls/target.hpp"
#include "isolation/owner/session.hpp"

namespace flotilla::isolated {

enum class effect { none, create, once, state, destroy };

/// The call of one entry. Each argument is looked at, checked, put, and read back, in this order.
class forwarded_call {
 public:
  /// Checks handles, and makes shared objects in the worker if it does not have them.
  template <class Type>
  void check(Type value) {
    if constexpr (is_handle<Type>) {
      handle_bits const bits = handle_bits::of(value);
      if (bits.value <= 2 || status_ != CUDA_SUCCESS) { return; }
      if (!is_open(bits, kind_of<Type>)) {
        status_ = invalid(kind_of<Type>);
      } else if (bits.is_shared()) {
        std::lock_guard const lock{to_.device->mutex()};
        status_ = to_.device->ensure_shared(bits.index());
      } else if (bits.device() != to_.device->ordinal()) {
        status_ = invalid(kind_of<Type>);  // of another worker
      }
    } else if constexpr (is_made<Type>) {
      made_kind_ = kind_of<std::remove_pointer_t<Type>>;
      if (value == nullptr) { status_ = CUDA_ERROR_INVALID_VALUE; }
    }
  }

  template <class Type>
  void put(session& to, Type value) {
    if constexpr (is_handle<Type>) {
      to.put_object(index_of(value));
    } else if constexpr (is_made<Type>) {
      made_at_ = to.out().size();
      to.out().put(made_index_);
    } else if constexpr (std::is_same_v<Type, char const*>) {
      to.out().put_text(value != nullptr ? value : "");
    } else if constexpr (is_structure<Type>) {
      to.out().put(*value);
    } else if constexpr (!is_result<Type>) {
      to.out().put(value);
    }
  }

  template <class Type>
  void read(session& from, Type value) {
    if constexpr (is_result<Type>) {
      auto const found = from.in().template get<std::remove_pointer_t<Type>>();
      if (value != nullptr) { *value = found; }
    } else if constexpr (is_made<Type>) {
      *value = made_.template as<std::remove_pointer_t<Type>>();
    }
  }

  template <class Handle>
  [[nodiscard]] static std::uint32_t index_of(Handle handle) noexcept {
    handle_bits const bits = handle_bits::of(handle);
    if (bits.value == 1) { return legacy_stream; }
    if (bits.value == 2) { return per_thread_stream; }
    return bits.index();
  }

 protected:
  template <class Type>
  static constexpr bool is_made = std::is_pointer_v<Type>&& is_handle<std::remove_pointer_t<Type>>;
  template <class Type>
  static constexpr bool is_structure = std::is_pointer_v<Type>&&
      std::is_const_v<std::remove_pointer_t<Type>>&& std::is_class_v<std::remove_pointer_t<Type>>;
  template <class Type>
  static constexpr bool is_result =
      std::is_pointer_v<Type> && !is_handle<Type> && !is_made<Type> &&
      !std::is_const_v<std::remove_pointer_t<Type>> && !std::is_void_v<std::remove_pointer_t<Type>>;

  target to_;
  CUresult status_ = CUDA_SUCCESS;
  object_kind made_kind_ = object_kind::none;
  std::uint32_t made_index_ = 0;
  std::size_t made_at_ = 0;  // where the request has `made_index_`
  handle_bits made_;
  std::uint32_t changed_ = 0;  // the object that the call changes
  record change_;
};

/// Remembers a new object in the journal of the device or of all devices, and returns its handle.
/// Call it before the request is sent, and `forget_new` if the request fails.
[[nodiscard]] handle_bits remember(isolated_device& on, object_kind kind, std::uint32_t index,
                                   session const& call);
/// Ends an object in the journal, and frees what it has kept.
void forget(isolated_device& on, std::uint32_t index) noexcept;
void forget_new(isolated_device& on, object_kind kind, std::uint32_t index) noexcept;
/// Frees an image that the journal has kept.
void free_image(void* image) noexcept;
/// Takes an index for a new object. 0: there are too many.
[[nodiscard]] std::uint32_t index_for(isolated_device& on, object_kind kind);
/// The key with which the same request finds the same object again.
[[nodiscard]] std::string once_key(session const& call, std::size_t made_at, object_kind kind);
/// The part of a request that says what it changes: the operation, and up to two words.
[[nodiscard]] std::uint64_t change_key(operation what, std::span<std::byte const> request) noexcept;

/// Whether objects of this kind belong to all devices.
[[nodiscard]] constexpr bool is_shared_kind(object_kind kind) noexcept {
  return kind == object_kind::library || kind == object_kind::kernel;
}

template <effect Effect, operation What, auto Field, class Entry>
class forward;

template <effect Effect, operation What, auto Field, class... Types>
class forward<Effect, What, Field, CUresult(CUDAAPI*)(Types...)> : forwarded_call {
 public:
  static CUresult CUDAAPI call(Types... values) noexcept {
    return status_of([&] { return forward{}.run(values...); });
  }

 private:
  // Nodes are changed for each launch, so these changes travel with the launch.
  static constexpr std::size_t max_posted_bytes = 1024;
  static constexpr bool is_posted = What == operation::graph_node_set_enabled;

  CUresult run(Types... values) {
    (look(values), ...);
    to_.decide();
    if (to_.device == nullptr) { return base(values...); }
    if (Effect != effect::destroy && is_current_destroyed() && to_.context != 0) {
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    if constexpr (Effect == effect::none) { return exchange(values...); }
    std::lock_guard const lock{to_.device->mutex()};
    // There is always room for one more change.
    if (!is_posted || !to_.device->posted().has_room(max_posted_bytes)) {
      send_posted(*to_.device);
    }
    std::unique_lock<std::recursive_mutex> shared;
    if constexpr (Effect == effect::once || Effect == effect::create) {
      shared = std::unique_lock{owner::get().shared_mutex()};
    }
    return exchange(values...);
  }
  template <class Type>
  void look(Type value) {
    if constexpr (is_handle<Type>) { to_.look(value); }
  }
  CUresult base(Types... values) {
    auto const entry = owner::get().base().*Field;
    return entry != nullptr ? entry(values...) : CUDA_ERROR_NOT_SUPPORTED;
  }
  CUresult exchange(Types... values) {
    // An object ends in the worker that serves, whoever knows it.
    CUresult const lost = Effect == effect::destroy ? to_.device->lost() : to_.lost();
    if (lost != CUDA_SUCCESS) { return after_loss(lost, values...); }
    (check(values), ...);
    if (status_ != CUDA_SUCCESS) { return status_; }
    if constexpr (Effect == effect::create || Effect == effect::once) {
      made_index_ = index_for(*to_.device, made_kind_);
      if (made_index_ == 0) { return CUDA_ERROR_OUT_OF_MEMORY; }
    }
    session one{*to_.device, What, to_.context, Effect == effect::destroy ? 0 : to_.user()};
    (put(one, values), ...);
    if constexpr (Effect == effect::once) {
      if (find_earlier(one)) {
        (read_made(values), ...);
        return CUDA_SUCCESS;
      }
    }
    prepare(one, values...);
    CUresult answer = CUDA_SUCCESS;
    if constexpr (is_posted) {
      answer = one.post();
    } else if constexpr (is_enqueue(What)) {
      answer = one.enqueue();
    } else {
      answer = one.send();
    }
    finish(answer, values...);
    if (answer != CUDA_SUCCESS) { return answer; }
    (read(one, values), ...);
    return CUDA_SUCCESS;
  }
  /// Remembers what the call will do, because after the call nothing may fail for lack of memory.
  void prepare(session& one, Types... values) {
    if constexpr (Effect == effect::state) {
      changed_ = changed(one, values...);
      if (changed_ >= first_shared_object) { return; }  // a default will do for other devices
      change_ = one.recorded();
      to_.device->objects().expect_change(changed_, change_key(What, one.request()));
    } else if constexpr (Effect == effect::create || Effect == effect::once) {
      made_ = remember(*to_.device, made_kind_, made_index_, one);
      if constexpr (Effect == effect::once) {
        journal& objects =
            is_shared_kind(made_kind_) ? owner::get().shared() : to_.device->objects();
        objects.set_once(made_index_, once_key(one, made_at_, made_kind_));
      }
    }
  }
  void finish(CUresult answer, Types... values) noexcept {
    if constexpr (Effect == effect::destroy) {
      forget(*to_.device, first_index(values...));
    } else if constexpr (Effect == effect::state) {
      if (answer != CUDA_SUCCESS || changed_ >= first_shared_object) { return; }
      std::uint64_t const what = change_key(What, change_.request);
      to_.device->objects().change(changed_, what, std::move(change_));
    } else if constexpr (Effect == effect::create || Effect == effect::once) {
      if (answer != CUDA_SUCCESS) { forget_new(*to_.device, made_kind_, made_index_); }
    }
  }
  /// A lost device forgets objects, so that a successor does not get them.
  CUresult after_loss(CUresult lost, Types... values) {
    if constexpr (Effect == effect::destroy) {
      (check(values), ...);
      if (status_ != CUDA_SUCCESS) { return status_; }
      forget(*to_.device, first_index(values...));
      return CUDA_SUCCESS;
    }
    return lost;
  }
  bool find_earlier(session& one) {
    journal& objects = is_shared_kind(made_kind_) ? owner::get().shared() : to_.device->objects();
    std::uint32_t const found = objects.find_once(once_key(one, made_at_, made_kind_));
    if (found == 0) { return false; }
    made_ = objects.handle_of(found);
    return true;
  }
  template <class Type>
  void read_made(Type value) {
    if constexpr (is_made<Type>) { *value = made_.template as<std::remove_pointer_t<Type>>(); }
  }
  template <class First, class... Rest>
  static std::uint32_t first_index(First first, Rest...) {
    if constexpr (is_handle<First>) {
      return index_of(first);
    } else {
      return 0;
    }
  }
  /// The object that a call changes: its first handle, or the current context.
  static std::uint32_t changed(session const& one, Types... values) {
    std::uint32_t const first = first_index(values...);
    return first != 0 ? first : one.context();
  }
};

/// The function that forwards an entry of the table.
template <effect Effect, operation What, auto Field>
inline constexpr auto forwarded =
    &forward<Effect, What, Field, std::remove_cvref_t<decltype(driver::table{}.*Field)>>::call;

}  // namespace flotilla::isolated
