#pragma once
// A private copy of a CPU image, with kernels and variables of its own.

#include <cstddef>
#include <limits>
#include <memory>
#include <span>

#include <flotilla/kernel_language/image_abi.hpp>

namespace flotilla::cpu_driver {

class loaded_image {
 public:
  /// For images of unknown length: their headers give the length.
  static constexpr std::size_t unknown_size = std::numeric_limits<std::size_t>::max();

  /// Whether `code` is a CPU image of our ABI for this processor. Never reads past `bytes`. If the
  /// length is unknown, reads the four bytes of an ELF magic first, and then as far as the headers
  /// say. Runs no code of the image.
  [[nodiscard]] static bool recognised(void const* code, std::size_t bytes = unknown_size) noexcept;

  /// Loads a copy, whose variables have their initial values. Null if it is not recognised or the
  /// dynamic loader refuses it: see `load_error()`. Threads: any.
  [[nodiscard]] static std::shared_ptr<loaded_image const> load(void const* code,
                                                                std::size_t bytes = unknown_size);

  /// Why the last `load` on this thread returned null; empty if it did not.
  [[nodiscard]] static char const* load_error() noexcept;

  ~loaded_image();  // none of its blocks may be running
  loaded_image(loaded_image const&) = delete;
  loaded_image& operator=(loaded_image const&) = delete;

  [[nodiscard]] std::span<cpu::kernel_record const> kernels() const noexcept {
    return {image_->kernels, image_->kernel_count};
  }
  [[nodiscard]] std::span<cpu::global_record const> globals() const noexcept {
    return {image_->globals, image_->global_count};
  }

 private:
  loaded_image(void* handle, cpu::cpu_image const* image) : handle_(handle), image_(image) {}

  void* handle_;
  cpu::cpu_image const* image_;
};

}  // namespace flotilla::cpu_driver
