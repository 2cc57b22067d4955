// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Floating contexts that belong to no runtime. For example, a plug-in can own such a context and
/// make it current only while the application calls the plug-in.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <flotilla/context/context_driver.hpp>
#include <flotilla/context/context_ref.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/settings/settings.hpp>
#include <flotilla/settings/settings_report.hpp>

namespace flotilla::context {
class context_handle;
}

namespace flotilla {
inline namespace v0_1 {

/// Owns a context that is current on no thread. A context_scope makes the context current until the
/// end of a block of code. The context is released when this object, all of its scopes and all of
/// its mapped_memory are gone.
///
/// Threads   Any thread may open a scope at any time. A green context can be current on only one
///           thread at a time.
/// fork      Do not use this object in a child of fork().
class FLOTILLA_EXPORT floating_context {
 public:
  /// Makes a context on `device` from the source in `settings` (by default an owned context) and
  /// applies the other settings. The caller's context stack is unchanged, even if the call throws.
  /// @param device       One of `driver.devices()`. Its `ordinal` is used only in messages.
  /// @param best_effort  See runtime_options::best_effort.
  /// @throws driver_error      The driver refused the context or a setting. The message names the
  ///                           device, the setting and the reason. The call has released everything
  ///                           that it made.
  /// @throws invalid_argument  The context cannot be adopted, or the device has too few
  ///                           multiprocessors.
  /// Cost  about 0.1 s and 0.5 GiB on a GPU. All green contexts of a GPU together have this cost
  ///       once, because they share the GPU's primary context.
  floating_context(context_driver const& driver, flotilla::device const& device,
                   device_settings const& settings = {}, bool best_effort = false);
  /// Divides a device into green contexts. Each element of `multiprocessors` is the number of
  /// multiprocessors of one context. Each multiprocessor belongs to at most one of the contexts.
  [[nodiscard]] static std::vector<floating_context> parts(
      context_driver const& driver, flotilla::device const& device,
      std::span<unsigned const> multiprocessors, device_settings const& settings = {});
  floating_context(floating_context&&) noexcept;
  floating_context& operator=(floating_context&&) noexcept;
  ~floating_context();

  /// Releases the context. Afterwards, only `is_open` and the destructor may be called.
  /// @throws context_in_use  A scope or mapped_memory of this context exists, or a thread has the
  ///                         context on its stack. Nothing changes.
  void close();
  [[nodiscard]] bool is_open() const noexcept { return held_ != nullptr; }

  [[nodiscard]] context_ref ref() const;
  [[nodiscard]] flotilla::device const& device() const;
  [[nodiscard]] device_settings const& effective_settings() const;
  [[nodiscard]] settings_report report_settings() const;

 private:
  friend class context_scope;
  friend class mapped_memory;
  explicit floating_context(std::shared_ptr<context::context_handle> held) noexcept;
  std::shared_ptr<context::context_handle> held_;
};

/// Makes a context current on the calling thread until the end of the enclosing block. Scopes can
/// be nested. The destructor restores the context stack. If the block has left other contexts on
/// top, the destructor pops them too and reports them on stderr.
class FLOTILLA_EXPORT [[nodiscard]] context_scope {
 public:
  /// Pushes the context.
  /// @throws driver_error, context_in_use  The call has pushed nothing.
  explicit context_scope(floating_context const& context);
  /// Pushes a context that the caller keeps alive until the scope ends.
  explicit context_scope(context_ref context);
  ~context_scope();
  context_scope(context_scope&&) = delete;

 private:
  // Keeps the context alive. Null if the scope was made from a context_ref.
  std::shared_ptr<context::context_handle> kept_;
  context_ref context_;
};

static_assert(!std::is_move_constructible_v<context_scope> &&
              !std::is_copy_constructible_v<context_scope>);

/// Host memory that kernels of a context can access directly. This object keeps the context alive.
class FLOTILLA_EXPORT mapped_memory {
 public:
  /// @throws driver_error  The memory is exhausted. The message has the size and the device.
  mapped_memory(floating_context const& context, std::size_t bytes);
  ~mapped_memory();
  mapped_memory(mapped_memory&& other) noexcept;
  mapped_memory& operator=(mapped_memory&&) = delete;

  [[nodiscard]] std::span<std::byte> host() const noexcept { return {host_, bytes_}; }
  /// Returns the address that kernels use for this memory.
  [[nodiscard]] std::uintptr_t device_address() const noexcept { return device_; }

 private:
  std::shared_ptr<context::context_handle> kept_;
  std::byte* host_ = nullptr;
  std::size_t bytes_ = 0;
  std::uintptr_t device_ = 0;
};

}  // namespace v0_1
}  // namespace flotilla
