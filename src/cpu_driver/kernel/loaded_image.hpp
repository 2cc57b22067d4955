#pragma once
// A private copy of a CPU image: its kernels and variables belong to whoever holds it.

#include <cstddef>
#include <limits>
#include <memory>
#include <span>

#include <flotilla/cpu_image.hpp>

namespace flotilla::cpu_driver {

class loaded_image {
 public:
  /// For images whose length nobody has told: it then follows from their own headers.
  static constexpr std::size_t unknown_size = std::numeric_limits<std::size_t>::max();

  /// Whether `code` is a CPU image of our ABI for this processor. Never reads past `bytes`; where
  /// that is unknown, first the four bytes of an ELF magic and then what the headers say. Runs none
  /// of the image's code.
  [[nodiscard]] static bool recognised(void const* code, std::size_t bytes = unknown_size) noexcept;

  /// Loads a copy, its variables as the source initialised them. Null: not recognised, or the
  /// dynamic loader refused it (`load_error()` has its text). Threads: any.
  [[nodiscard]] static std::shared_ptr<loaded_image const> load(void const* code,
                                                                std::size_t bytes = unknown_size);

  /// Why the last `load` on this thread gave null; empty if it did not.
  [[nodiscard]] static char const* load_error() noexcept;

  ~loaded_image();  // no block of it may be running
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
