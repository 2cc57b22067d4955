// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program that runs its own kernel on every device and checks the results.

#include <iostream>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "own_kernels.hpp"

int main() {
  flotilla::runtime runtime;
  auto const scale = runtime.load(own_kernels).kernel<float*, float, int>("scale");
  for (flotilla::device const& device : runtime.devices()) {
    std::vector<float> values(1000, 1.5f);
    flotilla::device_buffer<float> there{runtime, device, values};
    auto const scaled = runtime.submit(scale.over(values.size())(there, 2.0f, 1000));
    runtime.submit(there.copy_to(values), {.after = {scaled}}).wait();
    for (float const value : values) {
      if (value != 3.0f) {
        std::cerr << device.name << ": the result must be 3, but is " << value << '\n';
        return 1;
      }
    }
  }
  std::cout << "flotilla " FLOTILLA_VERSION ": right on " << runtime.devices().size()
            << " devices\n";
}
