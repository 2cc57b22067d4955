// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: random tasks over random data compute the same as a serial program, also if the devices
// have memory for few of the data, and if driver calls are slow or fail.

#include <functional>
#include <random>

#include "contract/flow_random.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class FlowRandom : public flow_test {
 protected:
  static constexpr std::size_t max_size = 33;  // objects

  /// Data of the flow, and what they must contain.
  struct pair {
    word_data flow;
    words serial;
  };

  pair make(std::mt19937& random) {
    std::size_t const size = 1 + random() % 3 * (max_size / 2);
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
  /// Adds all other data to the first, in any order.
  void commute(std::vector<pair>& all, std::uint32_t salt, task_options const& where) {
    pair& sum = all[0];
    for (pair& each : std::span{all}.subspan(1)) {
      std::size_t const size = sum.serial.size();
      bool const added = size <= each.serial.size() && succeeds([&] {
                           fl().post(add_in_any_order(sum.flow, each.flow, salt), where);
                         });
      for (std::size_t i = 0; added && i < size; ++i) { sum.serial[i] += each.serial[i] * salt; }
    }
  }
  /// Repeats two tasks that need not be on one device: a = stir(a); b = mix(a, c). If a call can
  /// fail in the middle, only the second one, because its repetition does not matter.
  void repeat(pair& a, pair& b, pair& c, std::mt19937& random) {
    if (b.serial.size() > a.serial.size() || b.serial.size() > c.serial.size()) { return; }
    auto const salt = static_cast<std::uint32_t>(random());
    std::size_t const count = random() % 10;
    task_options const first = somewhere(random), second = somewhere(random);
    auto const iteration = [&] {
      if (!can_fail_) { fl().post(stir(a.flow, salt), first); }
      fl().post(mix(b.flow, a.flow, c.flow, salt), second);
    };
    while (!succeeds([&] { fl().repeat(count, iteration); })) {}
    for (std::size_t i = 0; i < count; ++i) {
      if (!can_fail_) { stir_on_host(a.serial.data(), a.serial.size(), salt); }
      mix_on_host(b.serial.data(), a.serial.data(), c.serial.data(), b.serial.size(), salt);
    }
  }
  void check(pair& which) { EXPECT_EQ(on_host(which.flow), which.serial); }
  /// Runs `steps` random steps over `count` data, and compares all data with a serial program.
  void run(unsigned seed, std::size_t count, int steps,
           std::function<void(std::mt19937&)> disturb) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    std::vector<pair> all;
    for (std::size_t i = 0; i < count; ++i) { all.push_back(make(random)); }
    for (int step = 0; step < steps; ++step) {
      disturb(random);
      one_step(all, random);
    }
    for (pair& each : all) {
      while (!succeeds([&] { check(each); })) {}
    }
  }
  void use(flow_options const& options) { little_.emplace(rt(), options); }
  [[nodiscard]] flow& fl() { return little_ ? *little_ : flow_test::fl(); }
  void TearDown() override {
    little_.reset();
    flow_test::TearDown();
  }

 protected:
  bool can_fail_ = false;  // whether calls of the driver fail

 private:
  std::optional<flow> little_;
};
FLOTILLA_CONTRACT(FlowRandom);

void FlowRandom::one_step(std::vector<pair>& all, std::mt19937& random) {
  std::shuffle(all.begin(), all.end(), random);
  pair &a = all[0], &b = all[1], &c = all[2];
  auto const salt = static_cast<std::uint32_t>(random());
  std::size_t const size = a.serial.size();
  bool const fits = size <= b.serial.size() && size <= c.serial.size();
  switch (random() % 20) {
    case 0: succeeds([&] { check(a); }); break;
    case 1:
      succeeds([&] {
        view<std::uint32_t> const changed = a.flow.host_for_update();
        changed(size / 2) = a.serial[size / 2] = salt;
      });
      break;
    case 2: succeeds([&] { a.flow.prefetch_to(somewhere(random).device.value_or(last())); }); break;
    case 3: succeeds([&] { a.flow.prefetch_to_host(); }); break;
    case 4: succeeds([&] { a = make(random); }); break;
    case 5:
    case 6:
    case 7:
      if (succeeds([&] {
            fl().post(uses(update(a.flow)), host_task([salt](view<std::uint32_t> on_host) {
                        stir_on_host(on_host.data, on_host.size(), salt);
                      }));
          })) {
        stir_on_host(a.serial.data(), size, salt);
      }
      break;
    case 8:
    case 9:
      if (size > b.serial.size()) { break; }
      if (succeeds([&] { fl().post(add(a.flow, b.flow, salt), somewhere(random)); })) {
        for (std::size_t i = 0; i < size; ++i) { a.serial[i] += b.serial[i] * salt; }
      }
      break;
    case 19: commute(all, salt, somewhere(random)); break;
    case 10:
    case 11:
    case 12:
      if (succeeds([&] { fl().post(stir(a.flow, salt), somewhere(random)); })) {
        stir_on_host(a.serial.data(), size, salt);
      }
      break;
    case 13: repeat(a, b, c, random); break;
    default:
      if (!fits) { break; }
      if (!succeeds([&] { fl().post(mix(a.flow, b.flow, c.flow, salt), somewhere(random)); })) {
        break;
      }
      mix_on_host(a.serial.data(), b.serial.data(), c.serial.data(), size, salt);
  }
}

// stress
TEST_P(FlowRandom, SameAsASerialProgram) {
  for (unsigned i = 0; i < scaled(seeds_of_arrangement) && !HasFailure(); ++i) {
    run(first_seed() + i, 6, 150, [](std::mt19937&) {});
  }
}

// stress
TEST_P(FlowRandom, SameWithMemoryForATenthOfTheData) {
  use({.memory_limit = 3 * 512});
  for (unsigned i = 0; i < scaled(seeds_of_arrangement) && !HasFailure(); ++i) {
    run(first_seed() + i, 30, 150, [](std::mt19937&) {});
  }
  for (device_ordinal const each : ordinals()) {
    EXPECT_LE(fl().counters(each).allocated_bytes, 3u * 512);
  }
}

// stress
TEST_P(FlowRandom, SameIfCallsAreSlowOrHaveNoMemory) {
  FLOTILLA_NEED_CPU_DRIVER();
  use({.memory_limit = 4 * 512, .low_watermark = 0.3, .high_watermark = 0.6});
  can_fail_ = true;
  for (unsigned i = 0; i < scaled(seeds_of_arrangement) && !HasFailure(); ++i) {
    run(first_seed() + i, 30, 100, disturb_driver);
    testing::clear_faults();
  }
}

}  // namespace
}  // namespace flotilla::test
