// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs kernels of this program's image on the calling thread. Does not use the CPU driver.

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "cpu_driver/kernel/grid.hpp"
#include "test_kernel_language_kernels.hpp"

namespace flotilla::cpu_driver {

struct shape {
  cpu::index3 grid{1, 1, 1};
  cpu::index3 block{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
};

inline shape blocks_of(std::uint32_t blocks, std::uint32_t threads) {
  return {{blocks, 1, 1}, {threads, 1, 1}};
}

/// A copy of an image. Collects the output of the kernels and counts their allocations.
class kernel_runner {
 public:
  explicit kernel_runner(image const& of = test_kernel_language_kernels)
      : image_(loaded_image::load(of.cpu, of.cpu_bytes)) {
    if (!image_) { throw std::runtime_error(loaded_image::load_error()); }
  }

  [[nodiscard]] cpu::kernel_record const& kernel(std::string_view name) const {
    for (cpu::kernel_record const& k : image_->kernels()) {
      if (k.name == name) { return k; }
    }
    throw std::runtime_error("no kernel " + std::string(name));
  }

  template <class T>
  [[nodiscard]] T& global(std::string_view name) const {
    for (cpu::global_record const& g : image_->globals()) {
      if (g.name == name && g.bytes == sizeof(T)) { return *static_cast<T*>(g.address); }
    }
    throw std::runtime_error("no variable of the requested size is called " + std::string(name));
  }

  template <class... Arguments>
  grid_end run(std::string_view name, shape const& of, Arguments... arguments) {
    void* addresses[] = {&arguments..., nullptr};
    cpu::kernel_record const& k = kernel(name);
    if (k.parameter_count != sizeof...(Arguments)) {
      throw std::runtime_error("wrong number of arguments for the kernel");
    }
    grid_hooks const hooks{this, &kernel_runner::allocate, &kernel_runner::release,
                           &kernel_runner::print};
    return run_grid(
        {image_.get(), &k, of.grid, of.block, of.dynamic_shared_bytes, 1024, addresses, hooks});
  }

  [[nodiscard]] std::string const& printed() const { return printed_; }
  [[nodiscard]] int allocated() const { return allocated_; }
  [[nodiscard]] loaded_image const& loaded() const { return *image_; }
  void heap_is_full() { heap_full_ = true; }

 private:
  static void* allocate(void* self, std::size_t bytes) {
    auto& runner = *static_cast<kernel_runner*>(self);
    if (runner.heap_full_) { return nullptr; }
    ++runner.allocated_;
    return std::malloc(bytes);
  }
  static void release(void* self, void* address) {
    --static_cast<kernel_runner*>(self)->allocated_;
    std::free(address);
  }
  static void print(void* self, char const* text, std::size_t bytes) {
    auto& runner = *static_cast<kernel_runner*>(self);
    std::lock_guard const lock{runner.printing_};
    runner.printed_.append(text, bytes);
  }

  std::shared_ptr<loaded_image const> image_;
  std::atomic<int> allocated_{0};
  bool heap_full_ = false;
  std::mutex printing_;
  std::string printed_;
};

}  // namespace flotilla::cpu_driver
