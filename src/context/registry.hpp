#pragma once
// The contexts that flotilla owns in this process, by handle. A context in the registry cannot be
// adopted, is not destroyed while a thread has it current, and can be looked up to see whether it
// still exists.

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>

namespace flotilla::context::registry {

/// @param one_thread  It may be current on one thread at a time only, because it is a green
///                    context.
void add(CUcontext handle, std::string const& subject, bool one_thread);
void remove(CUcontext handle) noexcept;
/// The owner in words; empty: the context does not, or no longer, belong to flotilla.
[[nodiscard]] std::optional<std::string> owner(CUcontext handle);

/// A number of the context that has the handle now; 0: it does not belong to flotilla. Handles may
/// be reused, serials are not.
[[nodiscard]] std::uint64_t serial(CUcontext handle) noexcept;

/// Counts the pushes of the public functions; call it before a push. Returns false if the push is
/// not allowed, because another thread has this green context current. @param thread  A token, not
/// 0.
[[nodiscard]] bool enter(CUcontext handle, std::uint64_t thread) noexcept;
void leave(CUcontext handle) noexcept;
/// How often the context is on the stacks of threads, counting the pushes of those functions.
[[nodiscard]] unsigned times_entered(CUcontext handle) noexcept;

}  // namespace flotilla::context::registry
