// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "driver_device.hpp"

#include <pattern_kernels.hpp>

#include "driver/check.hpp"
#include "machine.hpp"
#include "variant.hpp"

namespace flotilla::bench {

using driver::check;

driver_device::scope::scope(driver_device const& device) : api_{device.api()} {
  check(api_.ctx_push_current(device.context_->handle()), "cuCtxPushCurrent", control_subject);
}

driver_device::scope::~scope() {
  CUcontext popped = nullptr;
  static_cast<void>(api_.ctx_pop_current(&popped));
}

driver_device::driver_device()
    : api_{machine().api},
      context_{std::make_unique<context::context_handle>(api_, machine().devices[0],
                                                         device_settings{})} {
  scope const current{*this};
  void const* const code =
      api_->kind == device_kind::gpu ? pattern_kernels.gpu : pattern_kernels.cpu;
  check(api_->library_load_data(&library_, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData", control_subject);
  CUkernel kernel = nullptr;
  check(api_->library_get_kernel(&kernel, library_, "pattern_task"), "cuLibraryGetKernel",
        control_subject);
  check(api_->kernel_get_function(&kernel_, kernel), "cuKernelGetFunction", control_subject);
  check(api_->func_load(kernel_), "cuFuncLoad", control_subject);
}

driver_device::~driver_device() {
  api_->library_unload(library_);
  context_.reset();  // also frees the memory of the context
}

void driver_device::fit(task_graph const& graph) {
  if (size_ >= graph.tasks().size()) { return; }
  scope const current{*this};
  if (values_ != 0) { check(api_->mem_free(values_), "cuMemFree", control_subject); }
  values_ = 0;
  size_ = 0;
  check(api_->mem_alloc(&values_, graph.tasks().size() * sizeof(std::uint64_t)), "cuMemAlloc",
        control_subject);
  size_ = graph.tasks().size();
}

void driver_device::clear() {
  scope const current{*this};
  check(api_->memset_d8(values_, cleared_byte, size_ * sizeof(std::uint64_t)), "cuMemsetD8",
        control_subject);
  check(api_->ctx_synchronize(), "cuCtxSynchronize", control_subject);
}

void driver_device::read(std::vector<std::uint64_t>& values) const {
  scope const current{*this};
  check(api_->memcpy_dtoh(values.data(), values_, values.size() * sizeof(std::uint64_t)),
        "cuMemcpyDtoH", control_subject);
}

}  // namespace flotilla::bench
