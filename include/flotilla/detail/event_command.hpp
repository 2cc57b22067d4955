// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The command of a task that waits for an event of the application.

struct CUevent_st;

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The task ends when the event has completed.
struct event_command {
  CUevent_st* event;
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
