// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/context_handle.hpp"

#include <atomic>
#include <utility>

#include "base/log.hpp"
#include "context/description.hpp"
#include "context/registry.hpp"
#include "driver/check.hpp"

namespace flotilla::context {

namespace {

using driver::check;

std::atomic<unsigned> live{0};

}  // namespace

unsigned live_contexts() noexcept { return live.load(std::memory_order_relaxed); }

context_handle::context_handle(std::shared_ptr<driver::table const> api, device const& where,
                               request asked)
    : api_(std::move(api)), where_(where), asked_(std::move(asked)), subject_(device_text(where)) {
  CUdevice device = 0;
  check(api_->device_get(&device, where.driver_ordinal), "cuDeviceGet", subject_);
  source_ = make_source(*api_, device, asked_, subject_, refused_);
  handle_ = source_->handle();
  bool touched = false;
  bool pushed = false;
  try {
    check(api_->ctx_push_current(handle_), "cuCtxPushCurrent", subject_);
    pushed = true;
    if (source_->shared()) { found_ = read_back(*api_, subject_); }
    touched = true;
    set_up();
    CUcontext popped = nullptr;
    pushed = false;
    check(api_->ctx_pop_current(&popped), "cuCtxPopCurrent", subject_);
    context_source::kinds const kind = asked_.settings.context.value_or(context_source{}).kind;
    if (kind != context_source::kinds::adopted) {
      registry::add(handle_, subject_, kind == context_source::kinds::green);
    }
  } catch (...) {
    if (touched && pushed && source_->shared()) { restore(*api_, asked_.settings, found_); }
    if (pushed) {
      CUcontext popped = nullptr;
      api_->ctx_pop_current(&popped);
    }
    char const* call = nullptr;
    source_->give_up(call);
    throw;
  }
  live.fetch_add(1, std::memory_order_relaxed);
}

void context_handle::set_up() {
  apply(*api_, asked_.settings, rejection_policy{subject_, asked_.best_effort}, refused_);
  effective_ = read_back(*api_, subject_);
  effective_.context = asked_.settings.context.value_or(context_source::owned());
  if (asked_.slice) { effective_.context->multiprocessors = asked_.slice->sm.smCount; }
  // A driver that can recover devices may have devices that are not isolated.
  bool const is_isolated = api_->recovery != nullptr && asked_.settings.isolation.value_or(
                                                            isolation::none) == isolation::process;
  effective_.isolation = is_isolated ? isolation::process : isolation::none;
  effective_.spare = is_isolated ? asked_.settings.spare.value_or(spare::none) : spare::none;
  effective_.numa_placement = asked_.host_node >= 0;
  if (!asked_.no_host_node.empty()) { refused_["numa_placement"] = asked_.no_host_node; }
  CUexecAffinityParam limit{};
  if (asked_.settings.exec_affinity && api_->ctx_get_exec_affinity != nullptr &&
      api_->ctx_get_exec_affinity(&limit, CU_EXEC_AFFINITY_TYPE_SM_COUNT) == CUDA_SUCCESS) {
    effective_.exec_affinity = limit.param.smCount.val;
  }
}

context_handle::~context_handle() { destroy(); }

void context_handle::destroy() noexcept {
  if (handle_ == nullptr) { return; }
  live.fetch_sub(1, std::memory_order_relaxed);
  unsigned const on_stacks = registry::times_entered(handle_);
  if (source_->shared()) { restore_settings(); }
  if (on_stacks != 0) {
    // Leaking the context is better than leaving a destroyed context on a thread's stack.
    base::log_format(log_level::warning,
                     "the context of %s is leaked, because a thread still has it current",
                     subject_.c_str());
    handle_ = nullptr;
    return;
  }
  registry::remove(std::exchange(handle_, nullptr));
  char const* call = "";
  CUresult const answer = source_->give_up(call);
  report_failure(call, answer);
}

void context_handle::restore_settings() noexcept {
  // The push fails if the owner has destroyed the context.
  if (api_->ctx_push_current(handle_) != CUDA_SUCCESS) { return; }
  restore(*api_, asked_.settings, found_);
  CUcontext popped = nullptr;
  report_failure("cuCtxPopCurrent", api_->ctx_pop_current(&popped));
}

void context_handle::report_failure(char const* call, CUresult answer) const noexcept {
  // Two kinds of errors are expected and not reported. At process exit, the driver may already have
  // shut down. In that case it has freed everything. After a fault, every call fails, and only the
  // end of the process frees anything.
  if (answer != CUDA_SUCCESS && answer != CUDA_ERROR_DEINITIALIZED &&
      !is_sticky(driver::status_of(answer))) {
    // Prints the number of the status instead of its name. Getting the name allocates memory, and
    // the call may have failed because memory ran out.
    base::log_format(log_level::error, "%s failed on %s with CUresult %d", call, subject_.c_str(),
                     static_cast<int>(answer));
  }
}

}  // namespace flotilla::context
