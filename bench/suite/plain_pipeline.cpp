// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "plain_pipeline.hpp"

#include "control_subject.hpp"
#include "driver/check.hpp"
#include "host_words.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

}  // namespace

plain_pipeline::plain_pipeline(options const& wanted) : created_with{wanted} {
  plain_device::scope const current{device_};
  std::size_t const words = wanted.all_words();
  std::size_t const bytes = words * sizeof(unsigned long long);
  for (CUstream& each : streams_) { each = device_.make_stream(); }
  kernel_ = device_.kernel("add_to_words");
  host_source_ = {static_cast<unsigned long long*>(device_.allocate_pinned(bytes)), words};
  host_destination_ = {static_cast<unsigned long long*>(device_.allocate_pinned(bytes)), words};
  chunks_ = device_.allocate(bytes);
  write_words(host_source_, 0);
}

void plain_pipeline::run(unsigned long long increment) {
  plain_device::scope const current{device_};
  driver::table const& api = device_.api();
  unsigned long long count = pipeline_size::words;
  constexpr std::size_t bytes = pipeline_size::words * sizeof(unsigned long long);
  for (std::size_t i = 0; i < created_with.chunks; ++i) {
    CUstream const stream = streams_[i % streams];
    CUdeviceptr chunk = chunks_ + i * bytes;
    check(api.memcpy_htod_async(chunk, &host_source_[i * pipeline_size::words], bytes, stream),
          "cuMemcpyHtoDAsync", control_subject);
    void* arguments[] = {&chunk, &count, &increment};
    device_.launch(kernel_, pipeline_size::blocks, pipeline_size::threads, stream, arguments);
    check(api.memcpy_dtoh_async(&host_destination_[i * pipeline_size::words], chunk, bytes, stream),
          "cuMemcpyDtoHAsync", control_subject);
  }
  for (CUstream const each : streams_) { device_.synchronize(each); }
}

void plain_pipeline::check_result(unsigned long long increment) const {
  check_words(host_destination_, increment, "streams by hand");
}

}  // namespace flotilla::bench
