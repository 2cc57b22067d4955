// Makes these programs test GPUs, also if they are started without CTest.

#include <cstdlib>

namespace {
[[maybe_unused]] int const chosen = setenv("FLOTILLA_TEST_DEVICES", "cuda", 1);
}
