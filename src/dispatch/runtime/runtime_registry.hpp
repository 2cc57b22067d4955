// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds a runtime of this process by its number. A task_id stores only the number of its runtime.

#include <cstdint>

namespace flotilla::dispatch {

class runtime_state;

/// The registry is lock-free. So a child of fork() can use it, even if another thread was inside
/// the registry during the fork().
namespace runtime_registry {

/// Returns the number for a new runtime. The first number is 1.
[[nodiscard]] std::uint64_t next_number() noexcept;
/// Adds a runtime. @throws std::bad_alloc
void add(runtime_state& runtime);
/// Removes a runtime. Does nothing if the runtime was not added.
void remove(runtime_state& runtime) noexcept;
/// Returns the runtime with this number, or null if the runtime and all its tickets are gone. The
/// caller must ensure that the runtime is not deleted while the result is in use.
[[nodiscard]] runtime_state* find(std::uint64_t number) noexcept;

/// Returns the runtime with this number, for the destructor of an object that must not outlive the
/// runtime. If the runtime has ended, prints a message about the object and returns null.
/// @param object  The kind of the object for the message, for example "a device_buffer".
[[nodiscard]] runtime_state* find_for_destructor(std::uint64_t number, char const* object) noexcept;

}  // namespace runtime_registry

}  // namespace flotilla::dispatch
