# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of tests/structure: arrows, sizes, classes and citations."""
