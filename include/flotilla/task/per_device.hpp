// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Objects that callables need once for each device and stream, such as handles of libraries.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <flotilla/device/device.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Owns one object for each stream in which callables use it. A handle of cuBLAS belongs to the
/// context that was current when it was made, and two callables must not use one handle at the same
/// time. So a handle for each stream is right, and costs a lookup for each callable:
///
///     flotilla::per_device<blas_handle> handles{rt, [](flotilla::task_context& task) {
///       return std::make_unique<blas_handle>(task.stream());
///     }};
///     rt.post([&](flotilla::task_context& task) { handles.at(task).multiply(…); });
///
/// A device has eight streams for callables, and four more for each urgent priority.
///
/// Threads   `at`: any callable. All other calls: none of them at the same time as another call.
/// Lifetime  Must end before its runtime, and after the callables that use it.
template <class H>
class per_device {
 public:
  using maker = std::function<std::unique_ptr<H>(task_context&)>;

  /// @param make  Makes the object for the device and stream of a callable. Called inside this
  ///              callable, so the context of the device is current.
  per_device(runtime& owner, maker make) : owner_{owner}, make_{std::move(make)} {
    for (std::size_t i = 0; i < owner.devices().size(); ++i) {
      devices_.push_back(std::make_shared<of_device>());
    }
  }
  per_device(per_device const&) = delete;
  per_device& operator=(per_device const&) = delete;
  /// Calls `clear`. Inside a callable of the runtime it does not wait: the objects are destroyed
  /// later. Objects are never destroyed if the runtime fails first, for example because it is
  /// poisoned: their destructors would need a context.
  ~per_device() {
    try {
      clear();
    } catch (...) {}  // a callable that was submitted owns the objects, or else they are lost
  }

  /// Returns the object for the device and stream of this callable. The first call for a stream
  /// makes it. @throws what `make` throws; then the next call tries again.
  [[nodiscard]] H& at(task_context& task) {
    of_device& here = *devices_[task.device().ordinal.value];
    {
      std::lock_guard const lock{here.mutex};
      auto const found = here.objects.find(task.stream());
      if (found != here.objects.end()) { return *found->second; }
    }
    // No other callable uses this stream during the call.
    std::unique_ptr<H> made = make_(task);
    std::lock_guard const lock{here.mutex};
    return *(here.objects[task.stream()] = std::move(made));
  }

  /// Destroys all objects, inside callables on their devices. Blocks until these have ended.
  /// @throws the exceptions of runtime::submit and ticket::wait
  void clear() {
    std::vector<ticket> tasks;
    for (flotilla::device const& each : owner_.devices()) {
      std::shared_ptr<of_device> const& here = devices_[each.ordinal.value];
      if (here->objects.empty()) { continue; }
      tasks.push_back(owner_.submit([here](task_context&) { here->objects.clear(); },
                                    task_options{each.ordinal}));
    }
    for (ticket& each : tasks) { each.wait(); }
  }

 private:
  struct of_device {
    of_device() = default;
    of_device(of_device const&) = delete;
    of_device& operator=(of_device const&) = delete;
    ~of_device() {
      for (auto& [stream, object] : objects) { static_cast<void>(object.release()); }
    }
    std::mutex mutex;
    std::map<CUstream_st*, std::unique_ptr<H>> objects;
  };

  runtime& owner_;
  maker make_;
  std::vector<std::shared_ptr<of_device>> devices_;  // callables of `clear` own them too
};

}  // namespace v0_1
}  // namespace flotilla
