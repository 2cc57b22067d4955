// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes that new users make. Each message must name the object of the mistake. Mistakes that
// must not compile are in tests/refused.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

constexpr device_ordinal zero{0};
constexpr device_ordinal one{1};

/// Two CPU devices, because the CPU driver reports every mistake in the same words.
class Mistakes : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    FLOTILLA_NEED_CPU_DRIVER();
  }
  /// Makes a mistake.
  /// @param words  What the message must contain.
  template <class Error, class Action>
  static void expect(std::initializer_list<char const*> words, Action&& mistake) {
    std::string const text = thrown<Error>(mistake);
    for (char const* word : words) { EXPECT_THAT(text, HasSubstr(word)); }
  }
  static runtime_options with(checks which) {
    runtime_options options{.devices = "cpu:2"};
    options.checks = which;
    options.settings.all.peer_access = false;
    return options;
  }

  runtime rt{with({})};
  test_program program{rt};
  device_buffer<std::uint32_t> here{rt, zero, 16};
  device_buffer<std::uint32_t> there{rt, one, 16};
};

// requirement: 7 mistakes in the options of a runtime
TEST_F(Mistakes, InOptions) {
  auto const make = [](auto change) {
    runtime_options options{.devices = "cpu:1"};
    change(options);
    runtime const made{std::move(options)};
  };
  using options = runtime_options;
  expect<unknown_device>({"gpu:0"}, [&] { make([](options& o) { o.devices = "gpu:0"; }); });
  expect<error>({"cpu:99999"}, [&] { make([](options& o) { o.devices = "cpu:99999"; }); });
  expect<invalid_argument>({"workers", "-5"}, [&] { make([](options& o) { o.workers = -5; }); });
  expect<invalid_argument>({"window", "1"}, [&] { make([](options& o) { o.window = 1; }); });
  expect<unknown_setting>({"shedule"}, [] { (void)settings::parse("shedule=spin"); });
  expect<unknown_setting>({"schedule", "fast"}, [] { (void)settings::parse("schedule=fast"); });
  expect<invalid_argument>({"ordr", "order"}, [] { (void)checks::parse("ordr"); });
}

