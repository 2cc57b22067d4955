// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <unistd.h>

#include <flotilla/error/error.hpp>

#include "errors.hpp"

namespace flotilla::python {

namespace {

/// The open clusters, in the order in which they were made. Never destroyed, because clusters may
/// live until the process ends.
std::vector<std::shared_ptr<cluster_core>>& open_clusters() {
  static auto* const made = new std::vector<std::shared_ptr<cluster_core>>;
  return *made;
}

/// @param of  Null: the clusters of all runtimes.
std::vector<std::shared_ptr<cluster_core>> clusters_of(runtime_core const* of) {
  std::vector<std::shared_ptr<cluster_core>> found;
  for (std::shared_ptr<cluster_core> const& each : open_clusters()) {
    if (of == nullptr || each->owner().get() == of) { found.push_back(each); }
  }
  return found;
}

/// Duplicates the communicator. The caller must not hold the GIL.
transport connect(std::uintptr_t function, int communicator) {
  auto* const fill = reinterpret_cast<int (*)(int, transport*, char*, std::size_t)>(function);
  transport made;
  char text[1024] = "";
  int const status = fill(communicator, &made, text, sizeof text);
  if (status == 1) { throw invalid_argument(text); }
  if (status != 0) { throw error(text); }
  return made;
}

/// mpi4py calls MPI_Finalize in such a function too. Python calls the last one first.
void end_process_before_finalize() {
  static bool const registered = Py_AtExit([] {
                                   std::fflush(nullptr);
                                   ::_exit(130);  // what shells report for SIGINT
                                 }) == 0;
  static_cast<void>(registered);
}

}  // namespace

cluster_core::cluster_core(core_ptr owner, nb::handle communicator) : owner_{std::move(owner)} {
  runtime& rt = owner_->usable();
  nb::object const via = nb::module_::import_("flotilla._mpi").attr("connect")(communicator);
  auto const function = nb::cast<std::uintptr_t>(via[0]);
  int const number = nb::cast<int>(via[1]);
  owner_->without_gil([&] { held_ = std::make_unique<cluster>(rt, connect(function, number)); });
  rank_ = held_->rank();
  ranks_ = held_->ranks();
}

void cluster_core::check_open() const {
  static_cast<void>(owner_->usable());
  if (is_closed_) { throw invalid_handle("the cluster is closed"); }
}

void cluster_core::fail(std::string const& why) noexcept {
  if (held_ == nullptr) { return; }
  busy_call const busy{calls_};
  nb::gil_scoped_release const released;
  held_->fail(why);
}

void cluster_core::close() {
  if (held_ == nullptr && !is_closing_) { return; }
  if (owner_->is_in_child()) {
    throw used_after_fork("close(): the parent of this process made the cluster");
  }
  if (inside_function::is_active()) {
    throw would_deadlock(
        "close(): the caller is inside a function of a task, which must return before the cluster "
        "can end");
  }
  std::shared_ptr<cluster_core> const self = shared_from_this();
  is_closed_ = true;
  interruptible_call waiting;
  while (is_closing_) { waiting.sleep(); }
  if (held_ == nullptr) { return; }
  closing_scope const closing{is_closing_};
  try {
    owner_->without_gil([this] { detail::wait_for_end(*held_); });
  } catch (would_deadlock const&) {  // inside `exclusive`
    is_closed_ = false;
    throw;
  } catch (poisoned const&) {  // the destructor tells the other ranks
  }
  while (calls_ != 0) { waiting.sleep(); }
  owner_->note_wait();
  std::unique_ptr<cluster> ending = std::move(held_);
  {
    nb::gil_scoped_release const released;
    ending.reset();
  }
  // Last: until here, the end of the runtime finds this cluster, and waits.
  auto& all = open_clusters();
  all.erase(std::remove(all.begin(), all.end(), self), all.end());
}

void cluster_core::abandon() noexcept {
  if (held_ == nullptr || owner_->is_in_child()) { return; }
  fail("its program has ended without waiting for tasks");
  static_cast<void>(held_.release());
  end_process_before_finalize();
}

std::shared_ptr<cluster_core> open_cluster(core_ptr owner, nb::handle communicator) {
  return open_clusters().emplace_back(
      std::make_shared<cluster_core>(std::move(owner), communicator));
}

void close_clusters(runtime_core const& of) {
  for (std::shared_ptr<cluster_core> const& each : clusters_of(&of)) { each->close(); }
}

void fail_clusters(runtime_core const* of, std::string const& why) noexcept {
  for (std::shared_ptr<cluster_core> const& each : clusters_of(of)) { each->fail(why); }
}

void abandon_clusters(runtime_core const& of) noexcept {
  for (std::shared_ptr<cluster_core> const& each : clusters_of(&of)) { each->abandon(); }
}

}  // namespace flotilla::python
