// The application's own call reaches the driver that it is linked to. In the same program, flotilla
// detects that this driver is a stub, and uses CPU devices.

#include <iostream>

#include <cuda.h>

#include <flotilla/flotilla.hpp>

int main() {
  CUresult const answer = cuInit(0);
  if (answer != CUDA_ERROR_STUB_LIBRARY) {
    std::cerr << "cuInit answered " << answer << ", which is not the stub's answer\n";
    return 1;
  }
  flotilla::runtime runtime;
  bool ran = false;
  runtime.submit([&ran](flotilla::task_context&) { ran = true; }).wait();
  std::cout << "the stub answered; " << runtime.driver_text() << '\n';
  return ran && runtime.driver_text().find("stub") != std::string::npos ? 0 : 1;
}
