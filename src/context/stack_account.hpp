#pragma once
// How the public functions change the calling thread's stack. They share one account of scopes and
// of pushes outside scopes.

#include <cuda.h>

#include <string>

#include "driver/table.hpp"

namespace flotilla::context {

/// Pushes the context and records it. @throws driver_error, context_in_use  Nothing was pushed.
void enter(driver::table const& api, CUcontext handle);
/// Pops the context that `enter` pushed, and all contexts above it. @return the number of contexts
/// above; -1: the context was not on the stack any more, and the stack is unchanged.
int leave(driver::table const& api, CUcontext handle) noexcept;

/// Opens and closes scopes of the calling thread. The context pushed last before `open_scope`
/// belongs to the scope and must not be popped.
void open_scope() noexcept;
void close_scope() noexcept;
/// Records a push or pop that is not a scope's.
void bare_push() noexcept;
[[nodiscard]] bool bare_pop() noexcept;  // false: the top belongs to a scope
/// Whether the top of the calling thread's stack belongs to an open scope.
[[nodiscard]] bool top_belongs_to_scope() noexcept;

/// "context 0x…", or if it belongs to flotilla "the context of device 0 (…)".
[[nodiscard]] std::string in_words(CUcontext handle);

/// Makes a context current for one call.
class scoped_current {
 public:
  scoped_current(driver::table const& api, CUcontext handle) : api_(api), handle_(handle) {
    enter(api, handle);
  }
  ~scoped_current() { static_cast<void>(leave(api_, handle_)); }
  scoped_current(scoped_current&&) = delete;

 private:
  driver::table const& api_;
  CUcontext handle_;
};

}  // namespace flotilla::context
