// The application's own call goes to the driver that it is linked with; flotilla, in the same program,
// sees that this driver is a stub and works on CPU devices.

#include <iostream>

#include <cuda.h>

#include <flotilla/flotilla.hpp>

int main() {
  CUresult const answer = cuInit(0);
  if (answer != CUDA_ERROR_STUB_LIBRARY) {
    std::cerr << "cuInit answered " << answer << ", not as the stub does\n";
    return 1;
  }
  flotilla::runtime runtime;
  bool ran = false;
  runtime.submit([&ran](flotilla::task_context&) { ran = true; }).wait();
  std::cout << "the stub answered; " << runtime.driver_text() << '\n';
  return ran && runtime.driver_text().find("stub") != std::string::npos ? 0 : 1;
}
