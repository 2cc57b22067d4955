// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "digest_flow.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "block_digest_kernels.hpp"

namespace block_digest {

namespace {

// The steps of a SHA-256 digest depend on each other, so a thread is slow and a warp is as slow as
// a thread. Blocks of one warp spread the warps over all multiprocessors.
constexpr unsigned threads_per_block = 32;

// Makes data from the part of the memory that is in use, because the last batch is rarely full. The
// size is a power of two or the capacity: a flow keeps the memory of data that have ended for data
// of about the same size, so a few sizes need less memory on the device than many.
template <class T>
flotilla::data<T> in_flow(flotilla::flow& flow, flotilla::host_buffer<T>& memory, std::size_t used,
                          char const* label) {
  return {flow, memory.subspan(0, std::min(std::bit_ceil(used), memory.size())), label};
}

}  // namespace

digest_flow::digest_flow(flotilla::runtime& rt, host_step const& step, bool corrupt)
    : flow_{rt},
      program_{rt.load(block_digest_kernels)},
      sha256_{program_.kernel<std::byte const*, block_place const*, std::uint64_t, digest*>(
          "sha256_of_places")},
      invert_{program_.kernel<digest*>("invert_first_byte")},
      step_{step},
      corrupts_{corrupt} {}

void digest_flow::submit(block_batch& batch, on_end ended) {
  auto& contents = batch.contents_in_flow =
      in_flow(flow_, batch.contents, batch.space().used_bytes(), "contents");
  auto& places = batch.places_in_flow = in_flow(flow_, batch.places, batch.blocks(), "places");
  auto& digests = batch.digests_in_flow = in_flow(flow_, batch.digests, batch.blocks(), "digests");

  flotilla::ticket const digested =
      flow_.submit(sha256_.over(batch.blocks(), threads_per_block)(read(contents), read(places),
                                                                   batch.blocks(), write(digests)),
                   {.label = "sha256"});
  batch.device = digested.device().value();
  if (corrupts_ && batch.position.job == 0 && batch.position.part == 0) {
    static_cast<void>(
        flow_.submit(invert_.with_shape({1}, {1})(update(digests)), {.label = "corrupt"}));
  }
  // The host step uses the memory of the batch, which is the copy on the host.
  flotilla::ticket const verified = flow_.submit(
      uses(read(contents), read(digests)),
      flotilla::host_task([this, &batch](flotilla::view<std::byte const>,
                                         flotilla::view<digest const>) { step_.run(batch); }),
      {.label = "host step"});
  static_cast<void>(verified.then(std::move(ended)));
}

}  // namespace block_digest
