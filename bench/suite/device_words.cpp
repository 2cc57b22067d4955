// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "device_words.hpp"

#include <array>
#include <bench_kernels.hpp>

#include "host_words.hpp"
#include "words.hpp"

namespace flotilla::bench {

namespace {

constexpr extent grid{word_blocks}, block{word_threads};

}  // namespace

device_words::device_words(runtime& rt)
    : rt_{rt}, kernels_{rt.load(bench_kernels)}, wrong_{rt, device_ordinal{0}, 1} {}

void device_words::write(device_span<unsigned long long> words, unsigned long long seed) {
  rt_.submit(kernels_.kernel(bench_kernels.write_words)
                 .with_shape(grid, block)(words, words.size(), seed))
      .wait();
}

void device_words::check(device_span<unsigned long long const> words, unsigned long long seed,
                         std::string const& who) {
  require_none(kernels_.kernel(bench_kernels.count_wrong_words)
                   .with_shape(grid, block)(words, words.size(), seed, wrong_),
               who);
}

void device_words::check_repeats(device_span<unsigned long long const> words, std::size_t period,
                                 std::string const& who) {
  require_none(kernels_.kernel(bench_kernels.count_unequal_words)
                   .with_shape(grid, block)(words, words.size(), period, wrong_),
               who);
}

void device_words::require_none(launch const& counting, std::string const& who) {
  std::array<unsigned, 1> wrong{};
  rt_.submit(wrong_.fill(0)).wait();
  rt_.submit(counting).wait();
  rt_.submit(wrong_.copy_to(wrong)).wait();
  require_no_wrong_words(wrong[0], who);
}

}  // namespace flotilla::bench
