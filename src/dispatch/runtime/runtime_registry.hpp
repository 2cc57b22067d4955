#pragma once
// The runtimes of this process, by number, because a task_id has only the number.

#include <cstdint>

namespace flotilla::dispatch {

class runtime_state;

/// Lock-free, so that it can be used in a child of fork(), whatever other threads did at that
/// moment.
namespace runtime_registry {

/// Counts from 1.
[[nodiscard]] std::uint64_t next_number() noexcept;
/// @throws std::bad_alloc
void add(runtime_state& runtime);
/// Does nothing if the runtime was not added.
void remove(runtime_state& runtime) noexcept;
/// @return null: that runtime and all of its tickets are gone. The caller ensures that the runtime
///         does not end meanwhile.
[[nodiscard]] runtime_state* find(std::uint64_t number) noexcept;

}  // namespace runtime_registry

}  // namespace flotilla::dispatch
