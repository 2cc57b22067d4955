// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels without types, whose launches are built at run time, and handles with types.

#include <utility>

#include <flotilla/data/flow.hpp>
#include <flotilla/kernel/untyped_data_launch.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class UntypedKernel : public contract_test {
 protected:
  untyped_kernel kernel(char const* name) { return program().loaded.kernel(name); }
  untyped_launch launch_of(char const* name) {
    return kernel(name).with_shape({1}, {1}).arguments();
  }
};
FLOTILLA_CONTRACT(UntypedKernel);

// requirement: the parameters are those of the source
TEST_P(UntypedKernel, HasItsNameAndParameters) {
  untyped_kernel const step = kernel("multiply_add");
  EXPECT_EQ(step.name(), "multiply_add");
  ASSERT_EQ(step.parameters().size(), 3u);
  EXPECT_EQ(step.parameters()[0].bytes, sizeof(void*));
  EXPECT_EQ(step.parameters()[1].offset, sizeof(void*));
  EXPECT_EQ(step.parameters()[1].bytes, 4u);
  EXPECT_EQ(step.parameters()[2].offset, sizeof(void*) + 4);
  EXPECT_TRUE(kernel("nothing").parameters().empty());
}

// requirement: a launch from bytes runs like a typed launch, any number of times
TEST_P(UntypedKernel, RunsWithAppendedArguments) {
  device_word word{rt(), last(), 2};
  std::uint32_t const factor = 10, summand = 3;
  untyped_launch next = launch_of("multiply_add");
  next.append(word.buffer()).append(&factor, sizeof factor).append(&summand, sizeof summand);
  EXPECT_EQ(next.size(), 3u);
  launch const made = next.finish();
  EXPECT_EQ(made.device(), last());
  ticket const once = rt().submit(made);
  EXPECT_EQ(word.read({rt().submit(std::move(next).finish(), {.after = {once}})}), 233u);
}

// requirement: large arguments
TEST_P(UntypedKernel, TakesLargeArguments) {
  words_4088 words{};
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < 1022; ++i) {
    words.word[i] = 3 * i;
    expected += words.word[i] * (i + 1);  // as the kernel does
  }
  device_word sum{rt(), last()};
  untyped_launch next = launch_of("sum_4088");
  next.append(&words, sizeof words).append(sum.buffer().span());
  EXPECT_EQ(sum.read({rt().submit(next.finish())}), expected);
}

// requirement: errors name the kernel, the index, the given size and the expected size
TEST_P(UntypedKernel, RefusesWrongSizesByName) {
  device_word word{rt(), first()};
  std::uint64_t const wide = 1;
  untyped_launch next = launch_of("write_value");
  EXPECT_THAT(thrown<invalid_argument>([&] { next.append(&wide, 4); }),
              AllOf(HasSubstr("'write_value', argument 0"), HasSubstr("it has 4 bytes"),
                    HasSubstr("has 8 bytes")));
  next.append(word.buffer());
  EXPECT_THAT(thrown<invalid_argument>([&] { next.append(&wide, sizeof wide); }),
              AllOf(HasSubstr("'write_value', argument 1"), HasSubstr("it has 8 bytes"),
                    HasSubstr("has 4 bytes")));
  EXPECT_THAT(thrown<invalid_argument>([&] { next.append(word.buffer()); }),
              HasSubstr("'write_value', argument 1"));
  EXPECT_EQ(next.size(), 1u);
}

// requirement: a launch can use data of a flow, and errors name the kernel and the argument
TEST_P(UntypedKernel, UsesDataOfAFlow) {
  flow all{rt()};
  data<std::uint32_t> value{all, {1}, "the value"}, copy{all, {1}};
  std::uint32_t const two = 2, three = 3;
  auto const begin = [&](char const* name) { return untyped_data_launch{launch_of(name)}; };
  all.post(begin("write_value").append(write(value)).append(&two, sizeof two).finish());
  all.post(begin("multiply_add")
               .append(update(value))
               .append(&three, sizeof three)
               .append(&two, sizeof two)
               .finish(),
           {.device = last()});
  all.post(begin("copy_value").append(write(copy)).append(read(value)).finish());
  EXPECT_EQ(copy.host()(0), 8u);
  untyped_data_launch bad = begin("write_value");
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)bad.finish(); }), HasSubstr("2 parameters"));
  bad.append(update(value));
  EXPECT_THAT(thrown<invalid_argument>([&] { bad.append(read(copy)); }),
              AllOf(HasSubstr("'write_value', argument 1: the parameter has 4 bytes"),
                    HasSubstr("a view of 1 dimension has 24")));
  bad.append(&two, sizeof two);
  EXPECT_THAT(thrown<invalid_argument>([&] { bad.append(read(copy)); }),
              HasSubstr("'write_value', argument 2: the kernel has only 2 parameters"));
  all.post(bad.finish());
  EXPECT_EQ(value.host()(0), 2u);
}

