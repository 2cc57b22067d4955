// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of lost devices have in common.

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <flotilla/device/health.hpp>
#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "containment/lossy_devices.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {

using ::testing::HasSubstr;
using word = std::uint32_t;

/// How a task has ended.
enum class ending { well, lost, dependency, other };

/// Waits for the task.
[[nodiscard]] inline ending ending_of(ticket const& task) {
  try {
    if (!task.wait_for(test_timeout)) {
      ADD_FAILURE() << "the task has not ended";
      return ending::other;
    }
    return ending::well;
  } catch (device_fault const&) { return ending::lost; } catch (dependency_failed const&) {
    return ending::dependency;
  } catch (std::exception const& why) {
    ADD_FAILURE() << why.what();
    return ending::other;
  }
}

/// A runtime with two devices that can be lost. The parameter is the number of workers.
class containment_test : public guest_test, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr device_ordinal first{0}, second{1};
  static constexpr unsigned many = 1'000'000;

  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();
    guest_test::SetUp();
  }
  void TearDown() override {
    if (::testing::Test::IsSkipped()) { return; }
    program_.reset();
    runtime_.reset();
    testing::clear_faults();
    devices_.reset();
    guest_test::TearDown();
  }
  /// @param kernel_ns  If not 0, all kernels are taken to run for so long (dispatch::tuning).
  void start(runtime_options options = {}, float kernel_ns = 0) {
    devices_.emplace(2);
    options.devices = device_spec(2);
    options.workers = GetParam();
    if (!options.restart.intensity) { options.restart.intensity = many; }
    dispatch::tuning tuned;
    tuned.recovery = &*devices_;
    tuned.kernel_ns = kernel_ns;
    runtime_.reset(new runtime(make_runtime(std::move(options), tuned)));
    program_.emplace(*runtime_);
  }
  [[nodiscard]] runtime& rt() { return *runtime_; }
  [[nodiscard]] test_program& program() { return *program_; }
  [[nodiscard]] lossy_devices& devices() { return *devices_; }
  /// Gives flotilla the time to put what was submitted into streams.
  void pump_for_a_while() {
    for (int i = 0; i < 50; ++i) {
      rt().pump();
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }
  /// A launch that does nothing.
  [[nodiscard]] launch nothing() { return program().nothing.with_shape({1}, {1})(); }
  /// A launch that increments counters[id].
  [[nodiscard]] launch count(device_buffer<word>& counters, word id) {
    return count_.value_or(count_.emplace(program().loaded.kernel<word*, word>("count_id")))
        .with_shape({1}, {1})(counters, id);
  }
  [[nodiscard]] device_buffer<word> zeros(std::size_t size, device_ordinal device) {
    std::vector<word> const values(size);
    return {rt(), device, std::span<word const>{values}};
  }
  [[nodiscard]] std::vector<word> read(device_buffer<word> const& from) {
    std::vector<word> values(from.size());
    rt().submit(from.copy_to(std::span{values})).wait();
    return values;
  }

 private:
  std::optional<lossy_devices> devices_;
  std::unique_ptr<runtime> runtime_;
  std::optional<test_program> program_;
  std::optional<kernel<word*, word>> count_;
};

}  // namespace flotilla::test
