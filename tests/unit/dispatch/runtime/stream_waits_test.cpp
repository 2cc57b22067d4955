// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Streams of the application that wait for more tasks than there are flags.

#include <atomic>
#include <chrono>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "support/application.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class StreamWaits : public guest_test {};

// requirement: if no flag is left, enqueue_wait waits until the task is launched. It does not
// allocate memory, because a driver may delay that until the waiting streams have finished
TEST_F(StreamWaits, WithoutAFlagTheCallWaitsForTheLaunch) {
  application app;
  CUstream const gate = app.make_stream();
  CUstream const stream = app.make_stream();
  CUevent const event = app.make_event();
  app.wait_at_gate(gate);
  app.record(event, gate);
  runtime rt{make_runtime({.devices = "cpu:1", .workers = 1}, {.stream_wait_flags = 1})};
  test_program const program{rt};
  auto const submit = [&] {
    return rt.submit(program.nothing.with_shape({1}, {1})(), {.after = {rt.submit(event)}});
  };
  ticket const first = submit();
  ticket const second = submit();
  enqueue_wait(first, stream);
  EXPECT_FALSE(first.ready());
  std::atomic<bool> returned{false};
  {
    std::jthread const waiter([&] {
      enqueue_wait(second, stream);
      returned = true;
    });
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(returned);
    app.open_gate();
  }
  EXPECT_TRUE(returned);
  app.write(stream, 7);
  EXPECT_TRUE(eventually([&] { return app.written() == 7; }));
  EXPECT_TRUE(first.ready());
  EXPECT_TRUE(second.ready());
}

// regression: the runtime was poisoned, its tasks counted as ended, and no thread was left that
// raised the flags. So the stream waited until the runtime ended
TEST_F(StreamWaits, StreamsContinueWhenTheRuntimeIsPoisoned) {
  for (int const workers : {0, 1}) {
    application app;
    CUstream const gate = app.make_stream();
    CUstream const stream = app.make_stream();
    CUevent const event = app.make_event();
    app.wait_at_gate(gate);
    app.record(event, gate);
    runtime rt{{.devices = "cpu:1", .workers = workers}};
    test_program const program{rt};
    ticket const task =
        rt.submit(program.nothing.with_shape({1}, {1})(), {.after = {rt.submit(event)}});
    enqueue_wait(task, stream);
    app.write(stream, 7);
    inside(rt).waits.with().shared.faults.note_out_of_memory();
    EXPECT_TRUE(eventually([&] { return app.written() == 7; })) << "nobody pumps or waits";
    EXPECT_TRUE(task.ready());
    EXPECT_THROW(task.wait(), poisoned);
    app.open_gate();
  }
}

}  // namespace
}  // namespace flotilla::test
