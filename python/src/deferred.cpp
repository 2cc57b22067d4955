// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "deferred.hpp"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace flotilla::python {

namespace {

struct collected_objects {
  std::mutex mutex;
  std::vector<PyObject*> objects;  // the mutex guards it
  bool is_announced = false;       // whether Python will call `release_announced`; guarded too
  std::atomic<bool> has_stopped{false};
  std::atomic<bool> has_objects{false};
};

/// Never destroyed, because objects that live until the end of the process use it.
collected_objects& collected() noexcept {
  static auto* const made = new collected_objects;
  return *made;
}

int release_announced(void* /*unused*/) {
  release_collected();
  return 0;
}

}  // namespace

void release_later(PyObject* object) noexcept {
  collected_objects& all = collected();
  if (object == nullptr || all.has_stopped.load()) { return; }
  try {
    std::lock_guard const lock(all.mutex);
    all.objects.push_back(object);
    all.has_objects.store(true);
    // The call fails if too many calls are pending. Then the next release tries again.
    if (!all.is_announced) {
      all.is_announced = Py_AddPendingCall(release_announced, nullptr) == 0;
    }
  } catch (...) {  // no memory: the object stays
  }
}

void release_collected() noexcept {
  collected_objects& all = collected();
  if (!all.has_objects.load()) { return; }
  std::vector<PyObject*> taken;
  {
    std::lock_guard const lock(all.mutex);
    taken.swap(all.objects);
    all.has_objects.store(false);
    all.is_announced = false;
  }
  // Not under the mutex, because destructors of Python objects run user code.
  for (PyObject* const each : taken) { Py_DECREF(each); }
}

void stop_releasing() noexcept { collected().has_stopped.store(true); }

bool has_stopped_releasing() noexcept { return collected().has_stopped.load(); }

}  // namespace flotilla::python
