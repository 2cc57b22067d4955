// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Not the type of the kernel's parameter, which is app::step.
struct step {
  int length;
};
