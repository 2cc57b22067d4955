// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The launches of a thread, which mostly submits the same kernel with the same shape again.

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include <flotilla/c/task.h>
#include <flotilla/kernel/untyped_kernel.hpp>

#include "c_api/launch_of.hpp"

namespace flotilla::c_api {

/// The last launch of a thread. If the next one has the same kernel and shape, only its arguments
/// are written.
class prepared_launch {
 public:
  /// Makes the launch, and calls `use` with it.
  /// @throws refused_call, invalid_argument, wrong_runtime, and the exceptions of `use`
  template <class Use>
  static void with(flotilla_kernel kernel, flotilla_shape const& shape,
                   std::span<flotilla_argument const> arguments, Use const& use) {
    held_kernel const& held = object(kernel);
    prepared_launch* const mine = of_thread();
    // `use` may wait for room and meanwhile run a function of the program that submits a launch.
    if (mine == nullptr || mine->is_in_use_) [[unlikely]] {
      return use(held, launch_of(held, shape, arguments).complete());
    }
    in_use const mark{*mine};
    use(held, mine->make(kernel, held, shape, arguments));
  }

 private:
  struct in_use {
    explicit in_use(prepared_launch& what) noexcept : marked(what) { marked.is_in_use_ = true; }
    in_use(in_use const&) = delete;
    in_use& operator=(in_use const&) = delete;
    ~in_use() { marked.is_in_use_ = false; }
    prepared_launch& marked;
  };
  /// Where a thread finds its object. It has no destructor, so functions that run at the end of a
  /// thread can use it.
  struct state {
    prepared_launch* made = nullptr;  // null: not made yet, or gone
    bool is_over = false;             // the thread ends
  };

  explicit prepared_launch(state& where) noexcept : where_(where) { where_.made = this; }
  prepared_launch(prepared_launch const&) = delete;
  prepared_launch& operator=(prepared_launch const&) = delete;
  ~prepared_launch() { where_ = {nullptr, true}; }

  /// Returns the object of the calling thread, or null if the thread ends.
  [[nodiscard]] static prepared_launch* of_thread() {
    static thread_local constinit state mine;
    if (mine.made == nullptr && !mine.is_over) [[unlikely]] { make_for_thread(mine); }
    return mine.made;
  }
  static void make_for_thread(state& where);

  [[nodiscard]] launch const& make(flotilla_kernel kernel, held_kernel const& held,
                                   flotilla_shape const& shape,
                                   std::span<flotilla_argument const> arguments) {
    // A number of a handle is not used again for another kernel.
    if (kernel.id != kernel_ || !is_same(shape, shape_)) { begin(kernel, held, shape); }
    launch_->clear();
    append_arguments(*launch_, held, arguments);
    return launch_->complete();
  }
  void begin(flotilla_kernel kernel, held_kernel const& held, flotilla_shape const& shape);
  [[nodiscard]] static bool is_same(flotilla_shape const& one,
                                    flotilla_shape const& other) noexcept;

  state& where_;
  bool is_in_use_ = false;
  std::uint64_t kernel_ = 0;  // 0: there is no launch
  flotilla_shape shape_{};
  std::optional<untyped_launch> launch_;
};

inline bool prepared_launch::is_same(flotilla_shape const& one,
                                     flotilla_shape const& other) noexcept {
  static_assert(std::has_unique_object_representations_v<flotilla_shape>);
  return std::memcmp(&one, &other, sizeof one) == 0;
}

}  // namespace flotilla::c_api
