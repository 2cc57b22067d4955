// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: how fast do chunks of 64 KiB go to the device, through a kernel, and back, if the three
//           tasks of a chunk are ordered with `after`?
// Control:  the same with eight streams by hand.

#include <bench_kernels.hpp>
#include <flotilla/flotilla.hpp>

#include "bench_suite.hpp"
#include "host_words.hpp"
#include "machine.hpp"
#include "plain_pipeline.hpp"

namespace flotilla::bench {

namespace {

constexpr double min_bytes_per_ns = 35;  // 35 GB/s each way
constexpr double chunk_bytes = pipeline_size::words * sizeof(unsigned long long);

class pipeline_runtime final : public cached_fixture {
 public:
  using options = pipeline_size;
  explicit pipeline_runtime(options const& wanted) : created_with{wanted} {
    write_words(host_source_.span(), 0);
  }

  /// Adds `increment` to all words on their way.
  void run(unsigned long long increment) {
    constexpr std::size_t words = pipeline_size::words;
    for (std::size_t i = 0; i < created_with.all_words(); i += words) {
      device_span<unsigned long long> const chunk = chunks_.subspan(i, words);
      ticket const up = rt_.submit(chunk.copy_from(host_source_.subspan(i, words)));
      ticket const added = rt_.submit(add_(chunk, words, increment), {.after = {up}});
      static_cast<void>(
          rt_.submit(chunk.copy_to(host_destination_.subspan(i, words)), {.after = {added}}));
    }
    rt_.wait_idle();
  }
  /// Checks what the last run has copied to the host. @throws std::runtime_error
  void check_result(unsigned long long increment) {
    check_words(host_destination_.span(), increment, "flotilla");
  }

  options const created_with;

 private:
  runtime rt_{{.devices = first_devices(1), .workers = 1}};
  kernel<unsigned long long*, unsigned long long, unsigned long long>::configured add_{
      rt_.load(bench_kernels)
          .kernel(bench_kernels.add_to_words)
          .with_shape({pipeline_size::blocks}, {pipeline_size::threads})};
  host_buffer<unsigned long long> host_source_{rt_, created_with.all_words()};
  host_buffer<unsigned long long> host_destination_{rt_, created_with.all_words()};
  device_buffer<unsigned long long> chunks_{rt_, device_ordinal{0}, created_with.all_words()};
};

template <class Fixture>
void add_figure(bench_suite& suite, std::string const& who, pipeline_size size) {
  auto const chunks = static_cast<std::int64_t>(size.chunks);
  suite.measure(who + ", pipeline of 64 KiB",
                {.who = who, .what = "pipeline of 64 KiB", .backlog = chunks, .bytes = chunk_bytes},
                [=, increment = 0ull](figure&) mutable {
                  auto& fixture = get_fixture<Fixture>(size);
                  ++increment;  // each pass has other results
                  auto const start = clock::now();
                  fixture.run(increment);
                  double const each = ns_each(start, chunks);
                  fixture.check_result(increment);
                  return each;
                });
}

}  // namespace

void add_pipeline(bench_suite& suite) {
  pipeline_size const size{.chunks = static_cast<std::size_t>(suite.amount().copies / 2)};
  add_figure<pipeline_runtime>(suite, "flotilla", size);
  add_figure<plain_pipeline>(suite, "streams by hand", size);
  suite.compare({.id = "pipeline_64k",
                 .subject = "flotilla, pipeline of 64 KiB",
                 .control = "eight streams by hand",
                 .controls = {"streams by hand, pipeline of 64 KiB"},
                 .max_value = chunk_bytes / min_bytes_per_ns});
}

}  // namespace flotilla::bench
