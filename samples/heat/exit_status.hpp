// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace heat {

// Exit statuses other than 0 (README.md describes them).
constexpr int wrong = 1;
constexpr int not_done = 2;

}  // namespace heat
