// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The variants of a run. All variants of flotilla share one runtime, and all controls share one
// context for each device.

#include <memory>
#include <string>
#include <vector>

#include "variant.hpp"

namespace flotilla::bench {

class variant_set {
 public:
  /// @param ids      Ids of variants, in any order. Variants are made in the order of
  ///                 all_variants().
  /// @param devices  The number of devices over which the points are distributed: 1 or 2.
  /// @param workers  See runtime_options::workers.
  /// @throws std::runtime_error  The machine has too few devices, or they are not peers.
  variant_set(std::vector<std::string> const& ids, int devices, int workers);
  ~variant_set();

  struct member {
    std::string id;
    std::unique_ptr<variant> how;
  };
  [[nodiscard]] std::vector<member> const& members() const noexcept { return members_; }
  /// Returns the variant with this id, or null.
  [[nodiscard]] member const* find(std::string const& id) const noexcept;

 private:
  std::unique_ptr<flotilla_devices> flotilla_;
  std::unique_ptr<driver_devices> driver_;
  std::vector<member> members_;  // declared last, because variants use the devices
};

}  // namespace flotilla::bench
