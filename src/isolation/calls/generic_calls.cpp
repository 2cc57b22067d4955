// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/calls/calls.hpp"
#include "isolation/calls/forward.hpp"
#include "isolation/calls/never_throws.hpp"

namespace flotilla::isolated {

namespace {

using api = driver::table;

CUresult CUDAAPI event_record(CUevent event, CUstream stream) {
  CUresult const answer =
      forwarded<effect::none, operation::event_record, &api::event_record>(event, stream);
  handle_bits const bits = handle_bits::of(event);
  if (answer == CUDA_SUCCESS && bits.is_ours()) {
    owner::get().device(bits.device())->objects().mark_recorded(bits.index());
  }
  return answer;
}

}  // namespace

void put_generic_calls(driver::table& into) {
  // An entry that the base driver does not have stays null.
#define FLOTILLA_ISOLATED_ENTRY(what, field)                             \
  if (into.field != nullptr) {                                           \
    into.field = forwarded<effect::what, operation::field, &api::field>; \
  }
#include "isolation/protocol/generic_entries.inc"
#undef FLOTILLA_ISOLATED_ENTRY
  into.event_record = never_throws<&event_record>;
}

}  // namespace flotilla::isolated
