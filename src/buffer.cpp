#include <flotilla/buffer.hpp>

#include <flotilla/runtime.hpp>

#include "dispatch/core.hpp"

namespace flotilla::detail {

memory::memory(runtime& owner, places place, device_ordinal device, std::size_t bytes)
    : owner_(&owner.core()), place_(place), device_(device), bytes_(bytes) {
  unsigned const where = owner_->checked(device);
  if (bytes == 0) { return; }
  address_ = place == places::device ? owner_->allocate(where, bytes) : owner_->allocate_host(bytes);
}

memory::~memory() {
  if (address_ == 0) { return; }
  bool const device = place_ == places::device;
  owner_->release(device ? dispatch::limbo::kinds::device_memory : dispatch::limbo::kinds::host_memory,
                  device ? device_.value : 0, address_, bytes_);
}

void transfer_now(transfer const& what) {
  ticket made;
  what.owner->submit(what, {}, true, made);
  made.wait();
}

void refuse_size(std::size_t have, std::size_t other) {
  throw invalid_argument("a buffer of " + std::to_string(have) + " objects and " + std::to_string(other) +
                         " objects are not copied to each other: sizes must agree");
}

}  // namespace flotilla::detail
