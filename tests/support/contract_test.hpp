// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of the contract tests. Each test runs once for each arrangement: a number of devices,
// a number of workers, and how many of oneTBB's threads are free (all, one or none).

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/tbb_threads.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {

/// How many oneTBB threads the application leaves for flotilla's workers.
enum class tbb_threads { all, one, none };

struct arrangement {
  int devices;
  int workers;
  tbb_threads threads;
};

/// Prints an arrangement in GoogleTest's messages.
void PrintTo(arrangement const& value, std::ostream* out);

[[nodiscard]] std::string arrangement_name(::testing::TestParamInfo<arrangement> const& info);

class contract_test : public guest_test, public ::testing::WithParamInterface<arrangement> {
 protected:
  contract_test();
  ~contract_test() override;
  void SetUp() override;
  void TearDown() override;

  /// Whether the runtimes may use contexts that the process keeps (kept_contexts.hpp).
  [[nodiscard]] virtual bool may_keep_contexts() const { return true; }
  /// The options of this arrangement. A test can change these options and pass them to `start`, or
  /// create a second runtime with these options.
  [[nodiscard]] runtime_options options() const;
  /// The runtime under test. The first call creates it with `options()`, unless the test has called
  /// `start`.
  [[nodiscard]] runtime& rt();
  runtime& start(runtime_options options);
  /// Destroys the runtime under test.
  void stop();

  [[nodiscard]] test_program& program();
  [[nodiscard]] int device_count() const { return GetParam().devices; }
  [[nodiscard]] int worker_count() const { return GetParam().workers; }
  [[nodiscard]] device_ordinal first() const { return device_ordinal{0}; }
  [[nodiscard]] device_ordinal last() const {
    return device_ordinal{static_cast<unsigned>(device_count() - 1)};
  }
  /// The ordinals of all devices.
  [[nodiscard]] std::vector<device_ordinal> ordinals() const;

 private:
  std::unique_ptr<parallelism> parallelism_;
  std::unique_ptr<tbb_hog> hog_;
  std::mutex creation_;
  std::optional<runtime> rt_;
  std::optional<test_program> program_;
};

/// One word of device memory, with its initial value.
class device_word {
 public:
  device_word(runtime& rt, device_ordinal device, std::uint32_t value = 0)
      : rt_{&rt}, memory_{rt, device, std::span<std::uint32_t const>{&value, 1}} {}
  [[nodiscard]] device_buffer<std::uint32_t>& buffer() { return memory_; }
  /// Waits for the tasks in `after`, then copies the value to the host.
  [[nodiscard]] std::uint32_t read(dependency_list after = {}) const {
    std::uint32_t value = 0;
    rt_->submit(memory_.copy_to(std::span{&value, 1}), {.after = std::move(after)}).wait();
    return value;
  }

 private:
  runtime* rt_;
  device_buffer<std::uint32_t> memory_;
};

/// A launch that every driver refuses, because it asks for 64 MiB of dynamic shared memory.
[[nodiscard]] inline launch refused_launch(test_program const& program) {
  return program.nothing.with_shape({1}, {1}, 64u << 20)();
}

[[nodiscard]] std::vector<arrangement> arrangements(tbb_threads threads);

}  // namespace flotilla::test

/// Runs the suite under every arrangement. The prefix of the suite's name says how many oneTBB
/// threads are free.
#define FLOTILLA_CONTRACT(suite)                                                                   \
  INSTANTIATE_TEST_SUITE_P(all_tbb_threads, suite,                                                 \
                           ::testing::ValuesIn(arrangements(tbb_threads::all)), arrangement_name); \
  INSTANTIATE_TEST_SUITE_P(one_tbb_thread, suite,                                                  \
                           ::testing::ValuesIn(arrangements(tbb_threads::one)), arrangement_name); \
  INSTANTIATE_TEST_SUITE_P(no_tbb_thread, suite,                                                   \
                           ::testing::ValuesIn(arrangements(tbb_threads::none)), arrangement_name)
