// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program that is compiled for C++17.
// expect: flotilla needs C++20
// standard: 17

#include <flotilla/flotilla.hpp>

int main() {}
