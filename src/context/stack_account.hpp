// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes the calling thread's context stack for the public functions. Each thread has one account,
// which records the open scopes and the pushes that no scope made.

#include <cuda.h>

#include <string>

#include "driver/table.hpp"

namespace flotilla::context {

/// Pushes the context and records the push. If the thread ends without a matching pop, the record
/// ends with the thread.
/// @throws driver_error, context_in_use, std::bad_alloc  The context was not pushed.
void enter(driver::table const& api, CUcontext handle);
/// Pops the context that `enter` pushed, and all contexts above it.
/// @return  the number of contexts that were above the context. If the context was no longer on the
///          stack, returns -1 and leaves the stack unchanged.
int leave(driver::table const& api, CUcontext handle) noexcept;

/// Enters a context and records that a scope of the calling thread begins. The context must not be
/// popped before close_scope(), which records that the scope ends.
/// @throws driver_error, context_in_use, std::bad_alloc  Nothing was pushed.
void enter_scope(driver::table const& api, CUcontext handle);
void close_scope() noexcept;
/// Records that the context was popped from the calling thread's stack. `leave` does this itself.
void note_popped(CUcontext handle) noexcept;
/// bare_push() and bare_pop() record a push and a pop that do not belong to a scope. Call
/// bare_push() after `enter`.
void bare_push() noexcept;
[[nodiscard]] bool bare_pop() noexcept;  // returns false if the top belongs to a scope
/// Whether the top of the calling thread's stack belongs to an open scope.
[[nodiscard]] bool top_belongs_to_scope() noexcept;

/// Returns "the context of device 0 (…)" if flotilla owns the context, otherwise "context 0x…".
[[nodiscard]] std::string in_words(CUcontext handle);

/// Makes a context current while the object exists.
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
