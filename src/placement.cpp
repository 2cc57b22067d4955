#include <flotilla/placement.hpp>

#include <flotilla/runtime.hpp>

namespace flotilla {

placement::~placement() = default;

std::optional<device_ordinal> any_device::place(std::span<device const>, task_options const&) { return std::nullopt; }

std::optional<device_ordinal> round_robin::place(std::span<device const> devices, task_options const&) {
  // relaxed: only the turn is shared
  return device_ordinal{next_.fetch_add(1, std::memory_order_relaxed) % static_cast<unsigned>(devices.size())};
}

}  // namespace flotilla
