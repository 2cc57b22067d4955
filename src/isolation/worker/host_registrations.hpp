// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared host memory that the worker's driver knows.

#include <cuda.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <set>

#include "driver/table.hpp"

namespace flotilla::isolated {

/// Registers memory in one context, which is enough for all of them: the memory is portable. If
/// this context is destroyed, another one takes its place. Threads: any.
class host_registrations {
 public:
  explicit host_registrations(driver::table const& api) noexcept : api_(api) {}

  [[nodiscard]] CUresult add(void* address, std::size_t bytes);
  void remove(void* address);
  [[nodiscard]] CUresult add_context(CUcontext made);
  /// Call it before the context is destroyed.
  void remove_context(CUcontext ending);

 private:
  [[nodiscard]] CUresult enter(void* address, std::size_t bytes);
  [[nodiscard]] CUresult enter_all();

  driver::table const& api_;
  std::mutex mutex_;
  std::map<void*, std::size_t> all_;  // bytes by address; guarded by mutex_
  std::set<CUcontext> contexts_;      // guarded by mutex_
  CUcontext home_ = nullptr;          // guarded by mutex_
};

}  // namespace flotilla::isolated
