// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// floating_context: a context that belongs to no runtime.
#include <flotilla/context/floating_context.hpp>

#include <cuda.h>

#include <utility>

#include "base/access.hpp"
#include "base/log.hpp"
#include "context/context_handle.hpp"
#include "context/green.hpp"
#include "context/host_memory.hpp"
#include "context/plan.hpp"
#include "context/registry.hpp"
#include "context/stack_account.hpp"
#include "driver/check.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

std::vector<std::shared_ptr<context::context_handle>> make(context_driver const& driver,
                                                           std::vector<device> const& where,
                                                           device_settings const& asked,
                                                           bool best_effort) {
  context::choice chosen{detail::access::api(driver), where, {}, {}};
  chosen.sources.resize(where.size());
  settings all;
  all.all = asked;
  // `plan` expects ordinals that are indices in `chosen.devices`.
  for (unsigned i = 0; i < where.size(); ++i) { chosen.devices[i].ordinal = device_ordinal{i}; }
  std::vector<context::request> const requests = context::plan(chosen, all, best_effort);
  std::vector<std::shared_ptr<context::context_handle>> made;
  for (std::size_t i = 0; i < where.size(); ++i) {
    chosen.devices[i].ordinal = where[i].ordinal;
    made.push_back(std::make_shared<context::context_handle>(detail::access::api(driver),
                                                             chosen.devices[i], requests[i]));
  }
  return made;
}

}  // namespace

floating_context::floating_context(context_driver const& driver, flotilla::device const& device,
                                   device_settings const& settings, bool best_effort)
    : held_{make(driver, {device}, settings, best_effort).front()} {}

floating_context::floating_context(std::shared_ptr<context::context_handle> held) noexcept
    : held_{std::move(held)} {}
floating_context::floating_context(floating_context&&) noexcept = default;
floating_context& floating_context::operator=(floating_context&&) noexcept = default;
floating_context::~floating_context() = default;

std::vector<floating_context> floating_context::parts(context_driver const& driver,
                                                      flotilla::device const& device,
                                                      std::span<unsigned const> multiprocessors,
                                                      device_settings const& settings) {
  if (settings.context) {
    throw unknown_setting(
        "parts: the setting 'context' is " + to_string(*settings.context) +
        ", but must be empty, because the parts of a device are always green contexts");
  }
  std::vector<CUdevResource> slices;
  {
    CUdevice gpu = 0;
    std::string const subject =
        "device " + std::to_string(device.driver_ordinal) + " (" + device.name + ")";
    driver::check(detail::access::api(driver)->device_get(&gpu, device.driver_ordinal),
                  "cuDeviceGet", subject);
    slices =
        context::split_multiprocessors(*detail::access::api(driver), gpu, subject, multiprocessors);
  }
  base::numa_nodes const nodes;
  std::vector<floating_context> made;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    context::request each{settings};
    each.settings.context = context_source::green(multiprocessors[i]);
    each.slice = slices[i];
    context::choose_host_node(each, device, nodes);
    flotilla::device part = device;
    part.part = static_cast<int>(i);
    part.multiprocessors = static_cast<int>(slices[i].sm.smCount);
    made.push_back(floating_context{std::make_shared<context::context_handle>(
        detail::access::api(driver), part, std::move(each))});
  }
  return made;
}

void floating_context::close() {
  if (held_ == nullptr) { return; }
  unsigned const times = context::registry::times_entered(held_->handle());
  if (times != 0 || held_.use_count() > 1) {
    throw context_in_use(context::in_words(held_->handle()) + " cannot be closed: " +
                         (times != 0 ? "it is current on a thread or on its stack"
                                     : "a mapped_memory or an open context_scope uses it"));
  }
  held_.reset();
}

context_ref floating_context::ref() const {
  return detail::access::make(held_->shared_api(), held_->handle());
}
device const& floating_context::device() const { return held_->where(); }
device_settings const& floating_context::effective_settings() const { return held_->effective(); }
settings_report floating_context::report_settings() const {
  return context::report(held_->where(), held_->asked(), held_->effective(), held_->refused());
}

context_scope::context_scope(floating_context const& context)
    : kept_{context.held_}, context_{context.ref()} {
  context::enter_scope(*detail::access::api(context_), context_.handle());
}

context_scope::context_scope(context_ref context) : context_{std::move(context)} {
  context::enter_scope(*detail::access::api(context_), context_.handle());
}

context_scope::~context_scope() {
  context::close_scope();
  int const above = context::leave(*detail::access::api(context_), context_.handle());
  if (above != 0) {
    base::log_format(log_level::warning, "when the scope of %s ended, %s",
                     context::in_words(context_.handle()).c_str(),
                     above > 0
                         ? "other contexts were above it on the stack; the scope has popped them"
                         : "its context was popped already");
  }
}

mapped_memory::mapped_memory(floating_context const& context, std::size_t bytes)
    : kept_{context.held_}, bytes_{bytes} {
  driver::table const& api = kept_->api();
  context::scoped_current const now{api, kept_->handle()};
  auto const subject = [&] { return kept_->subject() + ", " + std::to_string(bytes) + " bytes"; };
  void* made = nullptr;
  driver::check(context::allocate_pinned(*kept_, made, bytes,
                                         CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
                "cuMemHostAlloc", subject);
  CUdeviceptr seen = 0;
  if (CUresult const answer = api.mem_host_get_device_pointer(&seen, made, 0);
      answer != CUDA_SUCCESS) {
    api.mem_free_host(made);
    driver::check(answer, "cuMemHostGetDevicePointer", subject);
  }
  host_ = static_cast<std::byte*>(made);
  device_ = seen;
}

mapped_memory::mapped_memory(mapped_memory&& other) noexcept
    : kept_{std::move(other.kept_)},
      host_{std::exchange(other.host_, nullptr)},
      bytes_{std::exchange(other.bytes_, 0)},
      device_{std::exchange(other.device_, 0)} {}

mapped_memory::~mapped_memory() {
  if (host_ == nullptr) { return; }
  driver::table const& api = kept_->api();
  bool const pushed = api.ctx_push_current(kept_->handle()) == CUDA_SUCCESS;
  api.mem_free_host(host_);
  CUcontext popped = nullptr;
  if (pushed) { api.ctx_pop_current(&popped); }
}

}  // namespace v0_1
}  // namespace flotilla
