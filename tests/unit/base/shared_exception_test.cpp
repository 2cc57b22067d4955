// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Threads share an exception, as the threads that wait for a failed task do, and ThreadSanitizer
// reports no race.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace flotilla {
namespace {

using namespace std::chrono_literals;

/// An exception whose destructor is instrumented.
class with_member : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] std::size_t sum() const {
    std::size_t of_all = 0;
    for (std::size_t const each : members_) { of_all += each; }
    return of_all;
  }

 private:
  std::vector<std::size_t> members_ = std::vector<std::size_t>(10, 3);
};

std::exception_ptr caught(std::function<void()> const& throw_it) {
  try {
    throw_it();
  } catch (...) { return std::current_exception(); }
  return nullptr;
}

/// Reads all of the exception in a handler.
std::size_t read(std::exception_ptr from) {
  try {
    std::rethrow_exception(std::move(from));
  } catch (with_member const& why) {
    return std::string{why.what()}.size() + why.sum();
  } catch (std::exception const& why) { return std::string{why.what()}.size(); }
}

/// This thread reads the exception first. Another thread is its last owner. Nothing but the count
/// of its owners orders them.
void share(std::exception_ptr what, bool last_one_reads) {
  std::atomic<bool> was_read{false};
  std::thread last{[&was_read, last_one_reads, last = what]() mutable {
    while (!was_read.load(std::memory_order_relaxed)) { std::this_thread::yield(); }
    std::this_thread::sleep_for(10ms);
    if (last_one_reads) {
      EXPECT_GT(read(std::move(last)), 0u);
    } else {
      last = nullptr;
    }
  }};
  EXPECT_GT(read(std::move(what)), 0u);
  was_read.store(true, std::memory_order_relaxed);
  last.join();
}

// regression: ThreadSanitizer reported a race when a thread destroyed a std::logic_error that
// another thread had read (tests/support/exception_order.cpp)
TEST(SharedException, ItsLastOwnerMayBeAnyThread) {
  for (bool const last_one_reads : {false, true}) {
    SCOPED_TRACE(last_one_reads);
    share(caught([] { throw std::logic_error{"of this test"}; }), last_one_reads);
    share(caught([] {
            throw std::system_error{std::make_error_code(std::errc::invalid_argument),
                                    "of this test"};
          }),
          last_one_reads);
    share(caught([] { throw with_member{"of this test"}; }), last_one_reads);
    share(caught([] { throw std::bad_alloc{}; }), last_one_reads);
    share(std::make_exception_ptr(with_member{"of this test"}), last_one_reads);
  }
}

}  // namespace
}  // namespace flotilla
