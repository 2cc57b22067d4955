// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which device a call is for, and checks the handles of the caller.

#include <cuda.h>

#include <cstdint>

#include "isolation/owner/handle_bits.hpp"
#include "isolation/owner/owner.hpp"
#include "isolation/owner/thread_state.hpp"

namespace flotilla::isolated {

/// The driver of this process, for calls that are not for an isolated device.
[[nodiscard]] inline driver::table const& base() { return owner::get().base(); }

/// Whether a handle is an address-like value of another driver. Null and the streams that have
/// numbers belong to no driver.
template <class Handle>
[[nodiscard]] bool is_foreign(Handle handle) noexcept {
  handle_bits const bits = handle_bits::of(handle);
  return bits.value > 2 && !bits.is_ours();
}

/// The isolated device to whose range the address belongs, or null.
[[nodiscard]] inline isolated_device* device_of(CUdeviceptr address) noexcept {
  return is_device_address(address) ? owner::get().device(device_of_address(address)) : nullptr;
}

/// The status for a handle that names no object.
[[nodiscard]] constexpr CUresult invalid(object_kind kind) noexcept {
  return kind == object_kind::context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE;
}

/// Whether the handle names an open object of this kind.
[[nodiscard]] inline bool is_open(handle_bits bits, object_kind kind) noexcept {
  owner& all = owner::get();
  bool const is_kind = bits.kind() == kind ||
                       // A kernel may be passed as a function.
                       (kind == object_kind::function && bits.kind() == object_kind::kernel);
  if (!bits.is_ours() || !is_kind) { return false; }
  if (bits.is_shared()) { return all.shared().is_open(bits); }
  isolated_device* const home = all.device(bits.device());
  return home != nullptr && home->objects().is_open(bits);
}

/// The device and the context of a call.
struct target {
  isolated_device* device = nullptr;  // null: the call is for the base driver
  std::uint32_t context = 0;          // the current context, if it is one of the device

  /// Looks at a handle. The first one that belongs to a device decides.
  template <class Handle>
  void look(Handle handle) noexcept {
    handle_bits const bits = handle_bits::of(handle);
    if (is_base_ || bits.value <= 2) { return; }
    if (!bits.is_ours()) {
      is_base_ = device == nullptr;
      return;
    }
    if (bits.is_shared()) {
      has_shared_ = true;
      return;
    }
    if (device == nullptr) { device = owner::get().device(bits.device()); }
    bool const is_of_device = device != nullptr && device->ordinal() == bits.device();
    if (is_of_device && home_ == 0) { home_ = device->objects().home_of(bits.index()); }
  }
  /// Call it after all handles. Without a handle of a device, the current context decides.
  void decide() {
    if (is_base_) { return; }
    CUcontext const top = thread_state::get().top();
    handle_bits const current = handle_bits::of(top);
    bool const is_current = top != nullptr && current.is_ours();
    if (device == nullptr && is_current) { device = owner::get().device(current.device()); }
    if (device != nullptr && is_current && current.device() == device->ordinal()) {
      context = current.index();
    }
    // A library or kernel without a current context: any device that is in use will do.
    for (int i = 0; has_shared_ && device == nullptr && i < max_devices; ++i) {
      isolated_device* const each = owner::get().device(i);
      if (each != nullptr && each->workers().serving() != 0) { device = each; }
    }
  }
  /// The context on whose behalf the call is made: that of the stream or event, or the current one.
  [[nodiscard]] std::uint32_t user() const noexcept { return home_ != 0 ? home_ : context; }
  /// The status of the device for this user. Call it if there is a device.
  [[nodiscard]] CUresult lost() const noexcept { return device->lost_for(user()); }

 private:
  std::uint32_t home_ = 0;
  bool is_base_ = false;
  bool has_shared_ = false;
};

/// A target without handles: the current context decides.
[[nodiscard]] inline target current_target() {
  target made;
  made.decide();
  return made;
}

/// Whether the current context is one of a worker and was destroyed.
[[nodiscard]] inline bool is_current_destroyed() {
  CUcontext const top = thread_state::get().top();
  handle_bits const bits = handle_bits::of(top);
  return top != nullptr && bits.is_ours() && !is_open(bits, object_kind::context);
}

}  // namespace flotilla::isolated
