// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Host tasks and bulks without a ticket.

#include <atomic>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <flotilla/task/bulk.hpp>

#include "contract/post_fixture.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class PostKinds : public reporting_test {};
FLOTILLA_CONTRACT(PostKinds);

// requirement: a posted host task and the items of a posted bulk run once. The handler gets the
// error of the host task, and one error of a bulk, even if several of its items fail
TEST_P(PostKinds, HostTasksAndBulks) {
  start_reporting();
  device_word value{rt(), last(), 0};
  std::atomic<int> ran{0};
  rt().post(host_task([&] { ++ran; }));
  rt().post(host_task([] { throw std::runtime_error{"host trouble"}; }));
  rt().post(bulk(program().add.over(1, 1), 100, [&](std::size_t) {
    return std::tuple{value.buffer().span(), 1u};
  }));
  rt().wait_idle();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(value.read(), 100u);
  EXPECT_EQ(errors.count<std::runtime_error>(), 1u);

  ticket const failed = rt().submit(host_task([] { throw std::runtime_error{"earlier"}; }));
  std::vector<launch> items(40, program().nothing.with_shape({1}, {1})());
  rt().post(bulk(items), {.label = "behind", .after = {failed}});
  rt().wait_idle();
  EXPECT_EQ(errors.count<bulk_error>(), 1u);
}

}  // namespace
}  // namespace flotilla::test
