// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where a block is in the contents of a batch. The host writes it and the kernel reads it.

namespace block_digest {

struct block_place {
  unsigned offset;  ///< in bytes
  unsigned bytes;   ///< the size of the block
};

}  // namespace block_digest
