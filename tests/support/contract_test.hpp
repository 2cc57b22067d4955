#pragma once
// The fixture of the contract suite: one set of promises, whatever the devices, the workers, and
// what the application does with oneTBB's threads.

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/crowd.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {

/// What the application leaves of oneTBB's threads.
enum class tbb_threads { all, one, none };

struct arrangement {
  int devices;
  int workers;
  tbb_threads threads;
};

/// For GoogleTest's messages.
void PrintTo(arrangement const& what, std::ostream* out);

[[nodiscard]] std::string arrangement_name(::testing::TestParamInfo<arrangement> const& info);

class contract_test : public guest_test, public ::testing::WithParamInterface<arrangement> {
 protected:
  contract_test();
  ~contract_test() override;
  void SetUp() override;
  void TearDown() override;

  /// The options of this arrangement, to change and `start` with, or for another runtime.
  [[nodiscard]] runtime_options options() const;
  /// The runtime under test: made with `options()`, or by `start`, at the first call.
  [[nodiscard]] runtime& rt();
  runtime& start(runtime_options options);
  /// Ends the runtime under test.
  void stop();

  [[nodiscard]] test_program& program();
  [[nodiscard]] int device_count() const { return GetParam().devices; }
  [[nodiscard]] int worker_count() const { return GetParam().workers; }
  [[nodiscard]] device_ordinal first() const { return device_ordinal{0}; }
  [[nodiscard]] device_ordinal last() const {
    return device_ordinal{static_cast<unsigned>(device_count() - 1)};
  }
  /// Every device's ordinal.
  [[nodiscard]] std::vector<device_ordinal> ordinals() const;

 private:
  std::unique_ptr<parallelism> parallelism_;
  std::unique_ptr<crowd> crowd_;
  std::mutex making_;
  std::optional<runtime> rt_;
  std::optional<test_program> program_;
};

/// One word of device memory with a value, and how to read it back.
class device_word {
 public:
  device_word(runtime& rt, device_ordinal device, std::uint32_t value = 0)
      : rt_{&rt}, memory_{rt, device, std::span<std::uint32_t const>{&value, 1}} {}
  [[nodiscard]] device_buffer<std::uint32_t> const& buffer() const { return memory_; }
  [[nodiscard]] std::uint32_t read(dependency_list after = {}) const {
    std::uint32_t value = 0;
    rt_->submit(memory_.copy_to(std::span{&value, 1}), {.after = std::move(after)}).wait();
    return value;
  }

 private:
  runtime* rt_;
  device_buffer<std::uint32_t> memory_;
};

/// A launch that the driver refuses at once, whatever the device: more dynamic shared memory than
/// there is.
[[nodiscard]] inline launch refused_launch(test_program const& program) {
  return program.nothing.on({1}, {1}, 64u << 20)();
}

[[nodiscard]] std::vector<arrangement> arrangements(tbb_threads threads);

}  // namespace flotilla::test

/// The suite under every arrangement. `all`, `one` and `none` name what is left of oneTBB's
/// threads.
#define FLOTILLA_CONTRACT(suite)                                                                   \
  INSTANTIATE_TEST_SUITE_P(all_tbb_threads, suite,                                                 \
                           ::testing::ValuesIn(arrangements(tbb_threads::all)), arrangement_name); \
  INSTANTIATE_TEST_SUITE_P(one_tbb_thread, suite,                                                  \
                           ::testing::ValuesIn(arrangements(tbb_threads::one)), arrangement_name); \
  INSTANTIATE_TEST_SUITE_P(no_tbb_thread, suite,                                                   \
                           ::testing::ValuesIn(arrangements(tbb_threads::none)), arrangement_name)
