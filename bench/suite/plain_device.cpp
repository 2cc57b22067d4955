// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "plain_device.hpp"

#include <bench_kernels.hpp>

#include "control_subject.hpp"
#include "driver/check.hpp"
#include "host_words.hpp"
#include "machine.hpp"
#include "words.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

}  // namespace

plain_device::scope::scope(plain_device const& device) : api_{device.api()} {
  check(api_.ctx_push_current(device.context_->handle()), "cuCtxPushCurrent", control_subject);
}

plain_device::scope::~scope() {
  CUcontext popped = nullptr;
  static_cast<void>(api_.ctx_pop_current(&popped));
}

plain_device::plain_device()
    : api_{machine().api},
      context_{std::make_unique<context::context_handle>(api_, machine().devices[0],
                                                         device_settings{})} {
  scope const current{*this};
  void const* const code = api_->kind == device_kind::gpu ? bench_kernels.gpu : bench_kernels.cpu;
  check(api_->library_load_data(&library_, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData", control_subject);
  wrong_words_ = allocate(sizeof(unsigned));
}

plain_device::~plain_device() {
  for (void* const each : pinned_) { api_->mem_free_host(each); }
  api_->library_unload(library_);
  context_.reset();  // also destroys the streams of the context and frees its memory
}

CUfunction plain_device::kernel(char const* name) const {
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  check(api_->library_get_kernel(&kernel, library_, name), "cuLibraryGetKernel", control_subject);
  check(api_->kernel_get_function(&function, kernel), "cuKernelGetFunction", control_subject);
  check(api_->func_load(function), "cuFuncLoad", control_subject);
  return function;
}

CUstream plain_device::make_stream() {
  CUstream made = nullptr;
  check(api_->stream_create(&made, CU_STREAM_NON_BLOCKING), "cuStreamCreate", control_subject);
  return made;
}

CUdeviceptr plain_device::allocate(std::size_t bytes) {
  CUdeviceptr made = 0;
  check(api_->mem_alloc(&made, bytes), "cuMemAlloc", control_subject);
  return made;
}

void* plain_device::allocate_pinned(std::size_t bytes) {
  void* made = nullptr;
  check(api_->mem_host_alloc(&made, bytes, 0), "cuMemHostAlloc", control_subject);
  pinned_.push_back(made);
  return made;
}

void plain_device::launch(CUfunction kernel, unsigned blocks, unsigned threads, CUstream stream,
                          void** arguments) const {
  check(api_->launch_kernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr),
        "cuLaunchKernel", control_subject);
}

void plain_device::synchronize(CUstream stream) const {
  check(api_->stream_synchronize(stream), "cuStreamSynchronize", control_subject);
}

void plain_device::synchronize() const {
  check(api_->ctx_synchronize(), "cuCtxSynchronize", control_subject);
}

void plain_device::write_words(CUdeviceptr words, std::size_t count, unsigned long long seed) {
  unsigned long long size = count;
  void* arguments[] = {&words, &size, &seed};
  launch(kernel("write_words"), word_blocks, word_threads, nullptr, arguments);
  synchronize();
}

void plain_device::check_words(CUdeviceptr words, std::size_t count, unsigned long long seed,
                               char const* who) {
  unsigned wrong = 0;
  check(api_->memcpy_htod(wrong_words_, &wrong, sizeof wrong), "cuMemcpyHtoD", control_subject);
  unsigned long long size = count;
  void* arguments[] = {&words, &size, &seed, &wrong_words_};
  launch(kernel("count_wrong_words"), word_blocks, word_threads, nullptr, arguments);
  check(api_->memcpy_dtoh(&wrong, wrong_words_, sizeof wrong), "cuMemcpyDtoH", control_subject);
  require_no_wrong_words(wrong, who);
}

}  // namespace flotilla::bench
