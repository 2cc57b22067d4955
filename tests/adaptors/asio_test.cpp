// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks as asynchronous operations of Boost.Asio.

#include <exception>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>  // Boost.Asio 1.74 uses std::exchange without it
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <flotilla/adaptors/asio.hpp>
#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

namespace asio = boost::asio;

class Asio : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    FLOTILLA_NEED_DEVICES(2);
    rt_.emplace(runtime_options{.devices = device_spec(2), .workers = 2});
  }
  void TearDown() override {
    rt_.reset();
    guest_test::TearDown();
  }
  [[nodiscard]] runtime& rt() { return *rt_; }
  asio::io_context loop_;

 private:
  std::optional<runtime> rt_;
};

// requirement: a coroutine of Asio awaits tasks on its own thread, and gets their errors
TEST_F(Asio, CoroutinesAwaitTasks) {
  test_program const kernels{rt()};
  device_buffer<std::uint32_t> word{rt(), device_ordinal{1}, 1};
  std::thread::id const here = std::this_thread::get_id();
  int steps = 0;
  auto const work = [&]() -> asio::awaitable<void> {
    co_await async_wait(rt().submit(kernels.write.with_shape({1}, {1})(word, 20u)),
                        asio::use_awaitable);
    EXPECT_EQ(std::this_thread::get_id(), here);
    for (std::uint32_t i = 0; i < 10; ++i, ++steps) {
      co_await async_wait(rt().submit(kernels.add.with_shape({1}, {1})(word, i)),
                          asio::use_awaitable);
    }
    std::string caught;
    try {
      co_await async_wait(
          rt().submit([](task_context&) { throw std::runtime_error{"the reason"}; }),
          asio::use_awaitable);
    } catch (std::runtime_error const& why) { caught = why.what(); }
    EXPECT_EQ(caught, "the reason");
    EXPECT_EQ(std::this_thread::get_id(), here);
    ++steps;
  };
  asio::co_spawn(loop_, work(), asio::detached);
  loop_.run();  // returns only after the operations, because they are work of the loop
  EXPECT_EQ(steps, 11);
  std::vector<std::uint32_t> result(1);
  rt().submit(word.copy_to(result)).wait();
  EXPECT_EQ(result[0], 65u);
}

// requirement: handlers run on their associated executor, never inside the call
TEST_F(Asio, HandlersRunOnTheirExecutor) {
  auto strand = asio::make_strand(loop_);
  ticket ended = rt().submit([](task_context&) {});
  ended.wait();
  bool called = false;
  async_wait(std::move(ended), asio::bind_executor(strand, [&](std::exception_ptr why) {
               EXPECT_EQ(why, nullptr);
               EXPECT_TRUE(strand.running_in_this_thread());
               called = true;
             }));
  EXPECT_FALSE(called);
  loop_.run();
  EXPECT_TRUE(called);
}

// requirement: other tokens work, here futures
TEST_F(Asio, FuturesAreTokens) {
  std::future<void> done = async_wait(rt().submit([](task_context&) {}), asio::use_future);
  std::future<void> failed =
      async_wait(rt().submit([](task_context&) { throw std::logic_error{"x"}; }), asio::use_future);
  done.get();
  EXPECT_THROW(failed.get(), std::logic_error);
}

// requirement: an empty ticket is refused
TEST_F(Asio, RefusesAnEmptyTicket) {
  EXPECT_THROW(async_wait(ticket{}, [](std::exception_ptr) {}), invalid_argument);
}

}  // namespace
}  // namespace flotilla::test
