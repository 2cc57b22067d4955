#include "tray.hpp"

#include <algorithm>
#include <utility>

namespace block_digest {

namespace {

// Large enough that a copy is worth its call, small enough that a slow device never sits on much.
constexpr std::size_t usual_bytes = std::size_t{1} << 18;
// Small files fill a tray by their number.
constexpr std::size_t fewest_blocks = 64;
constexpr std::size_t most_blocks = 4096;
// Kernels read words of up to 16 bytes; a run begins where they may.
constexpr std::size_t alignment = 16;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

tray_shape::tray_shape(std::size_t block_size)
    : block_bytes{block_size},
      bytes{std::max(usual_bytes, block_size)},
      blocks{std::clamp(bytes / block_size, fewest_blocks, most_blocks)} {}

tray::tray(flotilla::runtime& rt, flotilla::device_ordinal on, tray_shape const& of)
    : shape{of},
      device{on},
      contents{rt, shape.bytes},
      device_contents{rt, device, shape.bytes},
      digests{rt, shape.blocks},
      device_digests{rt, device, shape.blocks} {}

std::span<std::byte> tray::room(std::size_t wanted) const {
  std::size_t const begin = std::min(aligned(used), shape.bytes);
  std::size_t const fit =
      std::min({wanted, (shape.bytes - begin) / shape.block_bytes, shape.blocks - blocks});
  return contents.span().subspan(begin, fit * shape.block_bytes);
}

void tray::add(std::shared_ptr<std::string const> path, std::uint64_t offset, std::size_t bytes) {
  std::size_t const begin = aligned(used);
  std::size_t const count = (bytes + shape.block_bytes - 1) / shape.block_bytes;
  runs.push_back({std::move(path), offset, begin, bytes, blocks, count});
  used = begin + bytes;
  blocks += count;
}

void tray::clear() {
  runs.clear();
  used = 0;
  blocks = 0;
  back = {};
  error.clear();
  wrong.clear();
}

}  // namespace block_digest
