// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What the checks find if a program uses flows.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <flotilla/data/flow.hpp>
#include <flotilla/flotilla.hpp>

#include "contract/flow_fixture.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kept_log.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using word = std::uint32_t;

class CheckFlow : public guest_test {
 protected:
  static constexpr std::uint32_t count = 1000;

  void SetUp() override {
    guest_test::SetUp();
    if (IsSkipped()) { return; }
    rt_.emplace(runtime_options{.devices = device_spec(1),
                                .workers = 2,
                                .checks = checks{.arguments = true, .order = true}});
    program_.emplace(*rt_);
    kernels_.emplace(rt_->load(flow_kernels));
  }
  void TearDown() override {
    kernels_.reset();
    program_.reset();
    rt_.reset();
    guest_test::TearDown();
  }
  [[nodiscard]] data_launch stir(data<word>& all) {
    return kernels_->kernel(flow_kernels.stir_words).over(count, 32)(update(all), count, 1u);
  }
  [[nodiscard]] data_launch mix(data<word>& to, data<word> const& a, data<word> const& b) {
    return kernels_->kernel(flow_kernels.mix_words)
        .over(count, 32)(write(to), read(a), read(b), count, 1u);
  }
  [[nodiscard]] launch writes(device_span<word> where) {
    return program_->write.with_shape({1}, {1})(where, 7u);
  }

  std::optional<runtime> rt_;
  std::optional<test_program> program_;
  std::optional<flotilla::program> kernels_;
};

// regression: only the first object of the data was compared, and the report asked for a ticket
TEST_F(CheckFlow, APlainTaskOnAnyPartOfTheDataIsFound) {
  device_buffer<word> buffer{*rt_, device_0, count};
  rt_->submit(buffer.fill(0)).wait();
  flow fl{*rt_};
  {
    data<word> x{fl, buffer, "x"};
    fl.post(stir(x), {.label = "of the flow"});
    for (unsigned const first : {0u, 500u, count - 1}) {
      EXPECT_THAT(thrown<missing_dependency>(
                      [&] { rt_->post(writes(buffer.subspan(first, 1)), {.label = "plain"}); }),
                  AllOf(HasSubstr("reads and writes 4000 bytes"), HasSubstr("'of the flow'"),
                        HasSubstr("a flow has submitted task 'of the flow'"),
                        HasSubstr("submit the other one to the flow too")))
          << first;
    }
    rt_->wait_idle();
    ticket const plain = rt_->submit(writes(buffer.subspan(500, 1)), {.label = "plain"});
    EXPECT_THAT(thrown<missing_dependency>([&] { fl.post(stir(x), {.label = "of the flow"}); }),
                HasSubstr("wait for task 'plain' before you submit task 'of the flow'"));
    fl.post(stir(x), {.after = {plain}});
  }
  rt_->wait_idle();
}

// requirement: the flow orders its own tasks, and needs no help
TEST_F(CheckFlow, TasksOfOneFlowAreNeverReported) {
  device_buffer<word> buffer{*rt_, device_0, count};
  rt_->submit(buffer.fill(0)).wait();
  flow fl{*rt_};
  data<word> x{fl, buffer, "x"};
  std::vector<word> memory(count);
  data<word> y{fl, memory, "y"};
  data<word> z{fl, {count}, "z"};
  for (int i = 0; i < 20; ++i) {
    fl.post(mix(z, x, y));
    fl.post(stir(x));
    fl.post(mix(y, x, z));
    fl.post(stir(z));
  }
  static_cast<void>(y.host());
  rt_->wait_idle();
}

class CheckUnread : public CheckFlow {
 protected:
  static constexpr auto change = [](view<word> all) { all(0) = 1; };
  /// Returns what is reported when data end that were made from a buffer of a device. Calls
  /// use(flow, data).
  template <class Use>
  [[nodiscard]] std::string report(Use const& use) {
    kept_log const log;
    flow fl{*rt_};
    device_buffer<word> memory{*rt_, device_0, count};
    {
      data<word> x{fl, memory, "x"};
      use(fl, x);
      rt_->wait_idle();
    }
    return log.text();
  }
};

// regression: the buffer kept its old contents, and nothing said so
TEST_F(CheckUnread, ResultsThatNobodyFetchedAreReported) {
  EXPECT_THAT(report([&](flow& fl, data<word>& x) { fl.post(uses(update(x)), host_task(change)); }),
              AllOf(HasSubstr("data 'x' ended"), HasSubstr("older contents"),
                    HasSubstr("Call prefetch_to before the data end")));
}

// regression: the report was made with the flow's mutex locked, so this handler waited forever
TEST_F(CheckUnread, AHandlerOfMessagesMayUseTheFlow) {
  flow fl{*rt_};
  device_buffer<word> memory{*rt_, device_0, count};
  std::vector<word> other(count);
  data<word> y{fl, other, "y"};
  auto const seen = std::make_shared<std::string>();
  set_log_handler([&y, seen](log_message const& one) {
    static_cast<void>(y.host());
    *seen = one.text;
  });
  {
    data<word> x{fl, memory, "x"};
    fl.post(uses(update(x)), host_task(change));
    rt_->wait_idle();
  }
  set_log_handler({});
  EXPECT_THAT(*seen, HasSubstr("data 'x' ended"));
}

// requirement
TEST_F(CheckUnread, NothingIsReportedIfTheMemoryIsUpToDate) {
  EXPECT_EQ(report([&](flow&, data<word>&) {}), "");
  EXPECT_EQ(report([&](flow& fl, data<word>& x) {
              fl.post(uses(update(x)), host_task(change));
              x.prefetch_to(device_0);
            }),
            "");
  EXPECT_EQ(report([&](flow& fl, data<word>& x) {
              std::vector<word> other(count);
              data<word> y{fl, other, "y"};
              data<word> z{fl, {count}, "z"};
              fl.post(mix(z, x, y));
            }),
            "");
}

}  // namespace
}  // namespace flotilla::test
