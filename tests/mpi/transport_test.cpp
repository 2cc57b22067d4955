// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
//
// Exchanges messages through the functions of flotilla::mpi, without a cluster. Runs under a
// launcher with two or more ranks, see run_ranks. The argument is the thread level: `funneled`,
// `serialized` (the default) or `multiple`.

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/mpi.hpp>

#include "exchange.hpp"

namespace {

/// The contents of a message, which depend on who sends it.
std::vector<char> message(std::size_t bytes, int from, int number) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<char>(i * 7 + i / 251 + static_cast<std::size_t>(31 * from + number));
  }
  return data;
}

void test_members(char const* level) {
  exchange all;
  CHECK(all.table.size == sizeof(flotilla::transport));
  CHECK(all.table.rank == world_rank);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(all.table.ranks == ranks && all.table.world_ranks == ranks);
  // The launcher of a test uses one machine.
  CHECK(all.table.local_rank == world_rank && all.table.local_ranks == ranks);
  std::string_view const library = all.table.library;
  CHECK(library.size() > 5 && library.size() < 60 && library.find('\n') == library.npos);
  CHECK(static_cast<int>(all.table.threads) == (*level == 'f' ? 0 : *level == 's' ? 1 : 2));
  if (world_rank == 0) { std::printf("library: %s, %s\n", all.table.library, level); }
}

/// The ranks of a machine tell each other which GPUs they see.
void test_machine() {
  flotilla::detail::mpi_machine const machine{MPI_COMM_WORLD};
  CHECK(machine.rank() == world_rank);
  // As many texts as the number of the rank says, so that the lengths differ.
  std::vector<std::string> mine;
  for (int i = 0; i < world_rank; ++i) { mine.push_back("GPU-" + std::to_string(i)); }
  std::vector<std::vector<std::string>> const all = machine.gather(mine);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(all.size() == static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    CHECK(all[rank].size() == rank);
    for (std::size_t i = 0; i < all[rank].size(); ++i) {
      CHECK(all[rank][i] == "GPU-" + std::to_string(i));
    }
  }
  // CTest has set FLOTILLA_DEVICES.
  CHECK(flotilla::share_devices(MPI_COMM_WORLD).empty());
}

// Every rank sends messages of all sizes to every rank, also to itself. Receives of odd ranks begin
// before sends.
void test_pairs() {
  exchange all;
  int const me = all.table.rank;
  for (std::size_t const bytes : {0u, 8u, 257u, 16384u, 1u << 20}) {
    std::vector<std::vector<char>> out, in;
    std::vector<int> sends, receives;
    auto const begin_sends = [&] {
      for (int to = 0; to < all.table.ranks; ++to) {
        out.push_back(message(bytes, me, to));
        sends.push_back(all.send(out.back(), to, 3));
      }
    };
    if (me % 2 == 0) { begin_sends(); }
    for (int from = 0; from < all.table.ranks; ++from) {
      in.emplace_back(bytes + 5, '?');  // a receive may be longer than its message
      receives.push_back(all.receive(in.back(), from, 3));
    }
    if (me % 2 != 0) { begin_sends(); }
    for (int from = 0; from < all.table.ranks; ++from) {
      auto const at = static_cast<std::size_t>(from);
      auto const event = all.finish(receives[at]);
      CHECK(event.source == from && event.bytes == bytes);
      CHECK(std::vector<char>(in[at].begin(), in[at].end() - 5) == message(bytes, from, me));
      CHECK(std::count(in[at].end() - 5, in[at].end(), '?') == 5);
    }
    for (int const each : sends) { all.finish(each); }
  }
}

void test_any_source() {
  exchange all;
  if (all.table.rank != 0) {
    auto const data = message(100, all.table.rank, 0);
    all.finish(all.send(data, 0, 5));
    return;
  }
  std::vector<int> sources;
  for (int i = 1; i < all.table.ranks; ++i) {
    std::vector<char> data(100);
    auto const event = all.finish(all.receive(data, flotilla::transport::any_source, 5));
    CHECK(event.bytes == 100 && data == message(100, event.source, 0));
    sources.push_back(event.source);
  }
  std::sort(sources.begin(), sources.end());
  for (int i = 1; i < all.table.ranks; ++i) {
    CHECK(sources[static_cast<std::size_t>(i - 1)] == i);
  }
}

// More requests than `testsome` may return in one call.
void test_many() {
  exchange all{7};
  constexpr std::size_t messages = 300;
  std::vector<std::vector<char>> in(messages, std::vector<char>(100)), out;
  std::vector<int> sends, receives;
  for (auto& each : in) { receives.push_back(all.receive(each, all.previous(), 1)); }
  for (std::size_t i = 0; i < messages; ++i) {
    out.push_back(message(100, all.table.rank, static_cast<int>(i)));
    sends.push_back(all.send(out.back(), all.next(), 1));
  }
  for (std::size_t i = 0; i < messages; ++i) {  // messages of a rank with a tag do not overtake
    all.finish(receives[i]);
    CHECK(in[i] == message(100, all.previous(), static_cast<int>(i)));
  }
  for (int const each : sends) { all.finish(each); }
}

// The receiver asks for the last tag first.
void test_tags() {
  exchange all;
  std::vector<int> const tags{0, 1, 77, flotilla::transport::max_tag};
  for (std::size_t const bytes : {64u, 100000u}) {
    std::vector<std::vector<char>> out;
    std::vector<int> sends;
    for (int const tag : tags) {
      out.push_back(message(bytes, all.table.rank, tag));
      sends.push_back(all.send(out.back(), all.next(), tag));
    }
    for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
      std::vector<char> data(bytes);
      all.finish(all.receive(data, all.previous(), *tag));
      CHECK(data == message(bytes, all.previous(), *tag));
    }
    for (int const each : sends) { all.finish(each); }
  }
}

