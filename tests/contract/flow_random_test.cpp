// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: random tasks over random data compute the same as a serial program.

#include <random>

#include "contract/flow_fixture.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class FlowRandom : public flow_test {
 protected:
  static constexpr std::size_t count = 6;  // number of data

  /// Data of the flow, and what they must contain.
  struct pair {
    word_data flow;
    words serial;
  };

  pair make(std::mt19937& random) {
    std::size_t const size = 1 + random() % 3 * 16;
    auto const salt = static_cast<std::uint32_t>(random());
    pair made{word_data{fl(), {size}, "random data"}, words(size)};
    view<std::uint32_t> const first = made.flow.host_for_update();
    for (std::size_t i = 0; i < size; ++i) {
      first(i) = made.serial[i] = salt + static_cast<std::uint32_t>(i);
    }
    return made;
  }
  task_options somewhere(std::mt19937& random) {
    task_options options;
    if (random() % 2 != 0) { options.device = ordinals()[random() % ordinals().size()]; }
    return options;
  }
  void one_step(std::vector<pair>& all, std::mt19937& random);
  void check(pair& which) { EXPECT_EQ(on_host(which.flow), which.serial); }
};
FLOTILLA_CONTRACT(FlowRandom);

void FlowRandom::one_step(std::vector<pair>& all, std::mt19937& random) {
  std::shuffle(all.begin(), all.end(), random);
  pair &a = all[0], &b = all[1], &c = all[2];
  auto const salt = static_cast<std::uint32_t>(random());
  std::size_t const size = a.serial.size();
  bool const fits = size <= b.serial.size() && size <= c.serial.size();
  switch (random() % 16) {
    case 0: check(a); break;
    case 1: {
      view<std::uint32_t> const changed = a.flow.host_for_update();
      changed(size / 2) = a.serial[size / 2] = salt;
      break;
    }
    case 2: a.flow.prefetch_to(ordinals()[random() % ordinals().size()]); break;
    case 3: a.flow.prefetch_to_host(); break;
    case 4: a = make(random); break;
    case 5:
    case 6:
    case 7:
      fl().post_host(uses(update(a.flow)), [salt](view<std::uint32_t> on_host) {
        stir_on_host(on_host.data, on_host.size(), salt);
      });
      stir_on_host(a.serial.data(), size, salt);
      break;
    case 8:
    case 9:
    case 10:
      fl().post(stir(a.flow, salt), somewhere(random));
      stir_on_host(a.serial.data(), size, salt);
      break;
    default:
      if (!fits) { break; }
      fl().post(mix(a.flow, b.flow, c.flow, salt), somewhere(random));
      mix_on_host(a.serial.data(), b.serial.data(), c.serial.data(), size, salt);
  }
}

// stress
TEST_P(FlowRandom, SameAsASerialProgram) {
  for (unsigned seed = 0; seed < scaled(6); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    std::vector<pair> all;
    for (std::size_t i = 0; i < count; ++i) { all.push_back(make(random)); }
    for (int step = 0; step < 150; ++step) { one_step(all, random); }
    for (pair& each : all) { check(each); }
    if (HasFailure()) { return; }
  }
}

}  // namespace
}  // namespace flotilla::test
