// In a child of fork() a runtime refuses everything, and goes without a trace.

#include <array>
#include <functional>
#include <memory>
#include <string>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

/// Everything of a runtime that a child might touch.
struct household {
  explicit household(int workers)
      : rt{{.devices = device_spec(1), .workers = workers}},
        kernels{rt},
        memory{rt, device_ordinal{0}, 16},
        pinned{rt, 16},
        ended{rt.submit(kernels.nothing.on({1}, {1})())},
        what{kernels.nothing.on({1}, {1})()} {
    ended.wait();
  }
  runtime rt;
  test_program kernels;
  device_buffer<std::uint32_t> memory;
  host_buffer<std::uint32_t> pinned;
  ticket ended;
  launch what;
};

/// 0, or the number of the first of `calls` that did not throw used_after_fork.
template <std::size_t count>
int first_not_refused(std::array<std::function<void()>, count> const& calls) {
  for (std::size_t i = 0; i < count; ++i) {
    try {
      calls[i]();
      return static_cast<int>(i) + 1;
    } catch (used_after_fork const&) {}
  }
  return 0;
}

int everything_is_refused(household& mine) {
  runtime& rt = mine.rt;
  std::array<std::byte, 4> four{};
  return first_not_refused(std::array<std::function<void()>, 21>{
      [&] { (void)rt.submit(mine.what); },
      [&] { (void)rt.submit(mine.memory.fill(1)); },
      [&] { (void)rt.submit([](task_context&) {}); },
      [&] { (void)rt.try_submit(mine.what); },
      [&] { (void)rt.try_submit(mine.memory.fill(1)); },
      [&] { (void)rt.try_submit([](task_context&) {}); },
      [&] { (void)rt.pump(); },
      [&] { rt.wait_idle(); },
      [&] { (void)rt.memory(device_ordinal{0}); },
      [&] { (void)rt.counters(device_ordinal{0}); },
      [&] { (void)rt.workers(); },
      [&] { (void)rt.effective_settings(device_ordinal{0}); },
      [&] { (void)rt.load(test_image()); },
      [&] { (void)rt.load("some.file"); },
      [&] { (void)mine.ended.ready(); },
      [&] { mine.ended.wait(); },
      [&] { (void)mine.ended.wait_for(std::chrono::seconds{0}); },
      [&] { (void)mine.kernels.loaded.kernel<>("nothing"); },
      [&] { mine.kernels.loaded.write_global(device_ordinal{0}, "tally", four); },
      [&] { mine.kernels.loaded.read_global(device_ordinal{0}, "tally", four); },
      [&] {
        device_buffer<int> const more{rt, device_ordinal{0}, 4};
      },
  });
}

class Fork : public guest_test {};

// requirement
TEST_F(Fork, ChildIsRefusedEverythingAndItsDestructorReturns) {
  FLOTILLA_NEED_DEVICES(1);
  for (int const workers : {0, 2}) {
    auto mine = std::make_unique<household>(workers);
    EXPECT_EQ(forked([&] {
                int const code = everything_is_refused(*mine);
                mine.reset();  // destroys buffers, tickets, and the runtime
                return code;
              }),
              0)
        << "the number of the call that was not refused, with " << workers << " workers";
    // The parent goes on as if nothing had been.
    int ran = 0;
    mine->rt.submit([&](task_context&) { ++ran; }).wait();
    mine->rt.submit(mine->what).wait();
    EXPECT_EQ(ran, 1);
  }
}

// error guess: forked while tasks are open, which the child's destructor must not wait for
TEST_F(Fork, ChildOfABusyRuntimeDoesNotWaitForItsTasks) {
  FLOTILLA_NEED_DEVICES(1);
  auto mine = std::make_unique<household>(1);
  auto word = std::make_unique<held_word>(mine->rt);
  ticket held = mine->rt.submit(word->launch_of(mine->kernels));
  ticket behind = mine->rt.submit([](task_context&) {}, {.after = {held}});
  EXPECT_TRUE(pumping(mine->rt, [&] { return word->started(); }));
  EXPECT_EQ(forked([&] {
              int const code = everything_is_refused(*mine);
              held = {};
              behind = {};
              mine.reset();  // the word is left: its memory is the parent's
              return code;
            }),
            0);
  word->release();
  behind.wait();
  held = {};
  behind = {};
  word.reset();
}

// requirement: the name of the error says what to do
TEST_F(Fork, ChildIsToldWhatToDo) {
  FLOTILLA_NEED_DEVICES(1);
  household mine{0};
  EXPECT_EQ(forked([&] {
              try {
                mine.rt.pump();
                return 1;
              } catch (used_after_fork const& error) {
                return std::string{error.what()}.find("fork") == std::string::npos ? 2 : 0;
              }
            }),
            0);
}

}  // namespace
}  // namespace flotilla::test
