#pragma once
// The contexts that flotilla has in this process, by handle: nobody may adopt one of them, nobody may destroy
// one while a thread has it current, and who asks by handle learns whether it still lives.

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>

namespace flotilla::context::registry {

/// @param one_thread  It may be current on one thread at a time only: a green context.
void add(CUcontext handle, std::string const& subject, bool one_thread);
void remove(CUcontext handle) noexcept;
/// Whose it is, in words; nothing: not flotilla's (any more).
[[nodiscard]] std::optional<std::string> owner(CUcontext handle);

/// A number of the context that has the handle now, never used again; 0: not flotilla's. Handles are used again.
[[nodiscard]] std::uint64_t serial(CUcontext handle) noexcept;

/// Counts what the public functions push and pop. Before a push: false where it may not be, because it is a green
/// context that another thread has current. `thread` is a token, never 0.
[[nodiscard]] bool enter(CUcontext handle, std::uint64_t thread) noexcept;
void leave(CUcontext handle) noexcept;
/// On how many places of stacks it is, by those functions.
[[nodiscard]] unsigned times_entered(CUcontext handle) noexcept;

}  // namespace flotilla::context::registry