// regression: an integer of a wider type that does not fit became another value. A kernel cannot
// tell, so the launch is refused, as one with a fraction is
TEST_F(Mistakes, IntegersThatDoNotFit) {
  std::size_t const large = std::size_t{1} << 40;
  auto const write = program.write.with_shape({1}, {1});
  expect<invalid_argument>({"write_value", "argument 1", "1099511627776", "32 bits"},
                           [&] { (void)write(here, large); });
  expect<invalid_argument>({"argument 1", "-1"}, [&] { (void)write(here, std::int64_t{-1}); });
  expect<invalid_argument>({"argument 1", "4294967296"},
                           [&] { (void)write(here, std::int64_t{1} << 32); });
  // These tasks run, and the fixture expects that its runtime makes no more objects of the driver.
  runtime own{{.devices = "cpu:1"}};
  test_program const mine{own};
  device_buffer<std::uint32_t> words{own, zero, 4};
  expect<bulk_error>({"item 2", "argument 1", "1099511627776"}, [&] {
    own.submit(bulk(mine.write.with_shape({1}, {1}), 4,
                    [&](std::size_t i) {
                      return std::tuple{words.subspan(i, 1), i == 2 ? large : i};
                    }))
        .wait();
  });
  own.submit(mine.write.with_shape({1}, {1})(words, std::size_t{0xffff'ffff})).wait();
  std::vector<std::uint32_t> back(1);
  own.submit(words.subspan(0, 1).copy_to(back)).wait();
  EXPECT_EQ(back[0], 0xffff'ffffu);
  EXPECT_NO_THROW((void)write(here, -1)) << "not of a wider type, so no bits are lost";
}

// requirement: 5 mistakes with images and kernels
TEST_F(Mistakes, WithImages) {
  auto const file = std::filesystem::temp_directory_path() /
                    ("flotilla_mistake_" + std::to_string(getpid()) + ".fatbin");
  expect<bad_image>({"missing.fatbin"}, [&] { (void)rt.load("missing.fatbin"); });
  std::ofstream{file} << "This is no image.";
  expect<bad_image>({file.filename().c_str()}, [&] { (void)rt.load(file); });
  // A complete fatbin: its header, which states that four bytes follow, and these four bytes. The
  // test does not use test_image().gpu, which is empty in builds without kernels for GPUs.
  std::ofstream{file, std::ios::binary}.write("\x50\xed\x55\xba\x01\0\x10\0\4\0\0\0\0\0\0\0code",
                                              20);
  expect<bad_image>({file.filename().c_str(), "GPU"}, [&] { (void)rt.load(file); });
  std::filesystem::remove(file);
  // The message lists the kernels that exist.
  expect<unknown_symbol>({"wirte_value", "write_value"}, [&] {
    (void)program.loaded.kernel<std::uint32_t*, std::uint32_t>("wirte_value");
  });
  expect<unknown_symbol>({"no_such_variable"}, [&] {
    std::byte byte{};
    program.loaded.read_global(zero, "no_such_variable", {&byte, 1});
  });
}

// requirement: 8 mistakes in the type or the shape of a launch
TEST_F(Mistakes, InLaunches) {
  kernel<std::uint32_t*, std::uint32_t> const& write = program.write;
  expect<invalid_argument>({"write_value", "2 parameters", "1 argument types"},
                           [&] { (void)program.loaded.kernel<std::uint32_t*>("write_value"); });
  expect<invalid_argument>({"write_value", "parameter 1", "4 bytes", "8 bytes"}, [&] {
    (void)program.loaded.kernel<std::uint32_t*, std::uint64_t>("write_value");
  });
  expect<invalid_argument>({"write_value", "empty"}, [&] { rt.post(write.over(0)(here, 1u)); });
  expect<invalid_argument>({"at least 1", "-1"}, [&] { (void)write.over(-1); });
  expect<invalid_argument>({"write_value", "2048", "1024"},
                           [&] { rt.post(write.with_shape({1}, {2048})(here, 1u)); });
  expect<invalid_argument>({"write_value", "too large"},
                           [&] { rt.post(write.over(UINT64_MAX)(here, 1u)); });
  expect<driver_error>({"write_value", "label 'big'", "67108864 bytes", "may have at most"}, [&] {
    rt.submit(write.with_shape({1}, {1}, 64u << 20)(here, 1u), {.label = "big"}).wait();
  });
  expect<invalid_argument>({"moved from"}, [&] {
    launch what = write.over(1)(here, 1u);
    launch const taken = std::move(what);
    rt.post(what);
  });
}

// requirement: 6 mistakes with devices and runtimes
TEST_F(Mistakes, WithDevicesAndRuntimes) {
  runtime other{{.devices = "cpu:1"}};
  launch const nothing = program.nothing.over(1)();
  expect<unknown_device>({"device 2"}, [&] { rt.post(nothing, {.device = device_ordinal{2}}); });
  expect<unknown_device>({"device 7"}, [&] {
    device_buffer<float> const made{rt, device_ordinal{7}, 1};
  });
  expect<invalid_argument>({"write_value", "device 0", "device 1"},
                           [&] { rt.post(program.write.over(1)(here, 1u), {.device = one}); });
  expect<wrong_runtime>({"kernel"}, [&] { other.post(nothing); });
  expect<wrong_runtime>({"buffer"}, [&] { other.post(here.fill(0)); });
  expect<wrong_runtime>({"after"}, [&] {
    ticket const foreign = other.submit([](task_context&) {});
    rt.post(nothing, {.after = {foreign}});
  });
}

// requirement: 5 mistakes with memory
TEST_F(Mistakes, WithMemory) {
  std::vector<std::uint32_t> host(15);
  expect<invalid_argument>({"15", "16"}, [&] { (void)here.copy_from(std::span{host}); });
  expect<invalid_argument>({"15", "16"}, [&] { (void)here.copy_to(there.subspan(0, 15)); });
  expect<invalid_argument>({"10", "16"}, [&] { (void)here.subspan(10, 7); });
  expect<error>({"bytes", "device 0"}, [&] {
    device_buffer<std::uint32_t> const made{rt, zero, SIZE_MAX};
  });
  expect<driver_error>({"device 0", "1125899906842624 bytes"}, [&] {
    device_buffer<std::byte> const made{rt, zero, std::size_t{1} << 50};
  });
}

// requirement: 6 mistakes with tickets and callables
TEST_F(Mistakes, WithTicketsAndCallables) {
  expect<invalid_argument>({"after"}, [&] {
    ticket const none;
    rt.post(program.nothing.over(1)(), {.after = {none}});
  });
  expect<invalid_argument>({"callable", "'null'"}, [&] { rt.post(callable{}, {.label = "null"}); });
  expect<would_deadlock>({"callable"}, [&] {
    rt.submit([&](task_context&) { rt.wait_idle(); }, {.device = zero}).wait();
  });
  ticket const cause = rt.submit([](task_context&) { throw std::runtime_error{"no such file"}; },
                                 {.device = zero, .label = "reader"});
  expect<std::runtime_error>({"no such file"}, [&] { cause.wait(); });
  expect<dependency_failed>({"label 'next'", "no such file"}, [&] {
    rt.submit(program.nothing.over(1)(), {.label = "next", .after = {cause}}).wait();
  });
  // A callable that leaves a context on the stack of its thread.
  expect<error>({"label 'leaves one'"}, [&] {
    rt.submit([&](task_context& task) { (void)driver_in_use().ctx_push_current(task.context()); },
              {.device = zero, .label = "leaves one"})
        .wait();
  });
}

// requirement: 5 mistakes with recordings
TEST_F(Mistakes, WithRecordings) {
  recording steps{rt};
  recording others{rt};
  std::vector<std::uint32_t> pageable(16);
  launch const nothing = program.nothing.over(1)();
  expect<invalid_argument>({"no task"}, [&] { (void)steps.replay(); });
  expect<invalid_argument>({"pageable", "host_buffer"},
                           [&] { steps.add(here.copy_from(std::span{pageable})); });
  recorded_task const foreign = others.add(nothing);
  expect<invalid_argument>({"after", "another recording"},
                           [&] { steps.add(nothing, {.after = {foreign}}); });
  steps.add(nothing);
  steps.finish();
  expect<invalid_argument>({"finished", "nothing"}, [&] { steps.add(nothing); });
  expect<invalid_argument>({"another recording"}, [&] { steps.set(foreign, nothing); });
}

// requirement: 4 mistakes that only the checks find
TEST_F(Mistakes, ThatTheChecksFind) {
  // Other tests of this process use at most four devices. They may have opened the memory pools of
  // these devices to each other, and a pool stays open.
  runtime_options options = with({.arguments = true, .order = true});
  options.devices = "cpu:6";
  constexpr device_ordinal home{4};
  constexpr device_ordinal elsewhere{5};
  runtime checked{std::move(options)};
  test_program const kernels{checked};
  device_buffer<std::uint32_t> value{checked, home, 1};
  std::uint32_t on_host = 0;
  expect<invalid_argument>({"write_value", "argument 0", "pageable"}, [&] {
    checked.post(kernels.write.over(1)(&on_host, 1u), {.device = home});
  });
  expect<invalid_argument>({"write_value", "argument 0", "device 4", "device 5"}, [&] {
    checked.post(kernels.write.over(1)(value.data(), 1u), {.device = elsewhere});
  });
  expect<invalid_argument>({"write_value", "argument 0"}, [&] {
    std::uint32_t* dangling = nullptr;
    {
      device_buffer<std::uint32_t> const gone{checked, home, 1};
      dangling = reinterpret_cast<std::uint32_t*>(gone.address());
    }
    checked.post(kernels.write.over(1)(dangling, 1u), {.device = home});
  });
  ticket const first = checked.submit(kernels.write.over(1)(value, 1u), {.label = "first"});
  expect<missing_dependency>({"first", "second", "'after'"}, [&] {
    checked.post(kernels.write.over(1)(value, 2u), {.label = "second"});
  });
}

}  // namespace
}  // namespace flotilla::test
