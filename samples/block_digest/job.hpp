#pragma once
/// The main job: files in, digests out.

#include <cstddef>
#include <cstdint>
#include <string>

#include "console.hpp"
#include "fleet.hpp"
#include "ledger.hpp"
#include "verifier.hpp"

namespace block_digest {

/// Reads files into trays, sends the trays through the fleet and the verifier, and books them. One
/// thread does all of this: it reads, submits, and looks who is back.
///
/// Memory: as many trays as the fleet has, whatever the size of the input.
class job {
 public:
  /// @param total  Bytes of input, for the progress bar; 0 when nobody sees one.
  job(fleet& devices, ledger& book, console& names, std::uint64_t total);

  /// Reads a file to its end. What cannot be opened or read is named; what was read before counts.
  void add_file(std::string const& path);
  /// Sends what is left and waits until everything is booked.
  void finish();

 private:
  void add_contents(std::string const& path);
  tray& open_tray();
  void send_tray();
  bool settle();

  fleet& fleet_;
  ledger& ledger_;
  console& console_;
  std::uint64_t total_;
  tray* open_ = nullptr;  // being filled
  std::uint64_t next_number_ = 0;
  std::size_t out_ = 0;       // trays sent and not booked
  std::uint64_t booked_ = 0;  // bytes
  verifier verifier_;         // last: its threads look at trays until it ends
};

}  // namespace block_digest
