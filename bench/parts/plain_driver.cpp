// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "plain_driver.hpp"

#include <algorithm>

#include <flotilla_kernels.hpp>

#include "control_subject.hpp"
#include "driver/check.hpp"
#include "machine.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

/// A producer with several devices changes to the next device after this many launches. A larger
/// number would leave the other devices idle. A smaller number would make the context changes a
/// large part of the cost.
constexpr std::int64_t launches_per_visit = 32;

}  // namespace

plain_driver::plain_driver(options const& wanted)
    : created_with{wanted}, api_{machine().api}, producers{wanted.producers} {
  device_settings asked;
  asked.schedule = wanted.schedule;
  for (int i = 0; i < wanted.devices; ++i) {
    contexts_.push_back(std::make_unique<context::context_handle>(
        api_, machine().devices[static_cast<std::size_t>(i)], asked));
  }
  create_targets();
  // Warm-up: the first launches load the kernel and allocate memory.
  for (int i = 0; i < wanted.producers; ++i) {
    launch_all(i, launches_per_visit);
    synchronize_all(i);
  }
}

void plain_driver::create_targets() {
  launch_target const first{.context = contexts_[0]->handle()};
  push(first);
  void const* const code =
      api_->kind == device_kind::gpu ? flotilla_kernels.gpu : flotilla_kernels.cpu;
  check(api_->library_load_data(&library_, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData", control_subject);
  CUkernel kernel = nullptr;
  check(api_->library_get_kernel(&kernel, library_, "null_kernel"), "cuLibraryGetKernel",
        control_subject);
  CUkernel spinning = nullptr;
  check(api_->library_get_kernel(&spinning, library_, "spin"), "cuLibraryGetKernel",
        control_subject);
  pop();

  targets_.resize(static_cast<std::size_t>(created_with.producers));
  for (int i = 0; i < std::max(created_with.producers, created_with.devices); ++i) {
    launch_target created{
        .context = contexts_[static_cast<std::size_t>(i % created_with.devices)]->handle()};
    push(created);
    check(api_->kernel_get_function(&created.null, kernel), "cuKernelGetFunction", control_subject);
    check(api_->func_load(created.null), "cuFuncLoad", control_subject);
    check(api_->kernel_get_function(&created.spin, spinning), "cuKernelGetFunction",
          control_subject);
    check(api_->func_load(created.spin), "cuFuncLoad", control_subject);
    check(api_->stream_create(&created.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
          control_subject);
    check(api_->event_create(&created.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate",
          control_subject);
    pop();
    targets_[static_cast<std::size_t>(i % created_with.producers)].push_back(created);
  }
}

plain_driver::~plain_driver() {
  if (library_ != nullptr) { api_->library_unload(library_); }
  contexts_.clear();  // destroying a context also destroys its streams and events
}

void plain_driver::push(launch_target const& target) const {
  check(api_->ctx_push_current(target.context), "cuCtxPushCurrent", control_subject);
}

void plain_driver::pop() const {
  CUcontext popped = nullptr;
  check(api_->ctx_pop_current(&popped), "cuCtxPopCurrent", control_subject);
}

void plain_driver::launch(launch_target const& target) const {
  check(api_->launch_kernel(target.null, 1, 1, 1, 32, 1, 1, 0, target.stream, nullptr, nullptr),
        "cuLaunchKernel", control_subject);
}

void plain_driver::spin(launch_target const& target, unsigned blocks, unsigned threads,
                        unsigned long long nanoseconds) const {
  void* arguments[] = {&nanoseconds};
  check(api_->launch_kernel(target.spin, blocks, 1, 1, threads, 1, 1, 0, target.stream, arguments,
                            nullptr),
        "cuLaunchKernel", control_subject);
}

void plain_driver::record(launch_target const& target) const {
  check(api_->event_record(target.event, target.stream), "cuEventRecord", control_subject);
}

void plain_driver::synchronize(launch_target const& target) const {
  check(api_->stream_synchronize(target.stream), "cuStreamSynchronize", control_subject);
}

void plain_driver::launch_all(int producer, std::int64_t tasks) const {
  std::vector<launch_target> const& mine = targets(producer);
  std::int64_t const visit = mine.size() == 1 ? tasks : launches_per_visit;
  std::size_t next = 0;
  while (tasks > 0) {
    launch_target const& target = mine[next++ % mine.size()];
    std::int64_t const count = std::min(visit, tasks);
    push(target);
    for (std::int64_t i = 0; i < count; ++i) { launch(target); }
    pop();
    tasks -= count;
  }
}

void plain_driver::synchronize_all(int producer) const {
  for (launch_target const& each : targets(producer)) {
    push(each);
    synchronize(each);
    pop();
  }
}

}  // namespace flotilla::bench
