// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `flush_printf` and the output of printf in kernels.
#include "contexts_test.hpp"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include <test_contexts_kernels.hpp>

#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using Printing = contexts_test;

/// Redirects the standard output to a file for the rest of the process. Use this class only in a
/// child process that prints nothing else.
class captured_output {
 public:
  captured_output() {
    int const file = mkstemp(path_);
    EXPECT_GE(file, 0);
    std::fflush(stdout);
    EXPECT_GE(dup2(file, STDOUT_FILENO), 0);
    close(file);
  }
  ~captured_output() { std::remove(path_); }
  captured_output(captured_output const&) = delete;
  captured_output& operator=(captured_output const&) = delete;

  /// Returns how many lines in the file start with `begin`. Does not flush the standard output.
  [[nodiscard]] unsigned lines(std::string const& begin) const {
    std::ifstream read{path_};
    unsigned found = 0;
    for (std::string line; std::getline(read, line);) {
      found += line.starts_with(begin) ? 1u : 0u;
    }
    return found;
  }

 private:
  char path_[32] = "/tmp/flotilla-printf-XXXXXX";
};

// C4.58: when `flush_printf` returns, the output of all earlier tasks has appeared. `flush_printf`
// can be called several times
TEST_F(Printing, AppearsAtAFlush) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    captured_output const seen;
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    auto const print_lines =
        rt.load(test_contexts_kernels).kernel<unsigned, unsigned>("print_lines");
    for (unsigned round = 1; round <= 3; ++round) {
      for (device const& each : rt.devices()) {
        rt.submit(print_lines.with_shape({1}, {32})(each.ordinal.value, 10u),
                  {.device = each.ordinal})
            .wait();
      }
      rt.flush_printf();
      for (device const& each : rt.devices()) {
        EXPECT_EQ(seen.lines("line of " + std::to_string(each.ordinal.value) + ": "), 10 * round);
      }
    }
    rt.flush_printf();
    EXPECT_EQ(seen.lines("line of "), 30u);
  });
}

// requirement: `flush_printf` waits until launched tasks have ended
TEST_F(Printing, IsFlushedBehindWhatIsInFlight) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    captured_output const seen;
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    auto const print_lines =
        rt.load(test_contexts_kernels).kernel<unsigned, unsigned>("print_lines");
    test_program const program{rt};
    held_word word{rt};
    ticket const held = rt.submit(word.launch_of(program));
    EXPECT_TRUE(eventually([&] { return word.started(); }));
    ticket const printed = rt.submit(print_lines.with_shape({1}, {32})(7u, 5u), {.after = {held}});
    EXPECT_TRUE(eventually([&] { return rt.counters(device_ordinal{0}).batches >= 2; }));
    std::thread later{[&] { word.release(); }};
    rt.flush_printf();
    EXPECT_EQ(seen.lines("line of 7: "), 5u);
    EXPECT_TRUE(held.ready());
    EXPECT_TRUE(printed.ready());
    later.join();
  });
}

// error guess: `flush_printf` inside a callable must throw, because it would wait for the
// callable's own stream
TEST_F(Printing, IsNotFlushedInsideACallable) {
  runtime rt{{.devices = device_spec(1), .workers = 1}};
  ticket const refused = rt.submit([&](task_context&) { rt.flush_printf(); });
  EXPECT_THAT(thrown<would_deadlock>([&] { refused.wait(); }), HasSubstr("flush_printf"));
  rt.flush_printf();
}

// requirement: `flush_printf` works even after the runtime has been closed
TEST_F(Printing, IsFlushedByAClosedRuntime) {
  runtime rt{{.devices = device_spec(1), .workers = 1}};
  rt.close();
  EXPECT_NO_THROW(rt.flush_printf());
}

}  // namespace
}  // namespace flotilla::test
