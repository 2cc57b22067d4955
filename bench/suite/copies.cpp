// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a copy of 4 KiB or 64 KiB cost in a flood of copies between pinned and device
//           memory: to the device (up), from it (down), or both at once? If both at once, the cost
//           is that of one copy in each direction.
// Control:  cuMemcpyHtoDAsync and cuMemcpyDtoHAsync by one thread, in a stream for each direction.

#include <string>

#include "bench_suite.hpp"
#include "device_words.hpp"
#include "host_words.hpp"
#include "machine.hpp"
#include "plain_copies.hpp"

namespace flotilla::bench {

namespace {

constexpr double min_bytes_per_ns = 40;  // 40 GB/s

/// A runtime, and memory that is copied.
class copying_runtime final : public cached_fixture {
 public:
  using options = plain_copies::options;
  explicit copying_runtime(options const& wanted) : created_with{wanted} {
    write_words(host_source_.span(), 0);
  }

  void prepare(directions const& which) {
    if (which.up) { rt_.submit(device_destination_.fill(~0ull)).wait(); }
    if (which.down) { words_of_device_.write(device_source_, ++seed_); }
  }
  void run(directions const& which) {
    std::size_t const size = created_with.bytes / sizeof(unsigned long long);
    for (std::int64_t copy = 0; copy < created_with.copies; ++copy) {
      std::size_t const i = scattered(copy, created_with.copies) * size;
      if (which.up) {
        static_cast<void>(rt_.submit(
            device_destination_.subspan(i, size).copy_from(host_source_.subspan(i, size))));
      }
      if (which.down) {
        static_cast<void>(rt_.submit(
            device_source_.subspan(i, size).copy_to(host_destination_.subspan(i, size))));
      }
    }
    rt_.wait_idle();
  }
  /// Checks the copies of the last run. @throws std::runtime_error
  void check_copies(directions const& which) {
    if (which.up) { words_of_device_.check(device_destination_, 0, "flotilla, up"); }
    if (which.down) { check_words(host_destination_.span(), seed_, "flotilla, down"); }
  }

  options const created_with;

 private:
  [[nodiscard]] std::size_t words() const noexcept {
    return created_with.bytes * static_cast<std::size_t>(created_with.copies) /
           sizeof(unsigned long long);
  }

  runtime rt_{{.devices = first_devices(1), .workers = 1}};
  device_words words_of_device_{rt_};
  host_buffer<unsigned long long> host_source_{rt_, words()}, host_destination_{rt_, words()};
  device_buffer<unsigned long long> device_source_{rt_, device_ordinal{0}, words()};
  device_buffer<unsigned long long> device_destination_{rt_, device_ordinal{0}, words()};
  unsigned long long seed_ = 0;  // of `device_source_`
};

std::string named(std::string const& who, std::string const& size, directions const& which) {
  return who + ", copies of " + size + " " + which.name;
}

template <class Fixture>
void add_figure(bench_suite& suite, std::string const& who, std::string const& size,
                typename Fixture::options const& options, directions const& which) {
  suite.measure(named(who, size, which),
                {.who = who,
                 .what = "copies of " + size,
                 .backlog = options.copies,
                 .bytes = static_cast<double>(options.bytes)},
                [=](figure&) {
                  auto& fixture = get_fixture<Fixture>(options);
                  fixture.prepare(which);
                  auto const start = clock::now();
                  fixture.run(which);
                  double const each = ns_each(start, options.copies);
                  fixture.check_copies(which);
                  return each;
                });
}

void add_rows(bench_suite& suite, std::string const& id, std::string const& size, double bytes,
              double max_ratio) {
  for (directions const& which : all_directions) {
    row row{.id = id,
            .subject = named("flotilla", size, which),
            .control = std::string{"the driver one by one, "} + which.name,
            .controls = {named("the driver one by one", size, which)},
            .max_ratio = max_ratio};
    suite.compare(row);
    row.max_ratio.reset();
    row.max_value = bytes / min_bytes_per_ns;
    suite.compare(row);
  }
}

}  // namespace

void add_copies(bench_suite& suite) {
  struct size {
    char const* id;
    char const* text;
    std::size_t bytes;
    double max_ratio;
  };
  for (size const& each :
       {size{"copies_4k", "4 KiB", 4096, 0.1}, size{"copies_64k", "64 KiB", 65536, 0.5}}) {
    plain_copies::options const options{.bytes = each.bytes, .copies = suite.amount().copies};
    for (directions const& which : all_directions) {
      add_figure<copying_runtime>(suite, "flotilla", each.text, options, which);
    }
    for (directions const& which : all_directions) {
      add_figure<plain_copies>(suite, "the driver one by one", each.text, options, which);
    }
    add_rows(suite, each.id, each.text, static_cast<double>(each.bytes), each.max_ratio);
  }
}

}  // namespace flotilla::bench
