// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: launch.cu:8: error: launches in a kernel source \(<<<>>>\)
extern "C" __global__ void child() {}
extern "C" __global__ void parent() {
  /* <<< in a comment, and "<<<" in a text, are nothing */ char const* text = "<<<"; (void)text;
  child<<<1, 1>>>();
}
