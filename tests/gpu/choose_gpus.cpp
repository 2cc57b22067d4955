// These programs test GPUs, however they are started.

#include <cstdlib>

namespace {
[[maybe_unused]] int const chosen = setenv("FLOTILLA_TEST_DEVICES", "cuda", 1);
}
