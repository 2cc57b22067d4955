// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <unistd.h>

#include "cluster.hpp"
#include "deferred.hpp"
#include "log.hpp"
#include "scopes.hpp"

namespace flotilla::python {

namespace {

/// All cores of the process, in the order in which they were made: all ranks must close their
/// clusters in the same order. Never destroyed, because cores may live until the process ends.
std::vector<runtime_core*>& all_cores() {
  static auto* const made = new std::vector<runtime_core*>;
  return *made;
}

bool gpus_of(runtime const& of) noexcept {
  auto const all = of.devices();
  return !all.empty() && all.front().kind == device_kind::gpu;
}

std::vector<bool> isolated_devices_of(runtime const& of) {
  std::vector<bool> made;
  for (device const& each : of.devices()) {
    auto const all = of.report_settings(each.ordinal).outcomes;
    made.push_back(std::any_of(all.begin(), all.end(), [](setting_outcome const& one) {
      return one.name == "isolation" && one.granted == "process";
    }));
  }
  return made;
}

/// Makes `exit` end the process at once, without the functions that were registered before. They
/// would wait for kernels: so do the CPU devices and the driver of GPUs.
void end_process_at_exit() noexcept {
  static int const registered = ::on_exit(
      [](int status, void* /*unused*/) {
        std::fflush(nullptr);
        ::_exit(status);
      },
      nullptr);
  static_cast<void>(registered);
}

}  // namespace

runtime_core::runtime_core(std::unique_ptr<runtime> made, bool is_single_threaded,
                           error_handler on_error)
    : runtime_{std::move(made)},
      is_single_threaded_{is_single_threaded},
      has_gpus_{gpus_of(*runtime_)},
      isolated_{isolated_devices_of(*runtime_)},
      process_{::getpid()},
      on_error_{std::move(on_error)} {
  all_cores().push_back(this);
}

runtime_core::~runtime_core() {
  std::erase(all_cores(), this);
  if (runtime_ != nullptr && !is_freed_ && !is_in_child()) {
    runtime_->close();
    if (wait_in_destructor([this] { runtime_->wait_idle(); })) {
      destroy_late(late_.size());
    } else {
      abandon();
    }
  }
  end();
}

void runtime_core::refuse_closed() { throw flotilla::runtime_closed("the runtime is closed"); }

bool runtime_core::is_in_child() const noexcept { return ::getpid() != process_; }

template <class Visit>
void runtime_core::for_each_part(Visit const& visit) noexcept {
  // A copy, because freed memory may release Python objects whose destructors remove other parts.
  std::vector<owned_part*> const all(parts_.begin(), parts_.end());
  for (owned_part* const each : all) {
    if (parts_.count(each) != 0 && visit(*each)) { parts_.erase(each); }
  }
}

void runtime_core::close() {
  if (is_in_child()) {
    throw used_after_fork("close(): the parent of this process made the runtime");
  }
  if (inside_function::is_active()) {
    throw would_deadlock(
        "close(): the caller is inside a function of a task, which must return before the runtime "
        "can end");
  }
  core_ptr const self = shared_from_this();
  interruptible_call waiting{give_up_, &was_interrupted_};
  while (is_closing_) { waiting.sleep(); }
  if (is_freed_) { return; }
  is_closed_ = true;
  closing_scope const closing{is_closing_};
  close_clusters(*this);  // first, because tasks of other ranks may need tasks of this one
  destroy_late(late_.size());
  for_each_part([](owned_part& each) {
    each.begin_end();
    return false;
  });
  runtime_->close();
  without_gil([this] { runtime_->wait_idle(); });
  while (calls_ != 0) { waiting.sleep(); }
  destroy_late(late_.size());
  for_each_part([](owned_part& each) { return each.free(); });
  // Another thread may have taken a part before, and end it now.
  while (calls_ != 0) { waiting.sleep(); }
  is_freed_ = true;
  release_collected();  // it may remove the last part
  if (parts_.empty()) { end(); }
}

void runtime_core::close_all() noexcept {
  std::vector<core_ptr> open;
  for (runtime_core* const each : all_cores()) {
    if (core_ptr held = each->weak_from_this().lock()) { open.push_back(std::move(held)); }
  }
  bool was_interrupted = false;
  for (core_ptr const& each : open) {
    if (!each->is_in_child()) { each->close_at_exit(was_interrupted); }
  }
}

void runtime_core::close_at_exit(bool& was_interrupted) noexcept {
  // After Ctrl-C, a person wants the process to end. So other tasks have only a moment to end.
  constexpr std::chrono::seconds moment{1};
  if (was_interrupted || was_interrupted_) {
    give_up_ = interruptible_call::clock::now() + (was_interrupted ? moment / 1000 : moment);
  }
  try {
    return close();
  } catch (nb::python_error const&) { was_interrupted = true; } catch (std::exception const&) {
    if (!give_up_) { return; }  // the interpreter ends anyway
  }
  write_error(
      "the program ends without waiting for tasks that have not ended, because their wait was "
      "interrupted");
  abandon();
}

void runtime_core::abandon() noexcept {
  end_process_at_exit();
  abandon_clusters(*this);
  is_freed_ = true;
  // Kernels may still use all of it.
  static_cast<void>(runtime_.release());
  for (std::unique_ptr<late_object>& each : late_) { static_cast<void>(each.release()); }
  for (std::unique_ptr<std::string const>& each : kept_) { static_cast<void>(each.release()); }
}

void runtime_core::destroy_late(std::size_t at_most) noexcept {
  if (inside_function::is_active()) { return; }
  // is_used and the destructors release the GIL, so that other threads come here too.
  for (; at_most != 0 && !late_.empty(); --at_most) {
    std::unique_ptr<late_object> next = std::move(late_.front());
    late_.pop_front();
    if (next->is_used()) { late_.push_back(std::move(next)); }
  }
}

void runtime_core::remove(owned_part& part) noexcept {
  parts_.erase(&part);
  if (is_freed_ && !is_closing_ && parts_.empty()) { end(); }
}

void runtime_core::end() noexcept {
  std::unique_ptr<runtime> ending = std::move(runtime_);
  if (ending == nullptr) { return; }
  is_closed_ = true;
  error_handler const unused = std::exchange(on_error_, nullptr);  // it may refer to this object
  if (is_in_child()) {
    // The destructor does nothing in a child. The object stays, so that parts of it stay valid.
    static_cast<void>(ending.release());
    return;
  }
  nb::gil_scoped_release const released;  // functions of tasks need the GIL to end
  ending.reset();
}

}  // namespace flotilla::python
