// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
//
// Prints what NVIDIA's profilers see of a program: the ranges of NVTX and the kernels launched in
// them, as CUPTI records them. No part of the build, because few toolkits contain CUPTI:
//
//   g++ -std=c++20 -shared -fPIC -I <CUDA>/include cupti_ranges.cpp -o ranges.so <libcupti.so.13>
//   NVTX_INJECTION64_PATH=<libcupti.so.13> CUDA_INJECTION64_PATH=./ranges.so program
//
// The driver loads CUDA_INJECTION64_PATH in cuInit and calls InitializeInjection. NVTX loads CUPTI
// when the program opens its domain.

#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace {

constexpr std::size_t buffer_bytes = 1 << 20;

struct records {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> ranges;   // "domain: name" -> how often
  std::map<std::string, std::uint64_t> kernels;  // name -> how often
};

records& all() {
  static auto* const made = new records;  // must outlive the function of atexit
  return *made;
}

void check(CUptiResult result, char const* what) {
  if (result == CUPTI_SUCCESS) { return; }
  char const* text = nullptr;
  cuptiGetResultString(result, &text);
  std::fprintf(stderr, "ranges: %s: %s\n", what, text != nullptr ? text : "?");
}

void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *size = buffer_bytes;
  *max_records = 0;
}

void note(CUpti_Activity* record) {
  if (record->kind == CUPTI_ACTIVITY_KIND_MARKER) {
    auto const& marker = *reinterpret_cast<CUpti_ActivityMarker2 const*>(record);
    if (marker.name == nullptr) { return; }  // the end of a range has no name
    std::string const domain = marker.domain != nullptr ? marker.domain : "(default)";
    ++all().ranges[domain + ": " + marker.name];
  } else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    // The name is in the same place in all versions of this record that CUPTI 13 makes.
    auto const& kernel = *reinterpret_cast<CUpti_ActivityKernel9 const*>(record);
    ++all().kernels[kernel.name != nullptr ? kernel.name : "?"];
  }
}

void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                       std::size_t valid) {
  std::lock_guard const lock(all().mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) { note(record); }
  std::free(buffer);
}

void print() {
  check(cuptiActivityFlushAll(1), "flush");
  std::lock_guard const lock(all().mutex);
  std::puts("ranges of NVTX:");
  for (auto const& [name, count] : all().ranges) {
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), name.c_str());
  }
  std::puts("kernels:");
  for (auto const& [name, count] : all().kernels) {
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), name.c_str());
  }
}

}  // namespace

extern "C" int InitializeInjection() {
  check(cuptiActivityRegisterCallbacks(request, complete), "callbacks");
  check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER), "ranges");
  check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "kernels");
  std::atexit(print);
  return 1;
}
