#include "plain_driver.hpp"

#include <algorithm>

#include <flotilla_kernels.hpp>

#include "driver/check.hpp"
#include "machine.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

constexpr char const* subject = "the control of a bench";

/// Between two devices a producer moves once in so many launches: often enough that all of them are
/// busy, so seldom that moving costs nothing beside launching.
constexpr std::int64_t launches_a_visit = 32;

}  // namespace

plain_driver::plain_driver(shape const& wanted)
    : made_as{wanted}, api_{machine().api}, producers{wanted.producers} {
  device_settings asked;
  asked.schedule = wanted.schedule;
  for (int i = 0; i < wanted.devices; ++i) {
    contexts_.push_back(std::make_unique<context::floating_context>(
        api_, machine().devices[static_cast<std::size_t>(i)], asked));
  }
  make_posts();
  for (int i = 0; i < wanted.producers; ++i) {  // first launches load and allocate
    launch_all(i, launches_a_visit);
    synchronize_all(i);
  }
}

void plain_driver::make_posts() {
  post const first{.context = contexts_[0]->handle()};
  push(first);
  void const* const code =
      api_->kind == device_kind::gpu ? flotilla_kernels.gpu : flotilla_kernels.cpu;
  check(api_->library_load_data(&library_, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData", subject);
  CUkernel kernel = nullptr;
  check(api_->library_get_kernel(&kernel, library_, "null_kernel"), "cuLibraryGetKernel", subject);
  CUkernel spinning = nullptr;
  check(api_->library_get_kernel(&spinning, library_, "spin"), "cuLibraryGetKernel", subject);
  pop();

  posts_.resize(static_cast<std::size_t>(made_as.producers));
  for (int i = 0; i < std::max(made_as.producers, made_as.devices); ++i) {
    post made{.context = contexts_[static_cast<std::size_t>(i % made_as.devices)]->handle()};
    push(made);
    check(api_->kernel_get_function(&made.null, kernel), "cuKernelGetFunction", subject);
    check(api_->func_load(made.null), "cuFuncLoad", subject);
    check(api_->kernel_get_function(&made.spin, spinning), "cuKernelGetFunction", subject);
    check(api_->func_load(made.spin), "cuFuncLoad", subject);
    check(api_->stream_create(&made.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate", subject);
    check(api_->event_create(&made.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate", subject);
    pop();
    posts_[static_cast<std::size_t>(i % made_as.producers)].push_back(made);
  }
}

plain_driver::~plain_driver() {
  if (library_ != nullptr) { api_->library_unload(library_); }
  contexts_.clear();  // and with them their streams and events
}

void plain_driver::push(post const& where) const {
  check(api_->ctx_push_current(where.context), "cuCtxPushCurrent", subject);
}

void plain_driver::pop() const {
  CUcontext popped = nullptr;
  check(api_->ctx_pop_current(&popped), "cuCtxPopCurrent", subject);
}

void plain_driver::launch(post const& where) const {
  check(api_->launch_kernel(where.null, 1, 1, 1, 32, 1, 1, 0, where.stream, nullptr, nullptr),
        "cuLaunchKernel", subject);
}

void plain_driver::spin(post const& where, unsigned blocks, unsigned threads,
                        unsigned long long nanoseconds) const {
  void* arguments[] = {&nanoseconds};
  check(api_->launch_kernel(where.spin, blocks, 1, 1, threads, 1, 1, 0, where.stream, arguments,
                            nullptr),
        "cuLaunchKernel", subject);
}

void plain_driver::record(post const& where) const {
  check(api_->event_record(where.event, where.stream), "cuEventRecord", subject);
}

void plain_driver::synchronize(post const& where) const {
  check(api_->stream_synchronize(where.stream), "cuStreamSynchronize", subject);
}

void plain_driver::launch_all(int producer, std::int64_t tasks) const {
  std::vector<post> const& mine = posts(producer);
  std::int64_t const visit = mine.size() == 1 ? tasks : launches_a_visit;
  std::size_t next = 0;
  while (tasks > 0) {
    post const& where = mine[next++ % mine.size()];
    std::int64_t const now = std::min(visit, tasks);
    push(where);
    for (std::int64_t i = 0; i < now; ++i) { launch(where); }
    pop();
    tasks -= now;
  }
}

void plain_driver::synchronize_all(int producer) const {
  for (post const& each : posts(producer)) {
    push(each);
    synchronize(each);
    pop();
  }
}

}  // namespace flotilla::bench
