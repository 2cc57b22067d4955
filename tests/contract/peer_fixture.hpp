// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests on access of devices to the memory of each other.

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {

class peer_test : public guest_test {
 protected:
  static constexpr device_ordinal first{0}, second{1}, third{2};
  using words = device_buffer<std::uint32_t>;

  void SetUp() override {
    FLOTILLA_NEED_DEVICES(2);
    guest_test::SetUp();
    close_pools();
  }
  void TearDown() override {
    program_.reset();
    rt_.reset();
    testing::clear_faults();
    guest_test::TearDown();
  }
  /// Ends the access to the pools of the devices that earlier tests have enabled.
  static void close_pools() {
    if (!on_gpus()) { static_cast<void>(context_driver::cpus(3)); }
    driver::table const& api = driver_in_use();
    int const devices = std::min(devices_there(), 3);
    for (int of = 0; of < devices; ++of) {
      CUmemoryPool pool = nullptr;
      ASSERT_EQ(api.device_get_mem_pool(&pool, of), CUDA_SUCCESS);
      for (int from = 0; from < devices; ++from) {
        if (from == of) { continue; }
        CUmemAccessDesc none{};
        none.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        none.location.id = from;
        ASSERT_EQ(api.mem_pool_set_access(pool, &none, 1), CUDA_SUCCESS);
      }
    }
  }
  /// The runtime checks arguments, so it asks the driver whether the device of a launch can access
  /// its buffers.
  void start(runtime_options options) {
    options.checks = checks{.arguments = true};
    rt_.emplace(std::move(options));
    program_.emplace(*rt_);
  }
  void start() { start({.devices = device_spec(2)}); }
  runtime& rt() { return *rt_; }
  launch copy(words& to, words const& from) const {
    return program_->copy.with_shape({1}, {1})(to, from);
  }
  std::uint32_t read(words const& from) {
    std::uint32_t value = 0;
    rt().submit(from.copy_to(std::span{&value, 1})).wait();
    return value;
  }
  words word(device_ordinal device, std::uint32_t value) {
    return {rt(), device, std::span<std::uint32_t const>{&value, 1}};
  }
  std::uint64_t ended_on(device_ordinal device) { return rt().counters(device).tasks; }
  static setting_outcome outcome(settings_report const& report) {
    for (setting_outcome const& each : report.outcomes) {
      if (each.name == "peer_access") { return each; }
    }
    ADD_FAILURE() << "the report has no peer_access";
    return {};
  }
  /// Copies `count` words to each device and on to the other device. Checks every word.
  void expect_copies_to_arrive(std::size_t count) {
    for (device_ordinal const from : {first, second}) {
      device_ordinal const to{1 - from.value};
      std::vector<std::uint32_t> sent(count);
      std::iota(sent.begin(), sent.end(), from.value);
      words const source{rt(), from, sent};
      words target{rt(), to, count};
      rt().submit(source.copy_to(target)).wait();
      std::vector<std::uint32_t> back(count);
      rt().submit(target.copy_to(back)).wait();
      EXPECT_TRUE(back == sent) << "from device " << from.value;
    }
  }

  std::optional<runtime> rt_;
  std::optional<test_program> program_;
};

#define FLOTILLA_NEED_PEERS()                                                             \
  do {                                                                                    \
    if (!can_access_peer(rt(), first, second) || !can_access_peer(rt(), second, first)) { \
      GTEST_SKIP() << "needs two devices that are peers: "                                \
                   << why_no_peer_access(rt(), first, second);                            \
    }                                                                                     \
  } while (false)

}  // namespace flotilla::test
