#include <flotilla/injection.hpp>

#include <array>
#include <string>

#include <flotilla/error.hpp>

#include "cpu_driver/control.hpp"
#include "driver/library.hpp"

namespace flotilla {

void inject(std::string_view spec) {
  static_cast<void>(driver::cpu_driver());  // it starts first: its environment must not undo this
  std::string const text{spec};
  std::array<char, 512> why{};
  if (driver::cpu_control().inject(text.c_str(), why.data(), why.size()) != 0) { throw invalid_argument(why.data()); }
}

void clear_injection() {
  static_cast<void>(driver::cpu_driver());
  driver::cpu_control().clear_injection();
}

}  // namespace flotilla
