#pragma once
// A task by name, what it has come to, and a callable while it runs.

#include <cstdint>
#include <memory>

#include "dispatch/failure.hpp"
#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

class core;
class device_queue;

/// Names a task as slots do.
struct task_key {
  slot_address slot = no_slot;
  std::uint32_t generation = 0;  // cut
};

/// What a task has come to.
struct task_state {
  enum class states { open, launched, ended, failed } state = states::open;
  end_mark end{};                          // of launched
  std::shared_ptr<failure const> why{};    // of failed
};

/// A callable that is running on this thread, for those who must not wait inside one.
struct callable_frame {
  core const* of;
  device_queue const* on;
  callable_frame const* outer;
  [[nodiscard]] static callable_frame const* innermost(core const& of) noexcept;
};

}  // namespace flotilla::dispatch