// requirement
TEST_P(UntypedKernel, RefusesAWrongNumberOfArguments) {
  device_word word{rt(), first()};
  std::uint32_t const value = 7;
  untyped_launch next = launch_of("write_value");
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)next.finish(); }),
              AllOf(HasSubstr("'write_value' has 2 parameters"), HasSubstr("only 0 arguments")));
  next.append(word.buffer());
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)next.finish(); }), HasSubstr("only 1 argument"));
  next.append(&value, sizeof value);
  EXPECT_THAT(thrown<invalid_argument>([&] { next.append(&value, sizeof value); }),
              AllOf(HasSubstr("'write_value', argument 2"), HasSubstr("only 2 parameters")));
  EXPECT_EQ(word.read({rt().submit(next.finish())}), 7u);
  rt().submit(launch_of("nothing").finish()).wait();
}

// requirement: spans identify their device and their runtime, as in typed launches
TEST_P(UntypedKernel, RefusesSpansOfTwoDevicesOrOfAnotherRuntime) {
  runtime_options separate = options();
  separate.settings.all.peer_access = false;
  start(std::move(separate));
  runtime other{options()};
  device_word foreign{other, first()};
  untyped_launch next = launch_of("copy_value");
  EXPECT_THAT(thrown<wrong_runtime>([&] { next.append(foreign.buffer()); }),
              HasSubstr("'copy_value', argument 0"));
  if (device_count() < 2) { return; }
  device_word here{rt(), first()}, there{rt(), last()};
  next.append(here.buffer());
  next.append(there.buffer());
  EXPECT_THAT(thrown<invalid_argument>([&] { rt().post(next.finish()); }),
              AllOf(HasSubstr("'copy_value', argument 1"), HasSubstr("device")));
}

// requirement
TEST_P(UntypedKernel, RefusesUnknownKernels) {
  EXPECT_THAT(thrown<unknown_symbol>([&] { (void)kernel("no_such_kernel"); }),
              HasSubstr("no_such_kernel"));
}

// requirement: the checks of a runtime know the spans. A span of const elements is only read
TEST_P(UntypedKernel, OrderChecksSeeSpans) {
  auto with = options();
  with.checks = checks{.order = true};
  start(with);
  device_word from{rt(), first(), 5}, to{rt(), first()}, also{rt(), first()};
  auto const copy = [&](device_word& target) {
    untyped_launch next = launch_of("copy_value");
    next.append(target.buffer()).append(std::as_const(from.buffer()));
    return next.finish();
  };
  ticket const one = rt().submit(copy(to));
  ticket const two = rt().submit(copy(also));  // both only read `from`
  EXPECT_THAT(thrown<missing_dependency>([&] { (void)rt().submit(copy(to)); }),
              HasSubstr("copy_value"));
  one.wait();
  two.wait();
}

// requirement: flotilla_add_kernels writes handles with the types of the source
TEST_P(UntypedKernel, HandlesHaveTheTypesOfTheSource) {
  kernel_handle<void(std::uint32_t*, std::uint32_t)> const write{"write_value"};
  flotilla::kernel<std::uint32_t*, std::uint32_t> const typed = program().loaded.kernel(write);
  device_word word{rt(), last()};
  EXPECT_EQ(word.read({rt().submit(typed.with_shape({1}, {1})(word.buffer(), 9u))}), 9u);
  kernel_handle<void(std::uint32_t*)> const wrong{"write_value"};
  EXPECT_THROW((void)program().loaded.kernel(wrong), invalid_argument);
}

// requirement: an image for GPUs only loads on CPU devices, and each kernel says so by name. Other
// programs are not affected
TEST_P(UntypedKernel, KernelsForGpusOnlySaySoOnCpuDevices) {
  if (on_gpus()) { GTEST_SKIP() << "needs CPU devices"; }
  static constexpr char const* names[] = {"tensor", "cluster", nullptr};
  image const gpu_only{.name = "solver", .gpu_only = names};
  flotilla::program const loaded = rt().load(gpu_only);
  EXPECT_EQ(loaded.kernel_names(), (std::vector<std::string>{"tensor", "cluster"}));
  auto const says_so = AllOf(HasSubstr("'tensor'"), HasSubstr("image 'solver'"),
                             HasSubstr("GPU_ONLY"), HasSubstr("only for GPUs"));
  EXPECT_THAT(thrown<gpu_only_kernel>([&] { (void)loaded.kernel("tensor"); }), says_so);
  EXPECT_THAT(thrown<gpu_only_kernel>([&] { (void)loaded.kernel<int>("tensor"); }), says_so);
  EXPECT_THAT(thrown<unknown_symbol>([&] { (void)loaded.kernel<>("missing"); }),
              AllOf(HasSubstr("missing"), HasSubstr("tensor, cluster")));
  std::byte byte{};
  EXPECT_THAT(thrown<gpu_only_kernel>([&] {
                loaded.read_global(first(), "table", {&byte, 1});
              }),
              AllOf(HasSubstr("'table'"), HasSubstr("GPU_ONLY")));
  EXPECT_THROW(loaded.prefer_cache(first(), "tensor", {}), gpu_only_kernel);
  rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()}).wait();
}

}  // namespace
}  // namespace flotilla::test
