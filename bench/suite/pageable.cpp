// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: how long does a copy of 1 GiB between pageable memory and the device take, to the
//           device (up) and from it (down)?
// Control:  cuMemcpyHtoD and cuMemcpyDtoH with pageable memory.

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "bench_suite.hpp"
#include "cached_fixture.hpp"
#include "control_subject.hpp"
#include "device_words.hpp"
#include "driver/check.hpp"
#include "host_words.hpp"
#include "machine.hpp"
#include "plain_device.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

struct pageable_size {
  std::size_t words = 0;
  bool operator==(pageable_size const&) const = default;
};

/// The runtime has up to four workers, because idle workers can share a copy.
int pageable_workers() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) - 1, 1, 4);
}

class pageable_runtime final : public cached_fixture {
 public:
  using options = pageable_size;
  explicit pageable_runtime(options const& wanted) : created_with{wanted} { write_words(host_, 0); }

  void clear_device() { rt_.submit(device_.fill(~0ull)).wait(); }
  void up() { rt_.submit(device_.copy_from(host_)).wait(); }
  void check_device() { words_.check(device_, 0, "flotilla, up"); }
  void write_device(unsigned long long seed) { words_.write(device_, seed); }
  void down() { rt_.submit(device_.copy_to(destination_)).wait(); }
  void check_host(unsigned long long seed) { check_words(destination_, seed, "flotilla, down"); }

  options const created_with;

 private:
  runtime rt_{{.devices = first_devices(1), .workers = pageable_workers()}};
  device_words words_{rt_};
  std::vector<unsigned long long> host_ = std::vector<unsigned long long>(created_with.words);
  std::vector<unsigned long long> destination_ = host_;
  device_buffer<unsigned long long> device_{rt_, device_ordinal{0}, created_with.words};
};

class plain_pageable final : public cached_fixture {
 public:
  using options = pageable_size;
  explicit plain_pageable(options const& wanted) : created_with{wanted} {
    plain_device::scope const current{plain_};
    device_ = plain_.allocate(bytes());
    write_words(host_, 0);
  }

  void clear_device() {
    plain_device::scope const current{plain_};
    check(plain_.api().memset_d8(device_, 0xff, bytes()), "cuMemsetD8", control_subject);
    plain_.synchronize();
  }
  void up() {
    plain_device::scope const current{plain_};
    check(plain_.api().memcpy_htod(device_, host_.data(), bytes()), "cuMemcpyHtoD",
          control_subject);
    plain_.synchronize();  // the last piece may still be on its way when cuMemcpyHtoD returns
  }
  void check_device() {
    plain_device::scope const current{plain_};
    plain_.check_words(device_, created_with.words, 0, "cuMemcpyHtoD");
  }
  void write_device(unsigned long long seed) {
    plain_device::scope const current{plain_};
    plain_.write_words(device_, created_with.words, seed);
  }
  void down() {
    plain_device::scope const current{plain_};
    check(plain_.api().memcpy_dtoh(destination_.data(), device_, bytes()), "cuMemcpyDtoH",
          control_subject);
  }
  void check_host(unsigned long long seed) { check_words(destination_, seed, "cuMemcpyDtoH"); }

  options const created_with;

 private:
  [[nodiscard]] std::size_t bytes() const noexcept {
    return created_with.words * sizeof(unsigned long long);
  }

  plain_device plain_;
  std::vector<unsigned long long> host_ = std::vector<unsigned long long>(created_with.words);
  std::vector<unsigned long long> destination_ = host_;
  CUdeviceptr device_ = 0;
};

template <class Fixture>
void add_figures(bench_suite& suite, std::string const& who, pageable_size size) {
  double const bytes = static_cast<double>(size.words) * sizeof(unsigned long long);
  figure_tags const tags{.who = who, .what = "pageable", .backlog = 1, .bytes = bytes};
  suite.measure(who + ", pageable memory up", tags, [=](figure&) {
    auto& fixture = get_fixture<Fixture>(size);
    fixture.clear_device();
    auto const start = clock::now();
    fixture.up();
    double const ns = ns_each(start, 1);
    fixture.check_device();
    return ns;
  });
  suite.measure(who + ", pageable memory down", tags, [=, seed = 0ull](figure&) mutable {
    auto& fixture = get_fixture<Fixture>(size);
    fixture.write_device(++seed);  // each pass copies other words
    auto const start = clock::now();
    fixture.down();
    double const ns = ns_each(start, 1);
    fixture.check_host(seed);
    return ns;
  });
}

}  // namespace

void add_pageable(bench_suite& suite) {
  pageable_size const size{.words = suite.amount().copy_bytes / sizeof(unsigned long long)};
  add_figures<pageable_runtime>(suite, "flotilla", size);
  add_figures<plain_pageable>(suite, "the driver", size);
  suite.compare({.id = "pageable",
                 .subject = "flotilla, pageable memory up",
                 .control = "cuMemcpyHtoD",
                 .controls = {"the driver, pageable memory up"},
                 .max_ratio = 1 / 1.5});
  suite.compare({.id = "pageable",
                 .subject = "flotilla, pageable memory down",
                 .control = "cuMemcpyDtoH",
                 .controls = {"the driver, pageable memory down"},
                 .max_ratio = 1 / 1.5});
}

}  // namespace flotilla::bench
