// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: placements of the application, and the explanations of placements.

#include <chrono>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/device_names.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

/// Remembers what it has seen, and chooses one device.
class recorder final : public placement {
 public:
  std::optional<device_ordinal> place(std::span<device const>, task_options const&) override {
    ++without_data;
    return chosen;
  }
  std::optional<device_ordinal> place_with_data(std::span<device const>, task_options const& how,
                                                std::span<data_access const> accesses) override {
    std::ostringstream text;
    text << how.label << ':';
    for (data_access const& each : accesses) {
      text << ' ' << each.label << ' ' << each.bytes << (each.reads ? " r" : "")
           << (each.writes ? " w" : "") << (each.is_valid_on_host ? " host" : "");
      for (device_ordinal const on : each.valid_on) { text << ' ' << on.value; }
      text << ';';
    }
    seen = text.str();
    return chosen;
  }
  std::string seen;
  int without_data = 0;
  std::optional<device_ordinal> chosen = device_1;
};

class FlowPlacement : public guest_test {
 protected:
  void start(std::shared_ptr<placement> const& chosen, int devices = 2) {
    // A busy machine can make a callable slow. Its report would be in the text that a test reads.
    rt_.emplace(runtime_options{.devices = device_spec(devices),
                                .placement = chosen,
                                .report_calls_longer_than = std::chrono::milliseconds{0}});
  }
  void TearDown() override {
    rt_.reset();
    guest_test::TearDown();
  }
  runtime& rt() { return *rt_; }
  /// Returns what is printed while `call` runs.
  static std::string printed(std::function<void()> const& call) {
    ::testing::internal::CaptureStderr();
    call();
    return ::testing::internal::GetCapturedStderr();
  }
  static constexpr auto nothing = [](task_context&, auto&&...) {};

 private:
  std::optional<runtime> rt_;
};

// requirement
TEST_F(FlowPlacement, SeesTheDataOfTheTask) {
  FLOTILLA_NEED_DEVICES(2);
  auto const seen = std::make_shared<recorder>();
  start(seen);
  flow flow{rt()};
  std::vector<int> host(4);
  data<int> x{flow, host, "x"}, y{flow, {8}, "y"}, z{flow, {1}, "z"};
  token order{flow, "order"};
  x.prefetch_to(device_0);
  auto const where = [&](auto const& with, std::string const& label) {
    ticket const task = flow.submit(with, nothing, {.label = label});
    task.wait();
    return task.device();
  };
  EXPECT_EQ(where(uses(read(x), write(y), reduce(z), update(order)), "step"), device_1);
  EXPECT_EQ(seen->seen, "step: x 16 r host 0; y 32 w; z 4 w; order 0 r w;");
  seen->chosen = device_0;
  EXPECT_EQ(where(uses(read(x), update(y), update(z)), "next"), device_0);
  EXPECT_EQ(seen->seen, "next: x 16 r host 0 1; y 32 r w 1; z 4 r w 1;");
  EXPECT_EQ(seen->without_data, 0);
  seen->chosen = std::nullopt;
  x.prefetch_to(device_1);
  EXPECT_EQ(where(uses(update(y)), "free"), device_0);  // the flow chooses: y is there
  seen->seen.clear();
  flow.submit(uses(update(y)), nothing, {.device = device_1}).wait();
  flow.submit(uses(read(y)), host_task([](view<int const>) {})).wait();
  EXPECT_EQ(seen->seen, "") << "a placement must not be asked if the place is known";
}

// requirement: a placement that knows nothing of data is asked too
TEST_F(FlowPlacement, OldPlacementsAreAsked) {
  FLOTILLA_NEED_DEVICES(2);
  start(std::make_shared<round_robin>());
  flow flow{rt()};
  data<int> x{flow, {8}, "x"};
  ticket const a = flow.submit(uses(write(x)), nothing), b = flow.submit(uses(update(x)), nothing);
  a.wait();
  b.wait();
  EXPECT_NE(a.device(), b.device());
}

// requirement
TEST_F(FlowPlacement, MistakesAreFoundBeforeThePlacementIsAsked) {
  auto const seen = std::make_shared<recorder>();
  start(seen, 1);
  flow flow{rt()};
  data<int> x{flow, {8}, "x"};
  EXPECT_THAT(thrown<invalid_argument>([&] { flow.post(uses(read(x)), nothing); }),
              HasSubstr("data 'x'"));
  EXPECT_EQ(seen->seen, "");
  EXPECT_THROW(flow.post(uses(write(x)), nothing), unknown_device);  // `device_1` does not exist
}

// requirement
TEST_F(FlowPlacement, DecisionsAreExplained) {
  FLOTILLA_NEED_DEVICES(2);
  start(nullptr);
  flow flow{rt(), {.explain = explanations{.placement = true}}};
  std::vector<int> host(4);
  data<int> x{flow, host, "x"};
  auto const text_of = [&](task_options const& options) {
    return printed([&] { flow.submit(uses(update(x)), nothing, options).wait(); });
  };
  EXPECT_EQ(text_of({.device = device_1, .label = "a"}),
            "flotilla: task 'a' runs on device 1: it requires this device\n");
  EXPECT_THAT(text_of({}),
              ::testing::MatchesRegex(
                  "flotilla: a task runs on device 1: device 0: data after 0 us, copies of 16 "
                  "bytes [0-9]+ us, open tasks 0 us, kernel unknown, 0 tasks so far; device 1: "
                  "data after 0 us, copies of 0 bytes 0 us, open tasks 0 us, kernel unknown, 1 "
                  "tasks so far\n"));
  EXPECT_EQ(printed([&] { flow.submit(uses(read(x)), host_task([](view<int const>) {})).wait(); }),
            "");
}

// requirement
TEST_F(FlowPlacement, ChoicesOfThePlacementAreExplained) {
  FLOTILLA_NEED_DEVICES(2);
  start(std::make_shared<recorder>());
  flow flow{rt(), {.explain = explanations{.placement = true}}};
  data<int> x{flow, {1}, "x"};
  EXPECT_EQ(printed([&] { flow.submit(uses(write(x)), nothing, {.label = "b"}).wait(); }),
            "flotilla: task 'b' runs on device 1: the placement chose it\n");
}

// requirement
TEST_F(FlowPlacement, NamesOfExplanationsAreRead) {
  EXPECT_EQ(explanations::parse(" "), explanations{});
  EXPECT_TRUE(explanations::parse(" placement ").placement);
  EXPECT_TRUE(explanations::parse("all,placement").placement);
  EXPECT_THAT(thrown<unknown_setting>([] { static_cast<void>(explanations::parse("place")); }),
              AllOf(HasSubstr("'place'"), HasSubstr("placement, repeat, all")));
  setenv("FLOTILLA_EXPLAIN", "placements", 1);
  EXPECT_THAT(thrown<unknown_setting>([] { static_cast<void>(explanations::from_environment()); }),
              HasSubstr("environment variable FLOTILLA_EXPLAIN: 'placements'"));
  EXPECT_THROW((runtime{{.devices = "cpu:1"}}), unknown_setting) << "not only the first flow";
  setenv("FLOTILLA_EXPLAIN", "placement", 1);
  EXPECT_TRUE(explanations::from_environment().placement);
  unsetenv("FLOTILLA_EXPLAIN");
  EXPECT_FALSE(explanations::from_environment().placement);
}

}  // namespace
}  // namespace flotilla::test
