// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "plain_copies.hpp"

#include "control_subject.hpp"
#include "driver/check.hpp"
#include "host_words.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

}  // namespace

plain_copies::plain_copies(options const& wanted) : created_with{wanted} {
  plain_device::scope const current{device_};
  std::size_t const all = words() * sizeof(unsigned long long);
  up_stream_ = device_.make_stream();
  down_stream_ = device_.make_stream();
  host_source_ = {static_cast<unsigned long long*>(device_.allocate_pinned(all)), words()};
  host_destination_ = {static_cast<unsigned long long*>(device_.allocate_pinned(all)), words()};
  device_source_ = device_.allocate(all);
  device_destination_ = device_.allocate(all);
  write_words(host_source_, 0);
}

std::size_t plain_copies::words() const noexcept {
  return created_with.bytes * static_cast<std::size_t>(created_with.copies) /
         sizeof(unsigned long long);
}

void plain_copies::prepare(directions const& which) {
  plain_device::scope const current{device_};
  if (which.up) {
    check(device_.api().memset_d8(device_destination_, 0xff, words() * sizeof(unsigned long long)),
          "cuMemsetD8", control_subject);
  }
  if (which.down) { device_.write_words(device_source_, words(), ++seed_); }
  device_.synchronize();
}

void plain_copies::run(directions const& which) {
  plain_device::scope const current{device_};
  driver::table const& api = device_.api();
  std::size_t const bytes = created_with.bytes;
  auto const* from = reinterpret_cast<std::byte const*>(host_source_.data());
  auto* to = reinterpret_cast<std::byte*>(host_destination_.data());
  for (std::int64_t i = 0; i < created_with.copies; ++i) {
    std::size_t const offset = scattered(i, created_with.copies) * bytes;
    if (which.up) {
      check(api.memcpy_htod_async(device_destination_ + offset, from + offset, bytes, up_stream_),
            "cuMemcpyHtoDAsync", control_subject);
    }
    if (which.down) {
      check(api.memcpy_dtoh_async(to + offset, device_source_ + offset, bytes, down_stream_),
            "cuMemcpyDtoHAsync", control_subject);
    }
  }
  device_.synchronize(up_stream_);
  device_.synchronize(down_stream_);
}

void plain_copies::check_copies(directions const& which) {
  plain_device::scope const current{device_};
  if (which.up) { device_.check_words(device_destination_, words(), 0, "cuMemcpyHtoDAsync"); }
  if (which.down) { check_words(host_destination_, seed_, "cuMemcpyDtoHAsync"); }
}

}  // namespace flotilla::bench
