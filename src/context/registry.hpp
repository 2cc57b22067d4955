// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The registry of all contexts that flotilla owns in this process. The key is the handle. flotilla
// does not adopt a registered context, and does not destroy a registered context that is current on
// a thread. Public classes use the registry to check whether a context still exists.

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>

namespace flotilla::context::registry {

/// @param one_thread  Whether the context can be current on only one thread at a time. True for
///                    green contexts.
void add(CUcontext handle, std::string const& subject, bool one_thread);
void remove(CUcontext handle) noexcept;
/// Returns a description of the context's device, or nothing if flotilla does not own a context
/// with this handle.
[[nodiscard]] std::optional<std::string> owner(CUcontext handle);

/// Returns the serial number of the context that has this handle now, or 0 if flotilla owns no such
/// context. The driver may reuse handles, but serial numbers are never reused.
[[nodiscard]] std::uint64_t serial(CUcontext handle) noexcept;

/// Counts a push of the context. A public function must call `enter` before each push. Returns
/// false if the push is not allowed, because the context is green and current on another thread.
/// @param thread  The token of the calling thread, which is never 0.
[[nodiscard]] bool enter(CUcontext handle, std::uint64_t thread) noexcept;
void leave(CUcontext handle) noexcept;
/// Returns the number of calls of `enter` for this context without a matching call of `leave`. This
/// is how often the context is on the stacks of all threads together.
[[nodiscard]] unsigned times_entered(CUcontext handle) noexcept;

}  // namespace flotilla::context::registry
