// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of the tests of recordings of the C interface.

#include <cstdint>
#include <vector>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {

/// A test with an empty recording.
class c_recording_test : public c_api_test {
 protected:
  void SetUp() override {
    c_api_test::SetUp();
    if (IsSkipped()) { return; }
    FLOTILLA_C_OK(flotilla_recording_create(rt, &recording));
    multiply_add_ = kernel("multiply_add");
  }
  void TearDown() override {
    if (recording.id != 0) { FLOTILLA_C_OK(flotilla_recording_destroy(recording)); }
    c_api_test::TearDown();
  }

  [[nodiscard]] static flotilla_recorded_options after(std::vector<std::size_t> const& tasks) {
    flotilla_recorded_options options = FLOTILLA_RECORDED_OPTIONS_INIT;
    options.after = tasks.data();
    options.after_count = tasks.size();
    return options;
  }
  /// Records `memory[0] = memory[0] * factor + summand`.
  flotilla_status record_step(flotilla_buffer memory, std::uint32_t factor, std::uint32_t summand,
                              std::vector<std::size_t> const& predecessors,
                              std::size_t* task) const {
    flotilla_argument const arguments[] = {flotilla_address(memory, 0), FLOTILLA_VALUE(factor),
                                           FLOTILLA_VALUE(summand)};
    flotilla_recorded_options const options = after(predecessors);
    return flotilla_record_launch(recording, multiply_add_, flotilla_over(1, 1), arguments, 3,
                                  &options, task);
  }
  /// Records a fill of the word, then `times` steps in a row. @return the number of the last task
  std::size_t record_chain(flotilla_buffer memory, std::uint32_t value, unsigned times) {
    std::size_t last = 99;
    FLOTILLA_C_OK(flotilla_record_fill(recording, flotilla_in_buffer(memory, 0), &value,
                                       sizeof value, 1, nullptr, &last));
    for (unsigned i = 0; i < times; ++i) {
      FLOTILLA_C_OK(record_step(memory, 10, i, {last}, &last));
    }
    return last;
  }
  flotilla_status replay() const {
    flotilla_ticket ticket{};
    flotilla_status const submitted = flotilla_recording_replay(recording, nullptr, &ticket);
    return submitted == FLOTILLA_SUCCESS ? end_of(ticket) : submitted;
  }

  flotilla_recording recording{};

 private:
  flotilla_kernel multiply_add_{};
};

}  // namespace flotilla::test
