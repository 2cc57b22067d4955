// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of parameters of the kernels.

#include <flotilla/data/view.hpp>
