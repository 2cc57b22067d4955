#include "dispatch/mapped_slabs.hpp"

#include <algorithm>
#include <cstring>

namespace flotilla::dispatch {

namespace {
constexpr std::size_t line = 64;
}

void mapped_slabs::begin() {
  if (slabs_.empty()) { add_slab(slab_bytes); }
}

void mapped_slabs::add_slab(std::size_t bytes) {
  slabs_.reserve(slabs_.size() + 1);
  slabs_.push_back(std::make_unique<mapped_memory>(context_, bytes));
  last_bytes_ = bytes;
  used_ = 0;
}

mapped_slabs::piece mapped_slabs::take(std::size_t bytes) {
  bytes = (bytes + line - 1) / line * line;
  // Most are of a few sizes, and few are ever given back.
  auto const found = std::find_if(free_.begin(), free_.end(), [bytes](piece const& each) { return each.bytes == bytes; });
  if (found != free_.end()) {
    piece const got = *found;
    free_.erase(found);
    std::memset(got.host, 0, got.bytes);
    return got;
  }
  free_.reserve(cut_ + 1);  // so that give_back never allocates
  if (used_ + bytes > last_bytes_) { add_slab(std::max(bytes, slab_bytes)); }
  piece const got{slabs_.back()->host() + used_, slabs_.back()->device() + used_, bytes};
  used_ += bytes;
  ++cut_;
  return got;
}

void mapped_slabs::give_back(piece const& of) noexcept {
  if (of.host != nullptr) { free_.push_back(of); }
}

void mapped_slabs::destroy() noexcept {
  for (auto const& each : slabs_) { each->unregister(); }
}

}  // namespace flotilla::dispatch
