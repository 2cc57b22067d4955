// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/cluster/cluster.hpp>

#include <exception>
#include <memory>
#include <mutex>

#include <flotilla/error/error.hpp>

#include "api/cluster_access.hpp"

namespace flotilla {
inline namespace v0_1 {

cluster::cluster(runtime& owner, transport const& via)
    : state_{std::make_shared<cluster_ranks::cluster_state>(owner, via)},
      exceptions_(std::uncaught_exceptions()) {}

cluster::~cluster() {
  if (state_ == nullptr) { return; }
  if (std::uncaught_exceptions() > exceptions_) { state_->fail("an exception ended its cluster"); }
  state_->end();
}

int cluster::rank() const noexcept { return state_->rank(); }
int cluster::ranks() const noexcept { return state_->ranks(); }
void cluster::fail(std::string_view why) noexcept { state_->fail(why); }
void cluster::wait_idle() { state_->wait_idle(); }
void cluster::finish() { state_->finish(); }
cluster_counters cluster::counters() const noexcept { return state_->messages().counters(); }

cluster::exclusion::exclusion(cluster const& of) : of_{*of.state_} {
  of_.messages().lease().exclude();
}
cluster::exclusion::~exclusion() { of_.messages().lease().include(); }

}  // namespace v0_1
}  // namespace flotilla
