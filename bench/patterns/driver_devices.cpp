// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "driver_devices.hpp"

#include <pattern_kernels.hpp>
#include <stdexcept>

#include "driver/check.hpp"
#include "machine.hpp"
#include "peer_contexts.hpp"
#include "variant.hpp"

namespace flotilla::bench {

using driver::check;

driver_devices::scope::scope(driver_devices const& devices, unsigned device)
    : devices_{devices}, current_{device} {
  check(devices.api().ctx_push_current(devices.parts_[device].context->handle()),
        "cuCtxPushCurrent", control_subject);
}

driver_devices::scope::~scope() {
  CUcontext popped = nullptr;
  static_cast<void>(devices_.api().ctx_pop_current(&popped));
}

void driver_devices::scope::change_to(unsigned device) {
  if (device == current_) { return; }
  check(devices_.api().ctx_set_current(devices_.parts_[device].context->handle()),
        "cuCtxSetCurrent", control_subject);
  current_ = device;
}

driver_devices::driver_devices(int count) : api_{machine().api} {
  std::vector<device> const& devices = machine().devices;
  if (devices.front().part >= 0) {
    throw std::runtime_error{
        "the variants streams, graph and relaunch cannot use green contexts; add --variants "
        "flotilla,recording"};
  }
  for (int i = 0; i < count; ++i) {
    parts_.push_back({.context = std::make_unique<context::context_handle>(
                          api_, devices.at(static_cast<std::size_t>(i)), device_settings{})});
  }
  if (count == 2) {
    if (std::string const why = why_no_peers(); !why.empty()) {
      throw std::runtime_error{"--devices 2 needs two devices that are peers: " + why};
    }
    enable_peers({parts_[0].context->handle(), parts_[1].context->handle()});
  }
  load_kernels();
}

void driver_devices::load_kernels() {
  scope current{*this, 0};
  void const* const code =
      api_->kind == device_kind::gpu ? pattern_kernels.gpu : pattern_kernels.cpu;
  check(api_->library_load_data(&library_, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData", control_subject);
  CUkernel kernel = nullptr;
  check(api_->library_get_kernel(&kernel, library_,
                                 count() == 1 ? "pattern_task" : "pattern_task_on_two"),
        "cuLibraryGetKernel", control_subject);
  for (unsigned i = 0; i < count(); ++i) {
    current.change_to(i);
    check(api_->kernel_get_function(&parts_[i].kernel, kernel), "cuKernelGetFunction",
          control_subject);
    check(api_->func_load(parts_[i].kernel), "cuFuncLoad", control_subject);
  }
}

driver_devices::~driver_devices() {
  if (library_ != nullptr) { api_->library_unload(library_); }
  parts_.clear();  // also frees the memory of the contexts
}

void driver_devices::fit(task_graph const& graph) {
  distribution_ = distribution{graph, count()};
  if (size_ >= graph.tasks().size()) { return; }
  size_ = 0;
  for (unsigned i = 0; i < count(); ++i) {
    scope const current{*this, i};
    CUdeviceptr& values = parts_[i].values;
    if (values != 0) { check(api_->mem_free(values), "cuMemFree", control_subject); }
    values = 0;
    check(api_->mem_alloc(&values, graph.tasks().size() * sizeof(std::uint64_t)), "cuMemAlloc",
          control_subject);
  }
  size_ = graph.tasks().size();
}

void driver_devices::clear() {
  for (unsigned i = 0; i < count(); ++i) {
    scope const current{*this, i};
    check(api_->memset_d8(parts_[i].values, cleared_byte, size_ * sizeof(std::uint64_t)),
          "cuMemsetD8", control_subject);
    check(api_->ctx_synchronize(), "cuCtxSynchronize", control_subject);
  }
}

void driver_devices::read(std::vector<std::uint64_t>& values) const {
  std::vector<std::uint64_t> copied(values.size());
  for (unsigned i = 0; i < count(); ++i) {
    scope const current{*this, i};
    check(api_->memcpy_dtoh(copied.data(), parts_[i].values, copied.size() * sizeof(std::uint64_t)),
          "cuMemcpyDtoH", control_subject);
    for (std::size_t task = 0; task < values.size(); ++task) {
      if (distribution_.device(task) == i) { values[task] = copied[task]; }
    }
  }
}

driver_devices::call driver_devices::task(task_graph const& graph, std::size_t index) const {
  unsigned const device = distribution_.device(index);
  auto const values_of = [&](unsigned i) {
    return reinterpret_cast<unsigned long long*>(parts_[i].values);
  };
  return {.device = device,
          .kernel = parts_[device].kernel,
          .argument = graph.argument(index, values_of(device)),
          .mirror = distribution_.is_mirrored(index) ? values_of(1 - device) : nullptr};
}

}  // namespace flotilla::bench
