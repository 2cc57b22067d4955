#include "cpu_driver/device_memory.hpp"

namespace flotilla::cpu_driver {
namespace {

// Small allocations cost as much as on a GPU's allocator, so that filling a device behaves alike.
std::size_t granules(std::size_t bytes) noexcept {
  constexpr std::size_t granule = 512;
  return bytes > ~std::size_t{0} - granule ? ~std::size_t{0}
                                           : (bytes + granule - 1) / granule * granule;
}

}  // namespace

bool device_memory::fits(std::size_t bytes) const noexcept {
  return used_ <= capacity_ && bytes <= capacity_ - used_;
}

bool device_memory::reserve(std::size_t bytes, bool patient) {
  std::size_t const wanted = granules(bytes);
  std::unique_lock lock(mutex_);
  // A request larger than the device would wait in vain.
  while (!fits(wanted)) {
    if (!patient || expected_ == 0 || wanted > capacity_) { return false; }
    freed_.wait(lock);
  }
  used_ += wanted;
  return true;
}

void device_memory::give_back(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  used_ -= granules(bytes);
  freed_.notify_all();
}

void device_memory::expect(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  expected_ += granules(bytes);
}

void device_memory::expect_no_more(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  expected_ -= granules(bytes);
  freed_.notify_all();  // who waits for it in vain has to know
}

void device_memory::give_back_expected(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  used_ -= granules(bytes);
  expected_ -= granules(bytes);
  freed_.notify_all();
}

void device_memory::set_capacity(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  capacity_ = bytes;
  freed_.notify_all();
}

std::size_t device_memory::capacity() const noexcept {
  std::lock_guard const lock(mutex_);
  return capacity_;
}

std::size_t device_memory::available() const noexcept {
  std::lock_guard const lock(mutex_);
  return used_ < capacity_ ? capacity_ - used_ : 0;
}

}  // namespace flotilla::cpu_driver
