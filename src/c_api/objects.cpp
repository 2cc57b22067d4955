// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/objects.hpp"

#include <string>

#include "c_api/call.hpp"

namespace flotilla::c_api {

namespace {

/// Returns the name of a kind with its article, or null if there is no such kind.
char const* name_of(kinds kind) noexcept {
  switch (kind) {
    case kinds::runtime: return "a runtime";
    case kinds::program: return "a program";
    case kinds::kernel: return "a kernel";
    case kinds::buffer: return "a buffer";
    case kinds::ticket: return "a ticket";
    case kinds::recording: return "a recording";
    case kinds::flow: return "a flow";
    case kinds::data: return "data";
    case kinds::trace: return "a trace";
    case kinds::cluster: return "a cluster";
  }
  return nullptr;
}

}  // namespace

void refuse_handle(std::uint64_t id, kinds wanted) {
  std::string const what = name_of(wanted);
  char const* const given = name_of(handle_bits::kind(id));
  std::string text = "expected " + what + ", but the handle ";
  if (id == 0) {
    text += "is zero";
  } else if (given == nullptr) {
    text += "was not made by flotilla";
  } else if (handle_bits::kind(id) != wanted) {
    text += "names " + std::string{given};
  } else {
    text += "names one that does not exist any more";
  }
  throw refused_call(FLOTILLA_INVALID_HANDLE, text);
}

}  // namespace flotilla::c_api
