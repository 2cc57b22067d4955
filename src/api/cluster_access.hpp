// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives the library access to the state of a cluster.

#include <memory>

#include <flotilla/cluster/cluster.hpp>

#include "cluster/cluster_state.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

struct cluster_access {
  static std::shared_ptr<cluster_ranks::cluster_state> const& state(cluster const& of) noexcept {
    return of.state_;
  }
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
