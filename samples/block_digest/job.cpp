#include "job.hpp"

#include <algorithm>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "input_file.hpp"

namespace block_digest {

namespace {

// How many blocks a task digests: as many as a GPU does in the time of one.
constexpr std::size_t blocks_per_task = 32;

// Half of the processors: reading, driving and, on CPU devices, the kernels want theirs.
unsigned verifying_threads() { return std::max(1U, std::thread::hardware_concurrency() / 2); }

}  // namespace

job::job(fleet& devices, ledger& book, console& names, std::uint64_t total)
    : fleet_{devices},
      ledger_{book},
      console_{names},
      total_{total},
      verifier_{verifying_threads()} {}

void job::add_file(std::string const& path) {
  try {
    add_contents(path);
  } catch (std::system_error const& error) { console_.failure(path, error.code().message()); }
}

void job::add_contents(std::string const& path) {
  input_file file{path};
  auto const name = std::make_shared<std::string const>(path);
  std::uint64_t offset = 0;
  for (;;) {
    tray& to = open_tray();
    std::span const room = to.room(blocks_per_task);
    std::size_t const got = file.read(room);
    if (got != 0) { to.add(name, offset, got); }
    if (to.room(1).empty()) { send_tray(); }
    if (got < room.size()) { return; }
    offset += got;
  }
}

void job::finish() {
  if (open_ != nullptr && open_->blocks != 0) { send_tray(); }
  while (out_ != 0) {
    if (!settle() && !fleet_.wait_for_one()) { verifier_.wait(); }
  }
}

tray& job::open_tray() {
  while (open_ == nullptr) {
    settle();
    open_ = fleet_.pick();
    // None to be had means that some are out: on a device, or else being checked.
    if (open_ == nullptr && !fleet_.wait_for_one()) { verifier_.wait(); }
  }
  return *open_;
}

void job::send_tray() {
  open_->number = next_number_++;
  ++out_;
  fleet_.send(*std::exchange(open_, nullptr));
}

// Moves every tray that got somewhere on to its next station. Returns whether there was one.
bool job::settle() {
  bool moved = false;
  while (tray* const returned = fleet_.take_returned()) {
    verifier_.give(*returned);
    moved = true;
  }
  while (tray* const checked = verifier_.take()) {
    ledger_.add(*checked);
    booked_ += checked->used;
    fleet_.release(*checked);
    --out_;
    moved = true;
  }
  console_.progress(booked_, total_);
  return moved;
}

}  // namespace block_digest
