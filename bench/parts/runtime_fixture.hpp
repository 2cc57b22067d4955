#pragma once
// flotilla as the rows see it: a runtime, an empty kernel, and producers.

#include <cstdint>
#include <string>

#include <flotilla/flotilla.hpp>

#include "crew.hpp"
#include "rig.hpp"

namespace flotilla::bench {

class fleet final : public rig {
 public:
  struct shape {
    int devices = 1;
    int workers = 1;
    int producers = 1;
    flotilla::schedule schedule = flotilla::schedule::automatic;
    std::string where{};  // as runtime_options::devices; empty: the first `devices` of the machine
    bool operator==(shape const&) const = default;
  };
  explicit fleet(shape const& wanted);

  /// Where the i-th task of a producer goes when it names its device: producers begin at different
  /// ones.
  [[nodiscard]] device_ordinal device_of(int producer, std::int64_t i) const noexcept {
    return device_ordinal{static_cast<unsigned>((producer + i) % made_as.devices)};
  }
  /// Over all devices.
  [[nodiscard]] device_counters counters() const;

  shape const made_as;
  runtime rt;
  program kernels;  // flotilla_kernels
  launch null;      // the empty kernel, one block of 32 threads
  crew producers;
};

}  // namespace flotilla::bench
