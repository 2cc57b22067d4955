// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stand-in for NVIDIA's stdexec, which no package registry that flotilla's build uses has. It is
// written from the text of the C++26 draft ([exec], [stoptoken]) and has only what a sender of
// flotilla touches and what its tests use. Names are those of stdexec. It is no complete
// implementation: no schedulers, no domains, no attributes of senders, no pipes.
//
// The checks are as strict as the standard allows: an implementation that refuses less is fine, but
// a sender that passes here must not fail because a concept or a "Mandates" was left out.

#include "algorithms.hpp"
#include "senders.hpp"
#include "stop_token.hpp"
#include "when_all.hpp"
