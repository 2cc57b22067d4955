#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: the result is right if the devices have memory for a part of the field only, and a
# limit that is too small for one step of a band is refused. Error guess: a kernel fails.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

verified --devices cpu:2 --size 256x256 --bands 16 --steps 6 --memory-limit 160KiB
refused 'bytes' --devices cpu:1 --size 256x256 --bands 2 --memory-limit 64KiB

# A step that fails is an error of the program, although no task is waited for by name.
FLOTILLA_CPU_INJECT=fault=1@3:700 heat 2 --devices cpu:2 --size 64x64 --steps 9
