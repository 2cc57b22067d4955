#include "fleet.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "block_digest_kernels.hpp"

namespace block_digest {

namespace {

// A SHA-256 is one long chain of steps, so a GPU is fast only with thousands of blocks at once.
constexpr std::size_t gpu_trays = 128;
constexpr std::size_t cpu_trays = 8;
// With one tray on the device, one is filled and one checked.
constexpr std::size_t fewest_trays = 3;
// Pinned memory is dear: with large blocks there are fewer trays.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

std::size_t most_trays(flotilla::device const& device, tray_shape const& shape) {
  std::size_t const wanted = device.kind == flotilla::device_kind::gpu ? gpu_trays : cpu_trays;
  return std::clamp(most_bytes / shape.bytes, fewest_trays, wanted);
}

template <class T>
T at(auto const& device_buffer, std::size_t index) {
  return reinterpret_cast<T>(device_buffer.address()) + index;
}

}  // namespace

fleet::fleet(flotilla::runtime& rt, std::size_t block_bytes, bool corrupt)
    : runtime_{rt},
      shape_{block_bytes},
      sha256_{rt.load(block_digest_kernels)
                  .kernel<std::byte const*, std::uint64_t, std::uint64_t, std::uint64_t, digest*>(
                      "sha256_blocks")},
      corrupt_next_{corrupt} {
  for (flotilla::device const& device : rt.devices()) {
    members_.push_back({.device = &device, .most_trays = most_trays(device, shape_)});
  }
}

tray* fleet::pick() {
  member* idle = nullptr;
  member* first_done = nullptr;
  double idle_seconds = 0;
  double first_done_seconds = std::numeric_limits<double>::infinity();
  for (member& each : members_) {
    double const seconds = each.speed.seconds_until_done(shape_.bytes);
    if (each.sent.empty() && each.has_room() && (idle == nullptr || seconds < idle_seconds)) {
      idle = &each;
      idle_seconds = seconds;
    }
    if (seconds < first_done_seconds) {
      first_done = &each;
      first_done_seconds = seconds;
    }
  }
  if (idle != nullptr) { return take_empty(*idle); }
  // None, while all are at their first tray and nothing is known. And with no empty tray now, the
  // one that will be done first is still the one to wait for.
  return first_done != nullptr && first_done->has_room() ? take_empty(*first_done) : nullptr;
}

tray* fleet::take_empty(member& from) {
  if (from.empty.empty()) {
    try {
      from.trays.push_back(std::make_unique<tray>(runtime_, from.device->ordinal, shape_));
    } catch (flotilla::driver_error const& error) {
      if (error.status() != flotilla::driver_status::out_of_memory || from.trays.empty()) { throw; }
      from.most_trays = from.trays.size();  // goes on with those it has
      return nullptr;
    }
    return from.trays.back().get();
  }
  tray* const taken = from.empty.back();
  from.empty.pop_back();
  return taken;
}

void fleet::send(tray& full) {
  flotilla::device_ordinal const device = full.device;
  // A copy moves whole buffers; the last tray is seldom full.
  flotilla::transfer up = full.device_contents.copy_from(full.contents);
  up.bytes = full.used;
  flotilla::ticket there = runtime_.submit(up, {.label = "contents"});
  if (std::exchange(corrupt_next_, false)) {
    flotilla::transfer flip = full.device_contents.fill(~full.contents[0]);
    flip.bytes = 1;
    there = runtime_.submit(flip, {.label = "corrupt", .after = {there}});
  }

  std::vector<flotilla::ticket> digested;
  digested.reserve(full.runs.size());
  for (run const& each : full.runs) {
    auto const launch = sha256_.over(each.blocks, 32)(
        at<std::byte const*>(full.device_contents, each.at), each.bytes, shape_.block_bytes,
        each.blocks, at<digest*>(full.device_digests, each.first_block));
    digested.push_back(
        runtime_.submit(launch, {.device = device, .label = "sha256", .after = {there}}));
  }

  flotilla::transfer down = full.device_digests.copy_to(full.digests);
  down.bytes = full.blocks * sizeof(digest);
  full.back = runtime_.submit(down, {.label = "digests", .after = digested});

  member& to = members_[device.value];
  to.speed.begun(full.used, pace::clock::now());
  to.sent.push_back(&full);
}

tray* fleet::take_returned() {
  for (member& each : members_) {
    // Trays of a device may overtake each other, if not by much.
    auto const back = std::find_if(each.sent.begin(), each.sent.end(),
                                   [](tray const* one) { return one->back.ready(); });
    if (back == each.sent.end()) { continue; }
    tray& returned = **back;
    each.sent.erase(back);
    each.speed.ended(returned.used, pace::clock::now());
    try {
      returned.back.wait();
    } catch (flotilla::poisoned const&) {
      throw;
    } catch (std::exception const& error) {
      returned.error = error.what();
    }
    return &returned;
  }
  return nullptr;
}

bool fleet::wait_for_one() {
  member* busiest = nullptr;
  for (member& each : members_) {
    if (!busiest || each.sent.size() > busiest->sent.size()) { busiest = &each; }
  }
  if (busiest->sent.empty()) { return false; }
  try {
    // Not for long: another device may be through first.
    static_cast<void>(busiest->sent.front()->back.wait_for(std::chrono::microseconds{200}));
  } catch (std::exception const&) {
    // It has ended, badly: take_returned() asks again, and keeps the reason.
  }
  return true;
}

void fleet::release(tray& done) {
  done.clear();
  members_[done.device.value].empty.push_back(&done);
}

}  // namespace block_digest
