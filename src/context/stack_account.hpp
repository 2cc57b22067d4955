#pragma once
// The calling thread's stack, as the public functions change it: they share one account of scopes and bare pushes.

#include <cuda.h>

#include <string>

#include "driver/table.hpp"

namespace flotilla::context {

/// Pushes, and takes note. @throws driver_error, context_in_use: then nothing was pushed.
void enter(driver::table const& api, CUcontext handle);
/// Pops what `enter` pushed, and what lies above it. @return how much that was; -1: it was not on the stack any more,
/// which is as it was found.
int leave(driver::table const& api, CUcontext handle) noexcept;

/// Opens and closes scopes of the calling thread: what was pushed before belongs to them and may not be popped.
void open_scope() noexcept;
void close_scope() noexcept;
/// A bare push or pop above the innermost scope.
void bare_push() noexcept;
[[nodiscard]] bool bare_pop() noexcept;  // false: what is on top belongs to a scope
/// Whether a scope of the calling thread is open and nothing was pushed above it.
[[nodiscard]] bool top_belongs_to_scope() noexcept;

/// "context 0x…", or whose it is where it is flotilla's.
[[nodiscard]] std::string in_words(CUcontext handle);

/// Current for a call: pushed, and popped again.
class visit {
 public:
  visit(driver::table const& api, CUcontext handle) : api_(api), handle_(handle) { enter(api, handle); }
  ~visit() { static_cast<void>(leave(api_, handle_)); }
  visit(visit&&) = delete;

 private:
  driver::table const& api_;
  CUcontext handle_;
};

}  // namespace flotilla::context
