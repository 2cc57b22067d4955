// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A private copy of a CPU image. Each copy has separate variables.

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <flotilla/kernel_language/image_abi.hpp>

namespace flotilla::cpu_driver {

class file_descriptor {
 public:
  explicit file_descriptor(int fd) noexcept : fd_(fd) {}
  file_descriptor(file_descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~file_descriptor();
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

class loaded_image {
 public:
  /// A length argument for images of unknown length: the functions below then read the length from
  /// the ELF headers.
  static constexpr std::size_t unknown_size = std::numeric_limits<std::size_t>::max();

  /// Whether `code` is a CPU image for this processor and the current ABI version. Runs no code of
  /// the image. Reads at most `bytes` bytes, and only the first four if they are not the ELF magic
  /// number.
  [[nodiscard]] static bool recognised(void const* code, std::size_t bytes = unknown_size) noexcept;

  /// Loads a copy of the image. The variables of the copy have their initial values. Returns null
  /// if `code` is not recognised or the dynamic loader cannot load the copy: see `load_error()`.
  /// Thread-safe. Throws std::system_error if the system refuses a file in memory.
  [[nodiscard]] static std::shared_ptr<loaded_image const> load(void const* code,
                                                                std::size_t bytes = unknown_size);

  /// The reason why this thread's last call of `load` failed; empty if the call succeeded.
  [[nodiscard]] static char const* load_error() noexcept;

  ~loaded_image();  // must not be called while a kernel of this image runs
  loaded_image(loaded_image const&) = delete;
  loaded_image& operator=(loaded_image const&) = delete;

  [[nodiscard]] std::span<cpu::kernel_record const> kernels() const noexcept {
    return {image_->kernels, image_->kernel_count};
  }
  /// Finds a kernel or a twin. Returns null if there is none with this name. A list of the kernels
  /// does not name the twins, because the image does not have them.
  [[nodiscard]] cpu::kernel_record const* find(std::string_view name) const noexcept;
  /// Returns the kernel whose twin this is, or null if `record` is not a twin of this image.
  [[nodiscard]] cpu::kernel_record const* twin_of(cpu::kernel_record const& record) const noexcept;
  /// Calls `action(record)` for each twin.
  template <class Action>
  void for_each_twin(Action const& action) const {
    for (twin const& each : twins_) { action(each.record); }
  }
  [[nodiscard]] std::span<cpu::global_record const> globals() const noexcept {
    return {image_->globals, image_->global_count};
  }

 private:
  loaded_image(file_descriptor file, void* handle, cpu::cpu_image const* image);

  /// Makes a twin and an ordered twin of every kernel, except where the image has a variable that
  /// says no.
  void make_twins();

  file_descriptor file_;  // open as long as the image is loaded, so that a debugger can read it
  void* handle_;
  cpu::cpu_image const* image_;
  struct twin {
    std::string name;
    cpu::kernel_record record;
    cpu::kernel_record const* of;
  };
  std::vector<twin> twins_;  // does not change after the construction
};

}  // namespace flotilla::cpu_driver
