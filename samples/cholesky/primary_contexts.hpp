// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The contexts of the CUDA runtime library, and memory in them.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "driver_calls.hpp"

namespace cholesky {

/// The primary contexts of some GPUs. cusolverMg works in them, because it calls the CUDA runtime
/// library. Flotilla's own contexts cannot be used: memory belongs to a context.
class primary_contexts {
 public:
  /// @param ordinals  The driver's ordinals of the GPUs.
  explicit primary_contexts(std::vector<int> const& ordinals)
      : primary_contexts() {  // so that the destructor runs if a call fails
    for (int const each : ordinals) { retain(each); }
    enable_peer_access();
  }
  primary_contexts(primary_contexts const&) = delete;
  primary_contexts& operator=(primary_contexts const&) = delete;
  ~primary_contexts() {
    calls_.set_current(nullptr);
    for (CUdevice const each : devices_) { calls_.release_context(each); }
  }

  [[nodiscard]] std::size_t size() const { return contexts_.size(); }
  [[nodiscard]] CUcontext context(std::size_t index) const { return contexts_[index]; }
  /// Makes a context current on this thread.
  void use(std::size_t index) const {
    check(calls_.set_current(contexts_[index]), "cuCtxSetCurrent");
  }
  /// Waits for everything on all GPUs.
  void synchronize() const {
    for (std::size_t i = 0; i < size(); ++i) {
      use(i);
      check(calls_.synchronize(), "cuCtxSynchronize");
    }
  }

 private:
  primary_contexts() = default;
  void retain(int ordinal) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    check(calls_.get_device(&device, ordinal), "cuDeviceGet");
    check(calls_.retain_context(&context, device), "cuDevicePrimaryCtxRetain");
    devices_.push_back(device);
    contexts_.push_back(context);
  }
  /// The library copies between GPUs. Without access it would copy through host memory.
  void enable_peer_access() const {
    for (std::size_t from = 0; from < size(); ++from) {
      use(from);
      for (std::size_t to = 0; to < size(); ++to) {
        int possible = 0;
        if (to == from) { continue; }
        check(calls_.can_access_peer(&possible, devices_[from], devices_[to]),
              "cuDeviceCanAccessPeer");
        if (possible == 0) { continue; }
        CUresult const status = calls_.enable_peer_access(contexts_[to], 0);
        // Other code of the process may have enabled it, for example a runtime with these contexts.
        if (status != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
          check(status, "cuCtxEnablePeerAccess");
        }
      }
    }
  }

  driver_calls const& calls_ = driver();
  std::vector<CUdevice> devices_;
  std::vector<CUcontext> contexts_;
};

/// Memory of the same size on each of the GPUs. At first it contains zeros.
class memory_on_each {
 public:
  memory_on_each(primary_contexts const& on, std::size_t bytes)
      : memory_on_each(on) {  // so that the destructor runs if a call fails
    for (std::size_t i = 0; i < on_.size(); ++i) { allocate(i, std::max<std::size_t>(bytes, 1)); }
  }
  memory_on_each(memory_on_each const&) = delete;
  memory_on_each& operator=(memory_on_each const&) = delete;
  ~memory_on_each() {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      driver().set_current(on_.context(i));
      driver().free(memory_[i]);
    }
  }

  [[nodiscard]] CUdeviceptr at(std::size_t index) const { return memory_[index]; }
  /// Returns an array of addresses, one for each GPU, as cusolverMg takes it.
  [[nodiscard]] void** addresses() { return addresses_.data(); }

 private:
  explicit memory_on_each(primary_contexts const& on) : on_(on) {}
  void allocate(std::size_t index, std::size_t bytes) {
    CUdeviceptr made = 0;
    on_.use(index);
    check(driver().allocate(&made, bytes), "cuMemAlloc");
    memory_.push_back(made);
    addresses_.push_back(reinterpret_cast<void*>(made));
    check(driver().clear(made, 0, bytes), "cuMemsetD8");
  }

  primary_contexts const& on_;
  std::vector<CUdeviceptr> memory_;
  std::vector<void*> addresses_;
};

}  // namespace cholesky
