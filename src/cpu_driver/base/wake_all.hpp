#pragma once
// Wakes the threads of all devices. Events and faults change what any stream may wait for, but the
// rooms that define them do not know the devices, so devices register here.

namespace flotilla::cpu_driver {

/// A sleeper that looks again at what it waits for when it is woken.
class wakeable {
 public:
  virtual void wake() noexcept = 0;

 protected:
  wakeable() = default;
  ~wakeable() = default;

 private:
  friend void register_wakeable(wakeable& added) noexcept;
  friend void wake_all() noexcept;
  wakeable* next_ = nullptr;  // written once, before it is registered
};

/// Adds `added` to what wake_all() wakes, until the process ends: it must never be destroyed.
/// Threads: any.
void register_wakeable(wakeable& added) noexcept;

/// Wakes everything registered. Threads: any.
void wake_all() noexcept;

}  // namespace flotilla::cpu_driver
