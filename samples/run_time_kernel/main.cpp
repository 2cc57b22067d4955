// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tabulates a formula that the user gives, on every device. The kernel is compiled at run time.
#include <cstdio>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

// The macro FORMULA is an option of the compilation.
constexpr char source[] = R"(
#include <math.h>
template <class T> __global__ void tabulate(T* y, T step, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  T const x = i * step;
  if (i < n) { y[i] = FORMULA; }
}
)";

int main(int argc, char** argv) {
  std::string const formula = argc > 1 ? argv[1] : "x * x + 1";
  constexpr int n = 5;
  try {
    flotilla::runtime rt;
    // The second run of this program finds the result in the cache, and starts no compiler.
    flotilla::program const program = flotilla::compile(rt, source,
                                                        {.name = "tabulate.cu",
                                                         .defines = {"FORMULA=(" + formula + ")"},
                                                         .name_expressions = {"tabulate<double>"}});
    auto const tabulate = program.kernel<double*, double, int>("tabulate<double>");
    for (flotilla::device const& device : rt.devices()) {
      flotilla::device_buffer<double> y{rt, device, n};
      std::vector<double> values(n);
      flotilla::ticket const done = rt.submit(tabulate.over(n)(y, 0.5, n));
      rt.submit(y.copy_to(values), {.after = {done}}).wait();
      std::printf("device %u: %s =", device.ordinal.value, formula.c_str());
      for (double const value : values) { std::printf(" %g", value); }
      std::printf("\n");
    }
    return 0;
  } catch (flotilla::compile_error const& why) {
    std::printf("%s, line %zu: this formula does not compile:\n%s", why.source().c_str(),
                why.line(), why.log().c_str());
    return 1;
  } catch (flotilla::no_compiler const& why) {
    std::printf("%s\n", why.what());
    return 2;
  }
}
