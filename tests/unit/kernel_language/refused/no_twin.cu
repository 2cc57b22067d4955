// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: no_twin\.cu:6: error: FLOTILLA_NO_TWIN.hopy.: the sources have no kernel hopy
extern "C" __global__ void copy(int a, int* b) { *b = a; }
FLOTILLA_NO_TWIN(hopy);
