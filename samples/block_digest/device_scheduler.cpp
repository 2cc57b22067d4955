// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "device_scheduler.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "block_digest_kernels.hpp"

namespace block_digest {

namespace {

// The maximum number of batches of a device. A GPU needs many batches, because it is fast only if
// it digests thousands of blocks at the same time. Each block occupies only one thread, because the
// steps of a SHA-256 digest depend on each other.
constexpr std::size_t gpu_batches = 128;
constexpr std::size_t cpu_batches = 8;
// One batch on the device, one that is being filled, and one that is being verified.
constexpr std::size_t min_batches = 3;
// Limits the pinned memory for the batches of a device, because pinned memory is expensive. If
// blocks are large, this limit reduces the number of batches.
constexpr std::size_t max_pinned_bytes = std::size_t{64} << 20;

std::size_t max_batches(flotilla::device const& device, batch_capacity const& capacity) {
  bool const is_gpu = device.kind == flotilla::device_kind::gpu;
  return std::clamp(max_pinned_bytes / capacity.bytes, min_batches,
                    is_gpu ? gpu_batches : cpu_batches);
}

}  // namespace

device_scheduler::device_scheduler(flotilla::runtime& rt, std::size_t block_bytes, bool corrupt)
    : runtime_{rt},
      capacity_{block_bytes},
      sha256_{rt.load(block_digest_kernels)
                  .kernel<std::byte const*, std::uint64_t, std::uint64_t, std::uint64_t, digest*>(
                      "sha256_blocks")},
      corrupt_next_{corrupt} {
  for (flotilla::device const& device : rt.devices()) {
    devices_.push_back({.device = &device, .max_batches = max_batches(device, capacity_)});
  }
}

block_batch* device_scheduler::pick() {
  device_state* idle = nullptr;
  device_state* first_done = nullptr;
  double idle_seconds = 0;
  double first_done_seconds = std::numeric_limits<double>::infinity();
  for (device_state& state : devices_) {
    double const seconds = state.speed.seconds_until_done(capacity_.bytes);
    if (state.submitted.empty() && state.has_free_batch() &&
        (idle == nullptr || seconds < idle_seconds)) {
      idle = &state;
      idle_seconds = seconds;
    }
    if (seconds < first_done_seconds) {
      first_done = &state;
      first_done_seconds = seconds;
    }
  }
  if (idle != nullptr) { return take_empty(*idle); }
  // The device in `first_done` would finish one more batch before every other device. If this
  // device has no free batch, return null: waiting for a batch of this device is faster than using
  // another device. Also return null if no device has finished a batch yet, because in that case no
  // speed is known.
  return first_done != nullptr && first_done->has_free_batch() ? take_empty(*first_done) : nullptr;
}

block_batch* device_scheduler::take_empty(device_state& state) {
  if (!state.empty.empty()) {
    block_batch* const batch = state.empty.back();
    state.empty.pop_back();
    return batch;
  }
  try {
    state.batches.push_back(
        std::make_unique<block_batch>(runtime_, state.device->ordinal, capacity_));
  } catch (flotilla::driver_error const& error) {
    bool const out_of_memory = error.status() == flotilla::driver_status::out_of_memory;
    if (!out_of_memory || state.batches.empty()) { throw; }
    state.max_batches = state.batches.size();  // continue with the existing batches
    return nullptr;
  }
  return state.batches.back().get();
}

void device_scheduler::submit(block_batch& batch) {
  // Copy only the used part: the last batch is rarely full.
  auto const contents = batch.device_contents.subspan(0, batch.used_bytes);
  flotilla::ticket contents_copied = runtime_.submit(
      contents.copy_from(batch.contents.subspan(0, batch.used_bytes)), {.label = "contents"});
  if (std::exchange(corrupt_next_, false)) {
    contents_copied = runtime_.submit(contents.subspan(0, 1).fill(~batch.contents[0]),
                                      {.label = "corrupt", .after = {contents_copied}});
  }

  std::vector<flotilla::ticket> digested;
  digested.reserve(batch.ranges.size());
  for (block_range const& range : batch.ranges) {
    auto const launch = sha256_.over(range.blocks, 32)(
        contents.subspan(range.batch_offset, range.bytes), range.bytes, capacity_.block_bytes,
        range.blocks, batch.device_digests.subspan(range.first_block, range.blocks));
    digested.push_back(runtime_.submit(launch, {.label = "sha256", .after = {contents_copied}}));
  }

  batch.digests_copied = runtime_.submit(
      batch.device_digests.subspan(0, batch.blocks).copy_to(batch.digests.subspan(0, batch.blocks)),
      {.label = "digests", .after = digested});

  device_state& state = devices_[batch.device.value];
  state.speed.add_submitted(batch.used_bytes, throughput::clock::now());
  state.submitted.push_back(&batch);
}

block_batch* device_scheduler::take_finished() {
  for (device_state& state : devices_) {
    // Check all batches of the device, because a batch may finish shortly before an older batch.
    auto const found =
        std::find_if(state.submitted.begin(), state.submitted.end(),
                     [](block_batch const* batch) { return batch->digests_copied.ready(); });
    if (found == state.submitted.end()) { continue; }
    block_batch& finished = **found;
    state.submitted.erase(found);
    state.speed.add_finished(finished.used_bytes, throughput::clock::now());
    try {
      finished.digests_copied.wait();
    } catch (flotilla::poisoned const&) { throw; } catch (std::exception const& error) {
      finished.error = error.what();
    }
    return &finished;
  }
  return nullptr;
}

bool device_scheduler::wait_for_one() {
  device_state* busiest = nullptr;
  for (device_state& state : devices_) {
    if (!busiest || state.submitted.size() > busiest->submitted.size()) { busiest = &state; }
  }
  if (busiest->submitted.empty()) { return false; }
  try {
    // Wait only briefly, because another device may finish first.
    auto const& oldest = busiest->submitted.front();
    static_cast<void>(oldest->digests_copied.wait_for(std::chrono::microseconds{200}));
  } catch (std::exception const&) {
    // The batch has failed. take_finished() will get the same exception and store its message.
  }
  return true;
}

void device_scheduler::release(block_batch& batch) {
  batch.clear();
  devices_[batch.device.value].empty.push_back(&batch);
}

}  // namespace block_digest
