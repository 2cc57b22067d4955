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

namespace {

cluster_ranks::cluster_state& checked(std::shared_ptr<cluster_ranks::cluster_state> const& state) {
  if (state == nullptr) { throw invalid_argument("the cluster was moved from"); }
  return *state;
}

}  // namespace

int cluster::rank() const { return checked(state_).rank(); }
int cluster::ranks() const { return checked(state_).ranks(); }
void cluster::fail(std::string_view why) noexcept {
  if (state_ != nullptr) { state_->fail(why); }
}
void cluster::wait_idle() { checked(state_).wait_idle(); }
void cluster::finish() { checked(state_).finish(); }
cluster_counters cluster::counters() const { return checked(state_).messages().counters(); }

void detail::wait_for_end(cluster& which) {
  std::shared_ptr<cluster_ranks::cluster_state> const& state = cluster_access::state(which);
  try {
    checked(state).finish();
  } catch (rank_failed const&) {}  // the wait below is for the end of the other ranks, too
  if (state->ranks() > 1) { state->wait_for_ranks(); }
}

cluster::exclusion::exclusion(cluster const& of) : of_{checked(of.state_)} {
  of_.messages().lease().exclude();
}
cluster::exclusion::~exclusion() { of_.messages().lease().include(); }

}  // namespace v0_1
}  // namespace flotilla
