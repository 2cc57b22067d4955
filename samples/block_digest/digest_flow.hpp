// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Digests batches on any device.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>

#include <flotilla/flotilla.hpp>

#include "block_batch.hpp"
#include "host_step.hpp"

namespace block_digest {

/// Submits the tasks of a batch: a launch for all of its blocks, and the host step. No task names a
/// device. The flow chooses the device, copies the contents there, and copies the digests back for
/// the host step.
///
/// Threads: any. Lifetime: must end before its runtime does.
class digest_flow {
 public:
  /// Called once for each batch, on a thread that runs host tasks. The argument is null, or why the
  /// batch has no digests.
  using on_end = std::function<void(std::exception_ptr)>;

  /// @param corrupt  Whether to make the first digest of the input wrong, on the device. If true,
  ///                 the verification must find it.
  digest_flow(flotilla::runtime& rt, host_step const& step, bool corrupt);

  /// Submits the tasks of a batch that has blocks. Afterwards, `block_batch::device` is the device
  /// that digests them. The batch may be used again when `ended` is called.
  /// @throws the exceptions of flotilla::flow::submit. Then `ended` is not called, and tasks may
  ///         still use the batch.
  void submit(block_batch& batch, on_end ended);

 private:
  flotilla::flow flow_;
  flotilla::program program_;
  flotilla::kernel<std::byte const*, block_place const*, std::uint64_t, digest*> sha256_;
  flotilla::kernel<digest*> invert_;
  host_step step_;
  bool corrupts_;
};

}  // namespace block_digest
