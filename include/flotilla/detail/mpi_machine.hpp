// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the ranks of a machine tell each other before they have devices, for <flotilla/mpi.hpp>.

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include <flotilla/detail/mpi_link.hpp>
#include <flotilla/device/driver_report.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// Returns the UUIDs of the GPUs, in the order of the driver.
inline std::vector<std::string> visible_gpus() {
  std::vector<std::string> made;
  driver_report const report = describe_drivers();
  if (!report.gpus) { return made; }
  for (device const& each : report.devices) { made.push_back(each.uuid); }
  return made;
}

/// The ranks of a communicator that run on this machine.
class mpi_machine {
 public:
  /// Collective over the communicator.
  explicit mpi_machine(MPI_Comm communicator) {
    check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &together_),
              "MPI_Comm_split_type");
    MPI_Comm_rank(together_, &rank_);
  }
  ~mpi_machine() { MPI_Comm_free(&together_); }
  mpi_machine(mpi_machine const&) = delete;
  mpi_machine& operator=(mpi_machine const&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// Collective over the machine. Returns the texts of each rank. Texts have no newlines.
  [[nodiscard]] std::vector<std::vector<std::string>> gather(
      std::vector<std::string> const& texts) const {
    std::string mine;
    for (std::string const& each : texts) { mine += each + '\n'; }
    int ranks = 0;
    MPI_Comm_size(together_, &ranks);
    std::vector<int> lengths(static_cast<std::size_t>(ranks)), begins(lengths.size());
    int const length = static_cast<int>(mine.size());
    check_mpi(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, together_),
              "MPI_Allgather");
    std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
    std::string all(static_cast<std::size_t>(begins.back() + lengths.back()), '\0');
    check_mpi(MPI_Allgatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(),
                             begins.data(), MPI_CHAR, together_),
              "MPI_Allgatherv");
    std::vector<std::vector<std::string>> made(lengths.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      auto at = static_cast<std::size_t>(begins[i]);
      std::size_t const end = at + static_cast<std::size_t>(lengths[i]);
      for (std::size_t next = 0; at < end; at = next + 1) {
        next = all.find('\n', at);
        made[i].push_back(all.substr(at, next - at));
      }
    }
    return made;
  }

 private:
  MPI_Comm together_ = MPI_COMM_NULL;
  int rank_ = 0;
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
