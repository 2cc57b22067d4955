"""The checks of tests/structure: arrows, sizes, classes and citations."""