void test_cancel() {
  exchange all;
  auto const& table = all.table;
  std::vector<char> never(8), data(8);
  int const from_any = all.receive(never, flotilla::transport::any_source, 9);
  int const from_one = all.receive(never, all.next(), 9);
  int const other = all.receive(data, all.previous(), 10);
  for (int i = 0; i < 10; ++i) { all.poll(); }
  int const number = all.request_of(from_one);
  CHECK(table.cancel(table.self, all.request_of(from_any)) == 0);
  CHECK(table.cancel(table.self, number) == 0);
  CHECK(table.cancel(table.self, number) == 0);  // a second time does nothing
  CHECK(all.wait(from_any).status == -1);
  CHECK(all.wait(from_one).status == -1);
  CHECK(all.describe(-1).find("cancelled") != std::string::npos);
  for (int const wrong : {number, -1, 1 << 20}) { CHECK(table.cancel(table.self, wrong) != 0); }
  auto const sent = message(8, table.rank, 1);
  int const send = all.send(sent, all.next(), 10);
  all.finish(other);
  all.finish(send);
  CHECK(data == message(8, all.previous(), 1));
}

// Usually one call finds that both receives have ended, and returns one of them.
void test_cancel_too_late() {
  exchange all{1};
  auto const sent = message(8, all.table.rank, 1);
  std::vector<char> first(8), second(8);
  int const receives[] = {all.receive(first, all.previous(), 1),
                          all.receive(second, all.previous(), 1)};
  int const sends[] = {all.send(sent, all.next(), 1), all.send(sent, all.next(), 1)};
  MPI_Barrier(MPI_COMM_WORLD);
  all.finish(receives[0]);
  int const number = all.request_of(receives[1]);
  if (number != -1) { CHECK(all.table.cancel(all.table.self, number) == 0); }
  auto event = all.wait(receives[1]);
  if (event.status == -1) {  // the message has come later
    event = all.finish(all.receive(second, all.previous(), 1));
  }
  CHECK(event.status == 0 && event.bytes == 8 && second == message(8, all.previous(), 1));
  for (int const each : sends) { all.finish(each); }
}

void test_errors() {
  exchange all;
  auto const& table = all.table;
  char data[8] = "";
  int request = 0;
  for (int const rank : {-3, -2, -1, table.ranks}) {
    CHECK(table.isend(table.self, data, 8, rank, 0, &request) != 0);
    if (rank != -1) { CHECK(table.irecv(table.self, data, 8, rank, 0, &request) != 0); }
  }
  CHECK(table.isend(table.self, data, 8, 0, -1, &request) != 0);
  CHECK(table.irecv(table.self, data, 8, 0, -1, &request) != 0);
  int const status = table.isend(table.self, data, std::size_t{INT_MAX} + 1, 0, 0, &request);
  CHECK(status != 0 && all.describe(status).find("ount") != std::string::npos);
  for (int const number : {INT_MIN, -2, 0, 1, status, INT_MAX}) {
    auto const text = all.describe(number);
    CHECK(!text.empty() && text.find('\n') == std::string::npos);
  }
  char text[] = "abcdef";
  table.describe(table.self, status, text, 0);
  CHECK(text[0] == 'a');
  table.describe(table.self, status, text, 4);
  CHECK(std::string_view{text}.size() == 3 && text[4] == 'e');
}

// A message that is longer than its receive. MPICH gives the error to MPI_COMM_WORLD.
void test_truncation() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  {
    exchange all;
    std::vector<char> data(8), longer(64);
    int const receive = all.receive(data, all.previous(), 0);
    all.finish(all.send(longer, all.next(), 0));
    auto const event = all.wait(receive);
    CHECK(event.status > 0);
    CHECK(all.describe(event.status).find("runcate") != std::string::npos);
    int const good = all.receive(longer, all.previous(), 0);  // does not inherit the error
    all.finish(all.send(data, all.next(), 0));
    all.finish(good);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// Receives and messages that are open when a transport ends. The next one must not see them.
void test_close() {
  std::vector<char> never(8);
  std::vector<std::vector<char>> lost;
  for (std::size_t const bytes : {0u, 8u, 16384u, 1u << 20}) {
    lost.push_back(message(bytes, world_rank, 100));
  }
  for (int round = 0; round < 3; ++round) {
    exchange all;
    std::vector<char> in(8);
    int const receive = all.receive(in, flotilla::transport::any_source, 0);
    auto const fresh = message(8, world_rank, round);
    all.finish(all.send(fresh, all.next(), 0));
    all.finish(receive);
    CHECK(in == message(8, all.previous(), round));
    all.receive(never, all.next(), 1);
    all.receive(never, flotilla::transport::any_source, 2);
    for (auto const& each : lost) { all.send(each, all.next(), 0); }
  }
}

}  // namespace

int main(int argc, char** argv) {
  char const* const level = argc > 1 ? argv[1] : "serialized";
  int const wanted = *level == 'f'   ? MPI_THREAD_FUNNELED
                     : *level == 's' ? MPI_THREAD_SERIALIZED
                                     : MPI_THREAD_MULTIPLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  CHECK(provided == wanted);
  test_members(level);
  test_machine();
  test_pairs();
  test_any_source();
  test_many();
  test_tags();
  test_cancel();
  test_cancel_too_late();
  test_errors();
  test_truncation();
  test_close();
  auto const left_open = flotilla::mpi(MPI_COMM_WORLD);
  MPI_Finalize();
  left_open.close(left_open.self);
  std::printf("rank %d done\n", world_rank);
}
