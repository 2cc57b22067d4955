#include "ledger.hpp"

#include <algorithm>

namespace block_digest {

namespace {

std::string block_name(run const& of, std::uint64_t offset, std::uint64_t length) {
  return *of.path + ": block at offset " + std::to_string(offset) + ", " + std::to_string(length) +
         " bytes";
}

}  // namespace

void ledger::add(tray const& checked) {
  early_.emplace(checked.number,
                 page{checked.device.value,
                      checked.shape.block_bytes,
                      checked.runs,
                      {checked.digests.begin(), checked.digests.begin() + checked.blocks},
                      checked.wrong,
                      checked.error});
  for (auto next = early_.find(next_number_); next != early_.end();
       next = early_.find(++next_number_)) {
    book(next->second);
    early_.erase(next);
  }
}

void ledger::book(page const& next) {
  device_share& share = shares_[next.device];
  for (run const& each : next.runs) {
    manifest_name const name{*each.path};
    for (std::size_t i = 0; i < each.blocks; ++i) {
      std::uint64_t const begin = i * next.block_bytes;
      std::uint64_t const offset = each.offset + begin;
      std::uint64_t const length = std::min<std::uint64_t>(next.block_bytes, each.bytes - begin);
      std::size_t const index = each.first_block + i;
      if (!next.error.empty()) {
        names_.failure(block_name(each, offset, length), "no digest: " + next.error);
        continue;
      }
      if (std::binary_search(next.wrong.begin(), next.wrong.end(), index)) {
        names_.failure(
            block_name(each, offset, length),
            "device " + std::to_string(next.device) + " and the host disagree on its digest");
        continue;
      }
      ++share.blocks;
      share.bytes += length;
      ++blocks_;
      bytes_ += length;
      if (distinct_.insert(next.digests[index]).second) { distinct_bytes_ += length; }
      if (list_) { list_->line(next.digests[index], offset, length, name); }
    }
  }
}

}  // namespace block_digest
