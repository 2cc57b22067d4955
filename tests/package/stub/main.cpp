// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The program is linked with the stub of libcuda, and the program's own driver call must reach this
// stub. In the same program, flotilla must detect that the driver is a stub, and must use CPU
// devices.

#include <iostream>

#include <cuda.h>

#include <flotilla/flotilla.hpp>

int main() {
  CUresult const answer = cuInit(0);
  if (answer != CUDA_ERROR_STUB_LIBRARY) {
    std::cerr << "cuInit must return CUDA_ERROR_STUB_LIBRARY, but returned " << answer << '\n';
    return 1;
  }
  flotilla::runtime runtime;
  bool ran = false;
  runtime.submit([&ran](flotilla::task_context&) { ran = true; }).wait();
  std::cout << "cuInit reached the stub; " << runtime.driver_text() << '\n';
  return ran && runtime.driver_text().find("stub") != std::string::npos ? 0 : 1;
}
