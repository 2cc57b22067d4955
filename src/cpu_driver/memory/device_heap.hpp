#pragma once
// The heap of device malloc: one a context, as large as its limit says.

#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace flotilla::cpu_driver {

class limits;

class device_heap {
 public:
  explicit device_heap(limits& of) noexcept : limits_(of) {}
  ~device_heap();  // frees what kernels left behind
  device_heap(device_heap const&) = delete;
  device_heap& operator=(device_heap const&) = delete;

  /// Null when the heap has no room. Any thread, several at once: blocks of a grid run side by
  /// side.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
  /// Ignores what is not of this heap.
  void release(void* address) noexcept;

 private:
  limits& limits_;
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> blocks_;  // bytes by address; guarded by mutex_
  std::size_t used_ = 0;                           // bytes; guarded by mutex_
};

}  // namespace flotilla::cpu_driver
