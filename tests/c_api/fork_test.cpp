// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// In a child of fork(), the functions of the C interface refuse the runtime of the parent.

#include <cstdint>
#include <functional>
#include <vector>

#include "c_api/c_fixture.hpp"
#include "support/child.hpp"

namespace flotilla::test {
namespace {

class CFork : public c_api_test {
 protected:
  /// Returns the number of the first call with another result than FLOTILLA_USED_AFTER_FORK,
  /// beginning with 1, or 0.
  int first_not_refused(flotilla_buffer word, flotilla_ticket ended, flotilla_kernel nothing) {
    int answer = 0;
    std::size_t bytes = 0;
    std::uint32_t value = 0;
    flotilla_buffer made{};
    flotilla_program loaded{};
    flotilla_image const image = c_test_image();
    std::vector<std::function<flotilla_status()>> const calls{
        [&] { return flotilla_pump(rt, &answer); },
        [&] { return flotilla_wait_idle(rt); },
        [&] { return flotilla_get_memory(rt, 0, &bytes, nullptr); },
        [&] { return flotilla_device_alloc(rt, 0, 4, &made); },
        [&] { return flotilla_program_load(rt, &image, &loaded); },
        [&] { return flotilla_program_read_global(program, 0, "tally", &value, 4); },
        [&] {
          return flotilla_submit_launch(nothing, flotilla_over(1, 1), nullptr, 0, nullptr, nullptr);
        },
        [&] {
          return flotilla_submit_fill(flotilla_in_buffer(word, 0), &value, 4, 1, nullptr, nullptr);
        },
        [&] { return flotilla_ticket_ready(ended, &answer); },
        [&] { return flotilla_ticket_wait(ended); },
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i]() != FLOTILLA_USED_AFTER_FORK) { return static_cast<int>(i) + 1; }
      if (std::string{flotilla_last_error()}.find("fork") == std::string::npos) { return 50; }
    }
    return 0;
  }
};
FLOTILLA_C_API(CFork);

// requirement: the child is refused, and the parent is not affected
TEST_P(CFork, ChildIsRefused) {
  flotilla_buffer const word = words();
  flotilla_kernel const nothing = kernel("nothing");
  flotilla_ticket ended{};
  FLOTILLA_C_OK(add(word, 4, nullptr, &ended));
  FLOTILLA_C_OK(flotilla_ticket_wait(ended));
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  EXPECT_EQ(forked([&] { return first_not_refused(word, ended, nothing); }), 0)
      << "the child's exit status is the number of the first call that was not refused";
  FLOTILLA_C_OK(add(word, 4, nullptr, nullptr));
  EXPECT_EQ(read(word), 8u);
  FLOTILLA_C_OK(flotilla_ticket_release(ended));
}

}  // namespace
}  // namespace flotilla::test
