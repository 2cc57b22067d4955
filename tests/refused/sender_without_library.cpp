// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Senders without a library of senders. If the compiler finds one, the mistake is another one.
// expect: needs a library of senders

#ifdef MISTAKE
#if __has_include(<stdexec/execution.hpp>)
#error "stdexec is installed, so nothing needs a library of senders"
#endif
#define FLOTILLA_USE_STDEXEC
#include <flotilla/adaptors/sender.hpp>
#endif

int main() {}
