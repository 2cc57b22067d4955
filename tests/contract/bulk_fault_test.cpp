// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Bulks with an item that faults, and ranges that are shorter than they say.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <tuple>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "contract/continuation.hpp"
#include "support/child.hpp"
#include "support/contract_test.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class BulkFault : public guest_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(workers, BulkFault, ::testing::Values(0, 1, 2, 8));

void fault_in_bulk(int workers, bool destroy_at_once) {
  poison_counter counter;
  std::atomic<int> const& ran = counter.ran;
  std::atomic<int> const& poisoned_ones = counter.poisoned_ones;
  {
    runtime rt{{.devices = device_spec(1), .workers = workers}};
    test_program const kernels{rt};
    std::vector<launch> items(20, kernels.nothing.with_shape({1}, {1})());
    items[7] = kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})();
    ticket const faulty = rt.submit(bulk(items));
    faulty.then(std::ref(counter));
    if (!destroy_at_once) {
      EXPECT_THROW(faulty.wait(), poisoned);
      EXPECT_TRUE(pumping(rt, [&] { return ran == 1; }));
      EXPECT_THROW((void)rt.submit(bulk(items)), poisoned);
      // Whether items were not launched before the fault, so that they can be cancelled, is a
      // matter of time. A cancelled item stays cancelled.
      bool const was_cancelled = faulty.cancel();
      EXPECT_EQ(faulty.cancel(), was_cancelled);
    }
  }
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(poisoned_ones, 1);
}

void fault_in_posted_bulk(int workers) {
  std::atomic<int> reported{0};
  {
    runtime rt{
        {.devices = device_spec(1), .workers = workers, .on_error = [&](std::exception_ptr why) {
           try {
             std::rethrow_exception(why);
           } catch (poisoned const&) { ++reported; } catch (bulk_error const&) {
             ++reported;
           }
         }}};
    test_program const kernels{rt};
    std::vector<launch> items(20, kernels.nothing.with_shape({1}, {1})());
    items[7] = kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})();
    rt.post(bulk(items));
  }
  EXPECT_EQ(reported, 1);
}

// requirement: the handler of a runtime gets the fault of a posted bulk once
TEST_P(BulkFault, PostedBulkReportsTheFault) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_in_posted_bulk(GetParam()); });
}

// requirement: the ticket of a bulk ends if an item faults, and reports the fault
TEST_P(BulkFault, TicketReportsTheFault) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_in_bulk(GetParam(), false); });
}

// requirement: the destructor of the runtime ends a bulk whose fault no thread has noticed
TEST_P(BulkFault, DestructorEndsTheBulk) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_in_bulk(GetParam(), true); });
}

class BulkRange : public contract_test {};
FLOTILLA_CONTRACT(BulkRange);

/// A range that has fewer elements than its size says.
struct short_range {
  std::vector<std::tuple<device_span<std::uint32_t>, std::uint32_t>> elements;
  [[nodiscard]] auto begin() const { return elements.begin(); }
  [[nodiscard]] auto end() const { return elements.end(); }
  [[nodiscard]] std::size_t size() const { return elements.size() + 2; }
};

// requirement: a range that ends before its size is refused, and its items run
TEST_P(BulkRange, RangeThatEndsEarlyIsRefused) {
  device_word sum{rt(), last()};
  short_range const items{{3, std::tuple{sum.buffer().span(), 1u}}};
  EXPECT_THAT(
      thrown<invalid_argument>([&] { (void)rt().submit(bulk(program().add.over(1, 1), items)); }),
      EndsWith("the range has ended after 3 items, but its size is 5"));
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 3u);
}

}  // namespace
}  // namespace flotilla::test
