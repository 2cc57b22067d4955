// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Green contexts. A green context is a part of a primary context, and its kernels run on some of
// the device's multiprocessors. A green context shares memory, modules, events, limits and flags
// with the primary context, but has its own streams, including its own NULL stream.
//
// A green context has two handles: a CUgreenCtx, and a CUcontext that can be current.
// cuCtxFromGreenCtx returns the CUcontext for a CUgreenCtx. The two handles have different values,
// so neither is valid in place of the other.

#include <cuda.h>

#include <vector>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/context/context.hpp"
#include "cpu_driver/properties/multiprocessors.hpp"
#include "cpu_driver/stream/stream_group.hpp"

namespace flotilla::cpu_driver {

class green_context {
 public:
  using handles = handle_table<green_context, CUcontext, handle_kind::green_context>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  /// Creates a green context. Retains the primary context of `home` until the green context ends.
  /// Throws std::bad_alloc, std::system_error.
  [[nodiscard]] static CUresult create(device& home, multiprocessor_set allowed, CUgreenCtx& made);
  /// Waits for the work of the green context, ends the green context, and releases the primary
  /// context. Afterwards left_in_a_destroyed() is true for streams that were still open. Returns
  /// false if the handle names no green context.
  static bool destroy(CUgreenCtx handle);
  /// Does the same as destroy(), but does not release the primary context. Called for each green
  /// context of a primary context that ends.
  static bool end(CUcontext converted);
  /// Whether the stream was still open when its green context ended.
  [[nodiscard]] static bool left_in_a_destroyed(CUstream which);

  /// Convert between the two handles of a green context. Null stays null.
  [[nodiscard]] static CUcontext converted(CUgreenCtx handle) noexcept;
  [[nodiscard]] static CUgreenCtx green_handle(CUcontext converted) noexcept;

  green_context(CUcontext self, context::ref whole, multiprocessor_set allowed);

  [[nodiscard]] CUcontext self() const noexcept { return self_; }
  [[nodiscard]] context& whole() const noexcept { return *whole_; }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] multiprocessor_set const& allowed() const noexcept { return allowed_; }
  [[nodiscard]] stream_group& streams() noexcept { return streams_; }

 private:
  CUcontext const self_;
  context::ref const whole_;
  unsigned long long const id_;
  multiprocessor_set const allowed_;
  stream_group streams_;
};

/// Returns whether the handle names a context or a green context.
[[nodiscard]] inline bool is_any_context(CUcontext handle) {
  return handle != nullptr &&
         (context::table().find(handle) || green_context::table().find(handle));
}

}  // namespace flotilla::cpu_driver
