// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Objects that callables need once for each device and stream, such as handles of libraries.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <flotilla/device/device.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/callable.hpp>

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
/// A device has at most as many streams as the setting `lanes`, and a few for urgent tasks.
///
/// Threads   `at`: any callable. All other calls: none of them at the same time as another call.
/// Lifetime  Must end before its runtime, and after the callables that use it.
template <class H>
class per_device {
 public:
  using maker = std::function<std::unique_ptr<H>(task_context&)>;

  /// @param make  Makes the object for the device and stream of a callable. Called inside this
  ///              callable, so the context of the device is current.
  per_device(runtime& owner, maker make)
      : owner_{owner}, make_{std::move(make)}, devices_(owner.devices().size()) {}
  per_device(per_device const&) = delete;
  per_device& operator=(per_device const&) = delete;
  /// Calls `clear`. If that fails, for example because the runtime is poisoned, the objects are not
  /// destroyed, because their destructors would need a context.
  ~per_device() {
    try {
      clear();
    } catch (...) {
      for (of_device& each : devices_) {
        for (auto& [stream, object] : each.objects) { static_cast<void>(object.release()); }
      }
    }
  }

  /// Returns the object for the device and stream of this callable. The first call for a stream
  /// makes it. @throws what `make` throws; then the next call tries again.
  [[nodiscard]] H& at(task_context& task) {
    of_device& here = devices_[task.device().ordinal.value];
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
  /// @throws the exceptions of runtime::submit
  void clear() {
    for (flotilla::device const& each : owner_.devices()) {
      of_device& here = devices_[each.ordinal.value];
      if (here.objects.empty()) { continue; }
      owner_.submit([&here](task_context&) { here.objects.clear(); }, {.device = each.ordinal})
          .wait();
    }
  }

 private:
  struct of_device {
    std::mutex mutex;
    std::map<CUstream_st*, std::unique_ptr<H>> objects;
  };

  runtime& owner_;
  maker make_;
  std::vector<of_device> devices_;
};

}  // namespace v0_1
}  // namespace flotilla
