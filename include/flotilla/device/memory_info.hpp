#pragma once
/// How much memory a device has.

#include <cstddef>

namespace flotilla {
inline namespace v0_1 {

/// Memory of a device in bytes, as its driver reports it.
struct memory_info {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

}  // namespace v0_1
}  // namespace flotilla
