// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <charconv>
#include <exception>
#include <utility>

#include <CLI/CLI.hpp>

#include "exit_status.hpp"
#include "field.hpp"

namespace heat {

namespace {

/// Reads `ROWSxCOLUMNS`. @return what is wrong, or an empty text.
std::string read_size(std::string const& text, options& into) {
  char const* const end = text.data() + text.size();
  auto const rows = std::from_chars(text.data(), end, into.rows);
  if (rows.ec != std::errc{} || rows.ptr == end || *rows.ptr != 'x') {
    return "must be two numbers such as 512x1024, but is '" + text + "'";
  }
  auto const columns = std::from_chars(rows.ptr + 1, end, into.columns);
  if (columns.ec != std::errc{} || columns.ptr != end) {
    return "must be two numbers such as 512x1024, but is '" + text + "'";
  }
  try {
    check_size(text, into.rows, into.columns);
  } catch (std::exception const& why) { return why.what(); }
  return {};
}

std::string check_alpha(std::string const& text) {
  float alpha = 0;
  // Written so that it refuses NaN.
  if (CLI::detail::lexical_cast(text, alpha) && alpha > 0 && alpha <= 0.25f) { return {}; }
  return "must be greater than 0 and at most 0.25, because the method is unstable otherwise, but "
         "is '" +
         text + "'";
}

}  // namespace

command_line parse(int count, char** arguments) {
  command_line made;
  options& chosen = made.chosen;
  CLI::App app{"Computes how heat spreads over a plate, on all devices."};
  constexpr std::size_t one = 1, most = 1'000'000'000;
  app.add_option("--devices", chosen.devices, "Devices, as in FLOTILLA_DEVICES");
  app.add_option("--bands", chosen.bands, "Bands of the field; default: four for each device")
      ->check(CLI::Range(one, field::max_side));
  app.add_option("--steps", chosen.steps, "Number of steps")
      ->check(CLI::Range(std::size_t{0}, most))
      ->capture_default_str();
  app.add_option(
         "--repeat", chosen.repeated,
         "Submit this number of steps as one iteration of flow::repeat; 0: submit each step")
      ->check([](std::string const& text) {
        std::size_t steps = 0;
        bool const is_even = CLI::detail::lexical_cast(text, steps) && steps % 2 == 0;
        return is_even ? std::string{} : "must be an even number, but is '" + text + "'";
      })
      ->capture_default_str();
  std::string size_text = "1024x1024";
  auto* const size = app.add_option("--size", size_text, "Rows and columns of a generated field")
                         ->check([&](std::string const& text) { return read_size(text, chosen); })
                         ->type_name("ROWSxCOLUMNS")
                         ->capture_default_str();
  app.add_option("--alpha", chosen.alpha,
                 "Heat that flows to each neighbour, as a part of the difference, up to 0.25")
      ->check(&check_alpha)
      ->type_name("FLOAT")
      ->capture_default_str();
  app.add_option("--input", chosen.input, "The field at the start")
      ->type_name("FILE.png|FILE.csv")
      ->excludes(size);
  app.add_option("--output", chosen.output, "A picture of the field at the end")
      ->type_name("FILE.png")
      ->check([](std::string const& path) {
        return has_suffix(path, ".png") ? std::string{}
                                        : path + ": the name of the file must end with .png";
      });
  app.add_option("--memory-limit", chosen.memory_limit, "Bytes of memory on each device")
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("--compare", chosen.compares,
               "Also measure a copy, and the same kernel with streams and events by hand");
  app.add_flag("--mpi", chosen.uses_mpi, "Compute over the ranks of an MPI program (mpirun)");
  app.add_flag("--verify", chosen.verifies, "Compare the result with a serial computation");
  try {
    app.parse(count, arguments);
  } catch (CLI::ParseError const& why) { made.exit_status = app.exit(why) == 0 ? 0 : not_done; }
  return made;
}

}  // namespace heat
