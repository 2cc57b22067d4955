// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace flotilla::isolated {

/// Ignores the signals that ask a process to end, to stop, or to do something. Service managers and
/// batch systems send them to all processes of a job, but only the owner decides what ends. A
/// worker ends when its owner does (PR_SET_PDEATHSIG, and the socket), and SIGKILL ends it at any
/// time. Signals of faults keep their default. The owner has blocked all signals for the start of
/// this process; they are unblocked here.
void ignore_signals() noexcept;

}  // namespace flotilla::isolated
