// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/cluster/share_devices.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <flotilla/error/error.hpp>

#include "base/log.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

using seen_gpus = std::vector<std::vector<std::string>>;
/// The driver's ordinals of the GPUs of each rank.
using shares = std::vector<std::vector<std::size_t>>;

struct division {
  shares gpus;
  bool is_needed = false;   // several ranks see the same GPU
  bool is_crowded = false;  // several ranks use the same GPU
};

division divide(seen_gpus const& seen) {
  division made;
  made.gpus.resize(seen.size());
  std::map<std::string, std::vector<std::size_t>> ranks_of;  // that see a GPU
  for (std::size_t rank = 0; rank < seen.size(); ++rank) {
    for (std::string const& gpu : seen[rank]) { ranks_of[gpu].push_back(rank); }
  }
  // In the order of the first rank that sees a GPU, so that neighbours go to ranks in turn.
  std::map<std::string, std::size_t> users;
  for (std::vector<std::string> const& list : seen) {
    for (std::string const& gpu : list) {
      std::vector<std::size_t> const& candidates = ranks_of[gpu];
      made.is_needed |= candidates.size() > 1;
      if (!users.try_emplace(gpu, 1).second) { continue; }
      std::size_t const chosen = *std::min_element(
          candidates.begin(), candidates.end(), [&](std::size_t left, std::size_t right) {
            return made.gpus[left].size() < made.gpus[right].size();
          });
      auto const at = std::find(seen[chosen].begin(), seen[chosen].end(), gpu);
      made.gpus[chosen].push_back(static_cast<std::size_t>(at - seen[chosen].begin()));
    }
  }
  for (std::size_t rank = 0; rank < seen.size(); ++rank) {
    std::vector<std::string> const& list = seen[rank];
    if (list.empty() || !made.gpus[rank].empty()) { continue; }
    auto const least = std::min_element(list.begin(), list.end(),
                                        [&](std::string const& left, std::string const& right) {
                                          return users[left] < users[right];
                                        });
    ++users[*least];
    made.is_crowded = true;
    made.gpus[rank].push_back(static_cast<std::size_t>(least - list.begin()));
  }
  return made;
}

std::string text_of(std::vector<std::size_t> const& gpus) {
  std::string made;
  for (std::size_t const gpu : gpus) {
    made += (made.empty() ? "cuda:" : ",") + std::to_string(gpu);
  }
  return made;
}

void report(division const& all) {
  if (!all.is_needed) { return; }
  std::string text = "the ranks of this machine share its GPUs:";
  for (std::size_t rank = 0; rank < all.gpus.size(); ++rank) {
    std::string const gpus = text_of(all.gpus[rank]);
    text +=
        (rank == 0 ? " " : "; ") + std::to_string(rank) + " has " + (gpus.empty() ? "none" : gpus);
  }
  text += all.is_crowded ? ". Ranks that share a GPU take turns on it; start at most one rank for "
                           "each GPU, or one for the machine"
                         : ". One rank for each machine can move data between its GPUs directly";
  base::log(all.is_crowded ? log_level::warning : log_level::info, text);
}

}  // namespace

std::string share_devices(std::vector<std::vector<std::string>> const& seen, int local_rank) {
  if (local_rank < 0 || static_cast<std::size_t>(local_rank) >= seen.size()) {
    throw invalid_argument("share_devices: the local rank is " + std::to_string(local_rank) +
                           ", but there are lists for " + std::to_string(seen.size()) + " ranks");
  }
  division const all = divide(seen);
  if (local_rank == 0) { report(all); }
  return text_of(all.gpus[static_cast<std::size_t>(local_rank)]);
}

}  // namespace v0_1
}  // namespace flotilla
