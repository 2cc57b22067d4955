// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/isolated_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/log.hpp"
#include "driver/check.hpp"
#include "isolation/channel/system_error.hpp"
#include "isolation/owner/direct_caller.hpp"
#include "isolation/owner/owner.hpp"

namespace flotilla::isolated {

namespace {

// A spare starts in about 200 ms on a GPU, so waiting for it is faster than to start another one.
constexpr std::chrono::milliseconds spare_wait{500};
// A process that stands by and does not answer within this time hangs. Another one is faster then.
constexpr std::chrono::milliseconds ping_limit{1000};
// No attempt to replace a worker begins later than this after the first one. On a busy machine,
// some attempts may take longer than that.
constexpr std::chrono::milliseconds retry_limit{2000};
constexpr int min_attempts = 4;
constexpr std::chrono::milliseconds min_pause{5};
constexpr std::chrono::milliseconds max_pause{200};

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

/// Starts a process and initializes its driver. Null: see `why`.
/// @param tended  Gets the process before that, if it is a spare.
std::shared_ptr<worker_process> start(int ordinal, std::string& why, spare_slot* tended = nullptr) {
  owner& all = owner::get();
  try {
    auto made = all.processes().start(all.program(), all.host().memory());
    if (tended != nullptr) { tended->tend(made); }
    control_message hello{};
    hello.kind = control_message::kinds::hello;
    hello.device = ordinal;
    hello.is_gpu = all.base().kind == device_kind::gpu ? 1 : 0;
    hello.owner = ::getpid();
    control_answer const answer = made->ask(hello, -1, worker_process::start_limit);
    if (answer.status == CUDA_SUCCESS) { return made; }
    why = "the worker process refuses to start: " + std::string{answer.text};
    made->lose(CUDA_ERROR_LAUNCH_FAILED, why);
  } catch (std::exception const& failed) { why = failed.what(); }
  return nullptr;
}

/// Whether the process answers. One that does not hangs.
bool answers(worker_process& one) {
  control_message ping{};
  ping.kind = control_message::kinds::ping;
  return one.ask(ping, -1, ping_limit).status == CUDA_SUCCESS;
}

}  // namespace

isolated_device::isolated_device(owner& all, int ordinal)
    : owner_(all), ordinal_(ordinal), objects_(ordinal, 0), memory_(all.base(), ordinal) {
  // Nothing else of this process may be at the addresses of the device.
  void* const made =
      ::mmap(reinterpret_cast<void*>(device_start(ordinal)), device_bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (made == MAP_FAILED) {
    throw_no_addresses("the memory of isolated device " + std::to_string(ordinal), device_bytes);
  }
}

replicated isolated_device::parts() noexcept {
  return {objects_, owner_.shared(), memory_, owner_.host()};
}

std::string isolated_device::install(replica& next) {
  std::lock_guard const no_changes{host_changes_};
  if (std::string why = bring_up_to_date(next, parts()); !why.empty()) { return why; }
  shared_here_.clear();
  for (std::uint32_t const each : next.shared_objects()) { shared_here_.insert(each); }
  memory_.reuse_abandoned();  // the addresses that only the last worker had mapped
  std::lock_guard const lock{worker_mutex_};
  std::string why = worker_ != nullptr ? worker_->reason() : std::string{};
  auto const status = lost();
  worker_ = next.worker();
  // In this order, so that nobody finds a device that is not lost before its number has changed.
  workers_.serve_next(status, std::move(why));
  worker_->serve(lost_);
  return {};
}

CUresult isolated_device::tell_of_host_memory(control_message const& what) {
  std::lock_guard const lock{host_changes_};
  if (workers_.serving() == 0 || lost() != CUDA_SUCCESS) { return CUDA_SUCCESS; }
  CUresult const answer = ask(what);
  return lost() == CUDA_SUCCESS ? answer : CUDA_SUCCESS;
}

std::shared_ptr<worker_process> isolated_device::worker(std::uint32_t& generation) {
  std::lock_guard const lock{worker_mutex_};
  generation = workers_.serving();
  return worker_;
}

CUresult isolated_device::ensure_worker() {
  if (workers_.serving() != 0 && lost() == CUDA_SUCCESS) { return CUDA_SUCCESS; }
  std::optional<replica> spare = spare_.take(spare_wait);
  std::lock_guard const lock{mutex_};
  if (workers_.serving() != 0) {
    if (lost() == CUDA_SUCCESS || has_context(objects_)) {
      spare_.put_back(std::move(spare));
      return lost();
    }
    // The worker ended while no runtime used the device, so nobody else replaces it.
    return replace_worker(std::move(spare)) ? CUDA_SUCCESS : CUDA_ERROR_SYSTEM_NOT_READY;
  }
  auto made = start(ordinal_, why_not_);
  if (made == nullptr) { return CUDA_ERROR_SYSTEM_NOT_READY; }
  replica first{made};
  why_not_ = bring_up_to_date(first, parts());
  if (why_not_.empty()) { why_not_ = install(first); }
  return why_not_.empty() ? CUDA_SUCCESS : CUDA_ERROR_SYSTEM_NOT_READY;
}

std::string isolated_device::reason(std::uint32_t context) {
  std::lock_guard const lock{mutex_};
  if (lost() == CUDA_SUCCESS) {
    return workers_.missed(context) == CUDA_SUCCESS ? why_not_ : workers_.last_reason();
  }
  std::uint32_t unused = 0;
  std::string text = worker(unused)->reason();
  return why_not_.empty() ? text : text + "; " + why_not_;
}

bool isolated_device::replace(std::uint32_t context) {
  std::optional<replica> spare;
  if (lost() != CUDA_SUCCESS) { spare = spare_.take(spare_wait); }
  std::lock_guard const lock{mutex_};
  if (lost() == CUDA_SUCCESS) {
    spare_.put_back(std::move(spare));  // another runtime has replaced the worker
  } else if (!replace_worker(std::move(spare))) {
    return false;
  }
  if (context != 0) {
    workers_.learn(context);
    return true;
  }
  for (auto const& [index, one] : objects_.entries()) {
    if (one.kind == object_kind::context) { workers_.learn(index); }
  }
  return true;
}

bool isolated_device::replace_worker(std::optional<replica> next) {
  std::uint32_t unused = 0;
  worker(unused)->wait_for_end_of_work(owner_.base().kind);
  why_not_.clear();
  if (next && !answers(*next->worker())) { next.reset(); }
  // Out of memory right after the end of a process is normal: its memory comes back in the
  // background. So try more than once, with longer and longer pauses. A spare may also have ended.
  using clock = std::chrono::steady_clock;
  auto const begin = clock::now();
  auto pause = min_pause;
  for (int attempt = 1;; ++attempt, pause = std::min(2 * pause, max_pause)) {
    try {
      if (!next) {
        if (auto made = start(ordinal_, why_not_)) { next.emplace(std::move(made)); }
      }
      if (next) { why_not_ = bring_up_to_date(*next, parts()); }
      if (next && why_not_.empty()) { why_not_ = next->complete_events(objects_); }
      if (next && why_not_.empty()) { why_not_ = install(*next); }
    } catch (std::bad_alloc const&) { why_not_ = "no host memory"; }  // short: it needs none
    if (next && why_not_.empty()) {
      posted_.drop();  // the journal has them
      return true;
    }
    if (next) { next->worker()->lose(CUDA_ERROR_LAUNCH_FAILED, why_not_); }
    next.reset();
    auto const time = clock::now() - begin + pause;
    bool const is_enough = time > retry_limit && attempt >= min_attempts;
    if (is_enough || time > worker_process::start_limit) { return false; }
    std::this_thread::sleep_for(pause);
  }
}

void isolated_device::tend_spare() noexcept {
  std::optional<replica> spare;
  if (workers_.serving() == 0 || !spare_.begin_tending(spare)) { return; }
  try {
    std::string why;
    if (!spare) {
      // If the start fails, the keeper tries again later.
      if (auto made = start(ordinal_, why, &spare_)) { spare.emplace(std::move(made)); }
    }
    // A spare that need not be warm gets a context when it is needed.
    std::optional<replica::plan> todo;
    if (spare && wants_spare_.load()) {
      std::lock_guard const lock{mutex_};
      std::lock_guard const inner{owner_.shared_mutex()};
      if (lost() == CUDA_SUCCESS && spare->is_behind(parts())) { todo = spare->prepare(parts()); }
    }
    if (todo && !spare->apply(std::move(*todo)).empty()) { spare.reset(); }
  } catch (std::bad_alloc const&) { spare.reset(); }
  spare_.end_tending(std::move(spare));
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
  CUresult const status = direct_caller{*now, worker_process::no_limit}.send(made.request);
  if (status == CUDA_SUCCESS) { shared_here_.insert(index); }
  return status;
}

CUresult isolated_device::ask(control_message const& what, int passed) {
  std::uint32_t unused = 0;
  auto const now = worker(unused);
  if (now == nullptr) { return CUDA_SUCCESS; }
  control_answer const answer = now->ask(what, passed);
  // The status says too little: the text names the system call and the limit.
  if (answer.status == CUDA_ERROR_OPERATING_SYSTEM && answer.text[0] != '\0') {
    base::log_format(log_level::error, "isolated device %d: %s", ordinal_, answer.text);
  }
  return static_cast<CUresult>(answer.status);
}

}  // namespace flotilla::isolated
