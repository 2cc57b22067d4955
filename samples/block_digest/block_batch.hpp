#pragma once
/// A tray: some blocks on their way to one device and back.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "digest.hpp"

namespace block_digest {

/// How much a tray holds.
struct tray_shape {
  explicit tray_shape(std::size_t block_size);
  std::size_t block_bytes;
  std::size_t bytes;   ///< of file contents, at least a block
  std::size_t blocks;  ///< a count, short ones included
};

/// Consecutive blocks of one file, digested by one task. All but the last have the full size.
struct run {
  std::shared_ptr<std::string const> path;
  std::uint64_t offset;     ///< bytes, in the file
  std::size_t at;           ///< bytes, in the tray
  std::size_t bytes;        ///< of all its blocks
  std::size_t first_block;  ///< counted in the tray
  std::size_t blocks;
};

/// Memory on the host and on one device for the blocks and their digests, used again and again. The
/// host side is pinned: devices copy from it at full speed.
struct tray {
  tray(flotilla::runtime& rt, flotilla::device_ordinal device, tray_shape const& shape);

  /// The free room as whole blocks, at most `blocks` of them; empty when the tray is full.
  [[nodiscard]] std::span<std::byte> room(std::size_t blocks) const;
  /// Takes what was read into room() as a run.
  void add(std::shared_ptr<std::string const> path, std::uint64_t offset, std::size_t bytes);
  /// Makes it an empty one.
  void clear();

  tray_shape const shape;
  flotilla::device_ordinal const device;
  flotilla::host_buffer<std::byte> const contents;
  flotilla::device_buffer<std::byte> const device_contents;
  flotilla::host_buffer<digest> const digests;
  flotilla::device_buffer<digest> const device_digests;

  std::vector<run> runs;
  std::size_t used = 0;            ///< bytes of `contents`
  std::size_t blocks = 0;          ///< of all runs
  std::uint64_t number = 0;        ///< trays are numbered in the order of what they hold
  flotilla::ticket back;           ///< done when the digests are in `digests`
  std::string error;               ///< why they are not; empty: they are
  std::vector<std::size_t> wrong;  ///< blocks whose digest is not the host's, rising
};

}  // namespace block_digest
