// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "plain_peers.hpp"

#include "bench_suite.hpp"
#include "peer_contexts.hpp"

namespace flotilla::bench {

plain_driver& peer_driver() {
  need_devices(2);
  std::string const why = why_no_peers();
  if (!why.empty()) { throw not_available{"needs two devices that are peers: " + why}; }
  auto& plain = get_fixture<plain_driver>({.devices = 2, .schedule = wait_policy::spin});
  auto const& targets = plain.targets(0);
  enable_peers({targets[0].context, targets[1].context});
  return plain;
}

}  // namespace flotilla::bench
