// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels with more than 4096 bytes of arguments, up to the driver's 32764.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <flotilla/kernel/compile.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

template <std::size_t Bytes>
struct blob {
  unsigned char byte[Bytes];
};

class LargeArguments : public contract_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();  // on GPUs, compiling needs NVRTC
    contract_test::SetUp();
  }
  /// A kernel that adds the sum of the bytes of its first argument to a word.
  static std::string source(std::size_t bytes) {
    std::string const count = std::to_string(bytes);
    return "struct blob { unsigned char byte[" + count +
           "]; };\nextern \"C\" __global__ void sum(blob s, unsigned* out) { unsigned v = 0; for "
           "(int i = 0; i < " +
           count + "; ++i) { v += s.byte[i]; } atomicAdd(out, v); }";
  }
  /// Passes such arguments in each way in which a launch can be made.
  template <std::size_t Bytes>
  void pass() {
    auto const loaded = compile(rt(), source(Bytes));
    auto const sum = loaded.kernel<blob<Bytes>, std::uint32_t*>("sum").with_shape({1}, {1});
    blob<Bytes> values{};
    std::uint32_t expected = 0;
    for (std::size_t i = 0; i < Bytes; ++i) {
      values.byte[i] = static_cast<unsigned char>(i * 7);
      expected += values.byte[i];
    }
    device_word out{rt(), last()};
    std::uint32_t times = 0;
    auto const check = [&](std::uint32_t more, char const* how) {
      EXPECT_EQ(out.read(), expected * (times += more)) << how << ", " << Bytes << " bytes";
    };
    launch const described = sum(values, out.buffer());
    rt().submit(described).wait();
    check(1, "submit");
    launch copied = described;
    launch const moved = std::move(copied);
    rt().submit(moved, {.batch = false}).wait();
    check(1, "alone");
    rt().submit(bulk(sum, 20,
                     [&](std::size_t) {
                       return std::tuple{values, out.buffer().data()};
                     }),
                {.device = last()})
        .wait();
    check(20, "bulk");
    for (int i = 0; i < 300; ++i) { rt().post(sum(values, out.buffer())); }
    rt().wait_idle();
    check(300, "posts");
    recording steps{rt()};
    for (int i = 0; i < 3; ++i) { steps.add(described); }
    steps.replay().wait();
    check(3, "recording");
    flow work{rt()};
    data<std::uint32_t> total{work, {1}};
    total.host_for_update()(0) = 0;
    work.post(sum(values, update(total)));
    EXPECT_EQ(total.host()(0), expected);
  }
};
FLOTILLA_CONTRACT(LargeArguments);

// requirement: every way to launch passes such arguments. The sizes are those around the former
// limit of 4096 bytes, with the pointer, and the largest
TEST_P(LargeArguments, ArriveHoweverTheyAreLaunched) {
  pass<64>();
  pass<4088>();
  pass<4089>();
  pass<5000>();
  pass<32752>();
}

// requirement: larger ones are refused with the limit
TEST_P(LargeArguments, OfMoreThanTheLimitAreRefused) {
  auto const loaded = compile(rt(), source(32760));
  EXPECT_THAT(
      thrown<invalid_argument>([&] { (void)loaded.kernel<blob<32760>, std::uint32_t*>("sum"); }),
      AllOf(HasSubstr("'sum'"), HasSubstr("32768 bytes"), HasSubstr("32764")));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)loaded.kernel("sum"); }), HasSubstr("32764"));
}

}  // namespace
}  // namespace flotilla::test
