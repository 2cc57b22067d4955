// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Wakes the threads of all devices, because an event or a fault can concern streams on any device.
// The code of events and faults must not include the headers of devices. Therefore the devices
// register here.

namespace flotilla::cpu_driver {

/// An object whose thread may sleep until a condition is true. wake() makes the thread check the
/// condition again.
class wakeable {
 public:
  virtual void wake() noexcept = 0;

 protected:
  wakeable() = default;
  ~wakeable() = default;

 private:
  friend void register_wakeable(wakeable& added) noexcept;
  friend void wake_all() noexcept;
  wakeable* next_ = nullptr;  // written only by register_wakeable()
};

/// After this call, wake_all() also wakes `added`, which must never be destroyed. Threads: any.
void register_wakeable(wakeable& added) noexcept;

/// Wakes every registered object. Threads: any.
void wake_all() noexcept;

}  // namespace flotilla::cpu_driver
