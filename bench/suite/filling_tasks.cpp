// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "filling_tasks.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include <flotilla_kernels.hpp>

namespace flotilla::bench {

namespace {

// sgemm: a block computes 64 x 64 elements. The grid has four rows of blocks.
constexpr unsigned tile = 64, tile_rows = 4, depth = 128;
// sha256: each thread computes the digest of a message of this size.
constexpr unsigned long long message_bytes = 256;
constexpr std::size_t digest_bytes = 32;
constexpr unsigned sha256_threads = 128, saxpy_threads = 256;

/// Small integers, so that sums of products have no rounding errors.
std::vector<float> numbers(std::size_t count) {
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) { made[i] = static_cast<float>(1 + i % 7); }
  return made;
}

}  // namespace

unsigned filling_tasks::threads_of(std::string const& kernel) {
  return kernel == "sha256" ? sha256_threads : saxpy_threads;  // sgemm: 16 x 16
}

std::size_t filling_tasks::bytes_of_a_block(std::string const& kernel) {
  if (kernel == "sgemm") { return tile * tile * sizeof(float); }
  return kernel == "sha256" ? sha256_threads * digest_bytes : saxpy_threads * sizeof(float);
}

std::size_t filling_tasks::words_of_a_task() const {
  return size_.blocks * bytes_of_a_block(size_.kernel) / sizeof(unsigned long long);
}

filling_runtime::filling_runtime(runtime_options options)
    : rt{std::move(options)}, kernels{rt.load(flotilla_kernels)} {}

filling_tasks::filling_tasks(filling_runtime& with, filling_size size)
    : rt_{with.rt},
      size_{std::move(size)},
      words_{with.words},
      outputs_{rt_, device_ordinal{0}, words_of_a_task() * static_cast<std::size_t>(size_.tasks)} {
  if (size_.kernel == "sgemm") {
    make_sgemm(with.kernels);
  } else if (size_.kernel == "sha256") {
    make_sha256(with.kernels);
  } else {
    make_saxpy(with.kernels);
  }
}

void filling_tasks::make_sgemm(program const& kernels) {
  int const m = tile_rows * tile;
  int const n = static_cast<int>(size_.blocks / tile_rows * tile);
  int const k = depth;
  std::vector<float> const a = numbers(static_cast<std::size_t>(m) * depth);
  std::vector<float> const b = numbers(static_cast<std::size_t>(n) * depth);
  inputs_ = {device_buffer<float>{rt_, device_ordinal{0}, std::span{a}},
             device_buffer<float>{rt_, device_ordinal{0}, std::span{b}}};
  auto const sgemm = kernels.kernel(flotilla_kernels.sgemm)
                         .with_shape({size_.blocks / tile_rows, tile_rows}, {16, 16});
  make_ = [=, this](device_span<unsigned long long> output) {
    return sgemm(m, n, k, 1.0F, std::as_const(inputs_[0]), std::as_const(inputs_[1]), 0.0F,
                 reinterpret_cast<float*>(output.address()));
  };
}

void filling_tasks::make_sha256(program const& kernels) {
  unsigned long long const messages = std::uint64_t{size_.blocks} * sha256_threads;
  unsigned long long const bytes = messages * message_bytes;
  message_ = {rt_, device_ordinal{0}, static_cast<std::size_t>(bytes / sizeof(unsigned long long))};
  words_.write(message_, 1);
  auto const sha256 =
      kernels.kernel(flotilla_kernels.sha256_blocks).with_shape({size_.blocks}, {sha256_threads});
  make_ = [=, this](device_span<unsigned long long> output) {
    return sha256(reinterpret_cast<unsigned char const*>(message_.address()), bytes, message_bytes,
                  messages, reinterpret_cast<unsigned char*>(output.address()));
  };
}

void filling_tasks::make_saxpy(program const& kernels) {
  int const count = static_cast<int>(size_.blocks * saxpy_threads);
  std::vector<float> const x = numbers(static_cast<std::size_t>(count));
  inputs_[0] = {rt_, device_ordinal{0}, std::span{x}};
  auto const saxpy =
      kernels.kernel(flotilla_kernels.saxpy).with_shape({size_.blocks}, {saxpy_threads});
  make_ = [=, this](device_span<unsigned long long> output) {
    return saxpy(2.0F, std::as_const(inputs_[0]), reinterpret_cast<float*>(output.address()),
                 count);
  };
}

void filling_tasks::clear() { rt_.submit(outputs_.fill(0)).wait(); }

void filling_tasks::run() {
  std::size_t const words = words_of_a_task();
  for (int round = 0; round < size_.rounds; ++round) {
    for (std::size_t at = 0; at < outputs_.size(); at += words) {
      static_cast<void>(
          rt_.submit(make_(outputs_.subspan(at, words)), {.device = device_ordinal{0}}));
    }
    rt_.wait_idle();
  }
}

void filling_tasks::check(std::string const& who) {
  words_.check_repeats(outputs_, words_of_a_task(), who);
  std::vector<unsigned long long> const first = first_output();
  if (std::find(first.begin(), first.end(), 0) != first.end()) {
    throw std::runtime_error{who + ": a word of the output was not written"};
  }
}

std::vector<unsigned long long> filling_tasks::first_output() {
  std::vector<unsigned long long> output(words_of_a_task());
  rt_.submit(outputs_.subspan(0, output.size()).copy_to(output)).wait();
  return output;
}

}  // namespace flotilla::bench
