// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A type of a kernel parameter, for the kernel and for the host.

struct line {
  float slope;
  float offset;
};
