#pragma once
// Green contexts: parts of a primary context that run their kernels on some of the device's
// multiprocessors. They share memory, modules, events, limits and flags with the primary context,
// but have streams of their own, the NULL stream among them.
//
// A green context has two handles: a CUgreenCtx, and the CUcontext that it converts to, which can
// be current. The first is the second plus a few bytes, so neither is valid in place of the other.

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

  /// Makes one, and retains the primary context of `home` for it. Throws std::bad_alloc,
  /// std::system_error.
  [[nodiscard]] static CUresult create(device& home, multiprocessor_set allowed, CUgreenCtx& made);
  /// Waits for its work, ends it and releases the primary context. left_in_a_destroyed() is true
  /// from then on for streams that nobody had destroyed. False if there is no such green context
  /// (any more).
  static bool destroy(CUgreenCtx handle);
  /// The same without releasing the primary context, which calls it when it ends.
  static bool end(CUcontext converted);
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

}  // namespace flotilla::cpu_driver
