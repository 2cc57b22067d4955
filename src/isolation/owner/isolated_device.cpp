// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/isolated_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include <flotilla/error/error.hpp>

#include "driver/check.hpp"
#include "isolation/owner/direct_caller.hpp"
#include "isolation/owner/owner.hpp"

namespace flotilla::isolated {

namespace {

/// Call it with the lock of the device. @return an empty text, or why the worker cannot be used
std::string bring_up_to_date(replica& next, replicated const& from) {
  std::optional<replica::plan> todo;
  {
    std::lock_guard const lock{owner::get().shared_mutex()};
    if (!next.is_behind(from)) { return {}; }
    todo = next.prepare(from);
  }
  return next.apply(std::move(*todo));
}

bool has_context(journal const& objects) {
  return std::any_of(objects.entries().begin(), objects.entries().end(),
                     [](auto const& each) { return each.second.kind == object_kind::context; });
}

}  // namespace

isolated_device::isolated_device(owner& all, int ordinal)
    : owner_(all), ordinal_(ordinal), objects_(ordinal, 0), memory_(all.base(), ordinal) {
  // Nothing else of this process may be at the addresses of the device.
  void* const made =
      ::mmap(reinterpret_cast<void*>(device_start(ordinal)), device_bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (made == MAP_FAILED) { throw std::bad_alloc{}; }
}

replicated isolated_device::parts() noexcept {
  return {objects_, owner_.shared(), memory_, owner_.host()};
}

std::shared_ptr<worker_process> isolated_device::start(std::string& why) {
  try {
    auto made = owner_.processes().start(owner_.program(), owner_.host().memory());
    control_message hello{};
    hello.kind = control_message::kinds::hello;
    hello.device = ordinal_;
    hello.is_gpu = owner_.base().kind == device_kind::gpu ? 1 : 0;
    hello.owner = ::getpid();
    control_answer const answer = made->ask(hello);
    if (answer.status == CUDA_SUCCESS) { return made; }
    why = "the worker process refuses to start: " + std::string{answer.text};
    made->lose(CUDA_ERROR_LAUNCH_FAILED, why);
  } catch (std::exception const& failed) { why = failed.what(); }
  return nullptr;
}

std::string isolated_device::install(replica& next) {
  std::lock_guard const no_changes{host_changes_};
  if (std::string why = bring_up_to_date(next, parts()); !why.empty()) { return why; }
  shared_here_.clear();
  for (std::uint32_t const each : next.shared_objects()) { shared_here_.insert(each); }
  std::lock_guard const lock{worker_mutex_};
  worker_ = next.worker();
  worker_->serve(lost_);
  generation_.fetch_add(1, std::memory_order_release);  // pairs with `generation`
  return {};
}

CUresult isolated_device::tell_of_host_memory(control_message const& what) {
  std::lock_guard const lock{host_changes_};
  if (generation() == 0 || lost() != CUDA_SUCCESS) { return CUDA_SUCCESS; }
  CUresult const answer = ask(what);
  return lost() == CUDA_SUCCESS ? answer : CUDA_SUCCESS;
}

std::shared_ptr<worker_process> isolated_device::worker(std::uint32_t& generation) {
  std::lock_guard const lock{worker_mutex_};
  generation = generation_.load(std::memory_order_relaxed);
  return worker_;
}

CUresult isolated_device::ensure_worker() {
  if (generation() != 0 && lost() == CUDA_SUCCESS) { return CUDA_SUCCESS; }
  std::lock_guard const spares{spare_mutex_};
  std::lock_guard const lock{mutex_};
  if (generation() != 0) {
    if (lost() == CUDA_SUCCESS || has_context(objects_)) { return lost(); }
    // The worker ended while no runtime used the device, so nobody else replaces it.
    return replace() ? CUDA_SUCCESS : CUDA_ERROR_SYSTEM_NOT_READY;
  }
  auto made = start(why_not_);
  if (made == nullptr) { return CUDA_ERROR_SYSTEM_NOT_READY; }
  replica first{made};
  why_not_ = bring_up_to_date(first, parts());
  if (why_not_.empty()) { why_not_ = install(first); }
  return why_not_.empty() ? CUDA_SUCCESS : CUDA_ERROR_SYSTEM_NOT_READY;
}

std::string isolated_device::reason() {
  if (lost() == CUDA_SUCCESS) {
    std::lock_guard const lock{mutex_};
    return why_not_;
  }
  std::uint32_t unused = 0;
  std::string text = worker(unused)->reason();
  std::lock_guard const lock{mutex_};
  return why_not_.empty() ? text : text + "; " + why_not_;
}

void isolated_device::lose(CUresult status, std::string const& why) noexcept {
  std::uint32_t unused = 0;
  if (auto const now = worker(unused)) { now->lose(static_cast<int>(status), why); }
}

bool isolated_device::replace() {
  std::lock_guard const spares{spare_mutex_};
  std::lock_guard const lock{mutex_};
  if (lost() == CUDA_SUCCESS) { return true; }
  std::uint32_t unused = 0;
  worker(unused)->wait_for_end_of_work(owner_.base().kind);
  why_not_.clear();
  // Out of memory right after the end of a process is normal: its memory comes back in the
  // background. So try more than once. A spare may also have ended.
  for (int attempt = 0; attempt < 4; ++attempt) {
    std::optional<replica> next = std::exchange(spare_, std::nullopt);
    if (!next) {
      auto made = start(why_not_);
      if (made == nullptr) { continue; }
      next.emplace(std::move(made));
    }
    why_not_ = bring_up_to_date(*next, parts());
    if (why_not_.empty()) { why_not_ = next->complete_events(objects_); }
    if (why_not_.empty()) { why_not_ = install(*next); }
    if (!why_not_.empty()) {
      next->worker()->lose(CUDA_ERROR_LAUNCH_FAILED, why_not_);
      continue;
    }
    posted_.drop();  // the journal has them
    return true;
  }
  return false;
}

void isolated_device::tend_spare() {
  if (generation() == 0) { return; }
  std::unique_lock const spares{spare_mutex_, std::try_to_lock};
  if (!spares.owns_lock()) { return; }
  if (spare_ && spare_->worker()->lost().load() != 0) { spare_.reset(); }
  if (!spare_) {
    std::string why;
    auto made = start(why);
    if (made == nullptr) { return; }  // try again later
    spare_.emplace(std::move(made));
  }
  if (!wants_spare_.load()) { return; }  // it gets a context when it is needed
  auto todo = [&]() -> std::optional<replica::plan> {
    std::lock_guard const lock{mutex_};
    std::lock_guard const inner{owner_.shared_mutex()};
    if (lost() != CUDA_SUCCESS || !spare_->is_behind(parts())) { return std::nullopt; }
    return spare_->prepare(parts());
  }();
  if (!todo) { return; }
  if (!spare_->apply(std::move(*todo)).empty()) { spare_.reset(); }
}

bool isolated_device::has_spare() {
  std::lock_guard const spares{spare_mutex_};
  return spare_.has_value() && spare_->worker()->lost().load() == 0;
}

CUresult isolated_device::ensure_shared(std::uint32_t index) {
  if (index < first_shared_object || index >= max_objects || shared_here_.count(index) != 0) {
    return CUDA_SUCCESS;
  }
  record made;
  {
    std::lock_guard const lock{owner_.shared_mutex()};
    journal_entry const* const found = owner_.shared().find(index);
    if (found == nullptr) { return CUDA_ERROR_INVALID_HANDLE; }
    made = found->made;
  }
  for (std::uint32_t const each : made.uses) {
    if (CUresult const status = ensure_shared(each); status != CUDA_SUCCESS) { return status; }
  }
  std::uint32_t unused = 0;
  auto const now = worker(unused);
  if (now == nullptr) { return CUDA_ERROR_SYSTEM_NOT_READY; }
  CUresult const status = direct_caller{*now}.send(made.request);
  if (status == CUDA_SUCCESS) { shared_here_.insert(index); }
  return status;
}

CUresult isolated_device::ask(control_message const& what, int passed) {
  std::uint32_t unused = 0;
  auto const now = worker(unused);
  return now != nullptr ? static_cast<CUresult>(now->ask(what, passed).status) : CUDA_SUCCESS;
}

}  // namespace flotilla::isolated
