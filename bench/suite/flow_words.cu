// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// Does nothing. Tasks of a flow call it with the data that they use.
extern "C" __global__ void use_four(unsigned long long*, unsigned long long const*,
                                    unsigned long long const*, unsigned long long const*) {}
