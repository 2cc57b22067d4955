// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks of the kernels sgemm, sha256_blocks and saxpy for the row `slowdown`.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "device_words.hpp"

namespace flotilla::bench {

/// A flood of tasks that keeps the device busy.
struct filling_size {
  std::string kernel;      // "sgemm", "sha256" or "saxpy"
  unsigned blocks = 0;     // of a task; a multiple of 4
  std::int64_t tasks = 0;  // of a round; each writes other memory
  int rounds = 0;          // the next round begins when the previous one has ended
};

/// A runtime with the kernels. The kernels are loaded once: flotilla learns how long a kernel runs,
/// and would have to learn it again after each load.
struct filling_runtime {
  explicit filling_runtime(runtime_options options);
  runtime rt;
  program const kernels;  // flotilla_kernels
  device_words words{rt};
};

/// The memory and the kernel of such a flood. All tasks have the same input, so all of them must
/// compute the same output.
class filling_tasks {
 public:
  filling_tasks(filling_runtime& with, filling_size size);
  filling_tasks(filling_tasks const&) = delete;
  filling_tasks& operator=(filling_tasks const&) = delete;

  void clear();
  /// Runs all rounds.
  void run();
  /// Checks that all tasks of the last run have the same output, and that it is not the cleared
  /// one. @throws std::runtime_error
  void check(std::string const& who);
  /// Returns the output of the first task.
  [[nodiscard]] std::vector<unsigned long long> first_output();

  /// The number of threads of a block of this kernel.
  [[nodiscard]] static unsigned threads_of(std::string const& kernel);
  /// The number of bytes that a block writes.
  [[nodiscard]] static std::size_t bytes_of_a_block(std::string const& kernel);

 private:
  void make_sgemm(program const& kernels);
  void make_sha256(program const& kernels);
  void make_saxpy(program const& kernels);
  [[nodiscard]] std::size_t words_of_a_task() const;

  runtime& rt_;
  filling_size const size_;
  device_words& words_;
  device_buffer<unsigned long long> outputs_;
  std::array<device_buffer<float>, 2> inputs_;
  device_buffer<unsigned long long> message_;
  std::function<launch(device_span<unsigned long long> output)> make_;
};

}  // namespace flotilla::bench
