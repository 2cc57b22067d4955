// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flotilla/device/device.hpp>

namespace flotilla::test {

inline constexpr device_ordinal device_0{0}, device_1{1};

}  // namespace flotilla::test
