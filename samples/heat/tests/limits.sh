#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: the result is right if the devices have memory for a part of the field only, and a
# limit that is too small for one step of a band is refused.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

verified --devices cpu:2 --size 256x256 --bands 16 --steps 6 --memory-limit 160KiB
refused 'bytes' --devices cpu:1 --size 256x256 --bands 2 --memory-limit 64KiB
