#pragma once
// Green contexts: parts of a primary context that run their kernels on some of the device's
// multiprocessors. Memory, modules, events, limits and flags are the primary context's; streams, the
// NULL stream among them, are their own.
//
// Two handles mean one: what the API calls a green context, and the context that it converts to,
// which stands on stacks. The first is the second and a few bytes, so that neither passes for the
// other.

#include <cuda.h>

#include <vector>

#include "cpu_driver/context.hpp"
#include "cpu_driver/handle_table.hpp"
#include "cpu_driver/multiprocessors.hpp"
#include "cpu_driver/stream_group.hpp"

namespace flotilla::cpu_driver {

class green_context {
 public:
  using whole_ref = handle_table<context, CUcontext, handle_kind::context>::ref;

  /// Makes one, and retains the primary context of `home` for it. Throws std::bad_alloc,
  /// std::system_error.
  [[nodiscard]] static CUresult create(device& home, multiprocessor_set allowed, CUgreenCtx& made);
  /// Waits for its work, ends it and releases the primary context. Streams that were left in it are
  /// from then on known as such: left_in_a_destroyed(). False when there is none (any more).
  static bool destroy(CUgreenCtx handle);
  /// The same without the release, for a primary context that ends first.
  static bool end(CUcontext converted);
  [[nodiscard]] static bool left_in_a_destroyed(CUstream which);

  [[nodiscard]] static CUcontext converted(CUgreenCtx handle) noexcept;
  [[nodiscard]] CUgreenCtx handle() const noexcept;

  green_context(CUcontext self, whole_ref whole, multiprocessor_set allowed);

  [[nodiscard]] CUcontext self() const noexcept { return self_; }
  [[nodiscard]] context& whole() const noexcept { return *whole_; }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] multiprocessor_set const& allowed() const noexcept { return allowed_; }
  [[nodiscard]] stream_group& streams() noexcept { return streams_; }

 private:
  CUcontext const self_;
  whole_ref const whole_;
  unsigned long long const id_;
  multiprocessor_set const allowed_;
  stream_group streams_;
};

}  // namespace flotilla::cpu_driver
