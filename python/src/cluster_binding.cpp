// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The Python class Cluster.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <flotilla/cluster/share_devices.hpp>
#include <flotilla/error/error.hpp>

#include "cluster.hpp"
#include "errors.hpp"
#include "runtime.hpp"

namespace flotilla::python {

namespace {

using namespace nb::literals;

nb::object exclusive(py_cluster const& self, nb::callable const& function) {
  nb::object result;
  self.core->without_gil([&](cluster& all) {
    all.exclusive([&] {
      nb::gil_scoped_acquire const gil;
      result = function();
    });
  });
  return result;
}

nb::dict counters(py_cluster const& self) {
  cluster_counters const all = self.core->without_gil([](cluster& of) { return of.counters(); });
  nb::dict made;
  made["messages_sent"] = all.messages_sent;
  made["messages_received"] = all.messages_received;
  made["transfers_sent"] = all.transfers_sent;
  made["transfers_received"] = all.transfers_received;
  made["bytes_sent"] = all.bytes_sent;
  made["bytes_received"] = all.bytes_received;
  return made;
}

/// Returns the owner of each of `count` tiles.
template <class Owner>
nb::list owners(std::int64_t count, Owner const& owner) {
  if (count < 0) {
    throw invalid_argument("the number of tiles must not be negative, but is " +
                           std::to_string(count));
  }
  nb::list made;
  for (std::int64_t i = 0; i < count; ++i) { made.append(owner(i)); }
  return made;
}

void leave(py_cluster const& self, nb::args const& why) {
  if (why.size() > 1 && !why[1].is_none()) { self.core->fail(text_of_exception(why[1])); }
  self.core->close();
}

/// The calls with which the program of this rank and the others go on together, and end.
void bind_calls(nb::class_<py_cluster>& to) {
  to.def(
        "wait_idle",
        [](py_cluster const& self) {
          self.core->without_gil([](cluster& all) { all.wait_idle(); });
          self.core->owner()->note_wait();
        },
        "Waits until all tasks of this rank's runtime have ended, and until all ranks have called "
        "this function. Then no message of a flow is on the way.")
      .def("exclusive", exclusive, "function"_a,
           nb::sig("def exclusive(self, function: collections.abc.Callable[[], object]) -> object"),
           "Returns function(). Meanwhile the cluster does not use MPI. Unless the thread level of "
           "MPI is MPI.THREAD_MULTIPLE, the program's own calls of MPI must be in such a function.")
      .def(
          "finish",
          [](py_cluster const& self) {
            self.core->without_gil([](cluster& all) { all.finish(); });
            self.core->owner()->note_wait();
          },
          "Says that this rank submits no more tasks, and waits for those that it has submitted. "
          "Use it if close() comes much later.")
      .def(
          "fail", [](py_cluster const& self, std::string const& why) { self.core->fail(why); },
          "why"_a,
          "Tells the other ranks that this one has failed. Their waits raise RankFailed with this "
          "text. The end of a 'with' block does so after an exception.")
      .def(
          "close", [](py_cluster const& self) { self.core->close(); },
          "Waits until the tasks of this rank have ended, and all ranks have called close(). Then "
          "ends the cluster. Its flows take no more tasks. A second call does nothing.")
      .def(
          "__enter__", [](nb::object self) { return self; },
          nb::sig("def __enter__(self) -> Cluster"))
      .def("__exit__", leave, "why"_a);
}

}  // namespace

void bind_clusters(nb::module_& to) {
  nb::class_<py_cluster> made(
      to, "Cluster",
      "The ranks of a program that runs as several processes. Flows that are made with a cluster "
      "run over all ranks. As a context manager, it closes at the end of the block; after an "
      "exception, the other ranks learn its text. A cluster that is not closed ends with its "
      "runtime.");
  made.def(
          "__init__",
          [](py_cluster* self, py_runtime const& runtime, nb::handle communicator) {
            new (self) py_cluster{open_cluster(runtime.core, communicator)};
          },
          "runtime"_a, "communicator"_a.none(),
          "`communicator` is one of mpi4py, such as MPI.COMM_WORLD. All its ranks make the cluster "
          "together. The first one on a machine compiles the connection with MPI.")
      .def_prop_ro(
          "rank", [](py_cluster const& self) { return self.core->rank(); },
          "The number of this rank, from 0.")
      .def_prop_ro(
          "ranks", [](py_cluster const& self) { return self.core->ranks(); },
          "How many ranks there are.")
      .def_prop_ro("closed", [](py_cluster const& self) { return self.core->is_closed(); })
      .def("counters", counters, nb::sig("def counters(self) -> dict[str, int]"),
           "What this rank has sent and received.")
      .def(
          "blocks",
          [](py_cluster const& self, std::int64_t count) {
            int const ranks = self.core->ranks();
            return owners(count, [&](std::int64_t i) { return i * ranks / count; });
          },
          "count"_a, nb::sig("def blocks(self, count: int) -> list[int]"),
          "The owners of tiles, for Data.tiles: each rank owns tiles that follow each other, about "
          "the same number of them.")
      .def(
          "cyclic",
          [](py_cluster const& self, std::int64_t count) {
            int const ranks = self.core->ranks();
            return owners(count, [&](std::int64_t i) { return i % ranks; });
          },
          "count"_a, nb::sig("def cyclic(self, count: int) -> list[int]"),
          "The owners of tiles, for Data.tiles: the ranks own them in turn.")
      .def("__repr__", [](py_cluster const& self) -> std::string {
        if (self.core->is_closed()) { return "<flotilla: closed cluster>"; }
        return "<flotilla: rank " + std::to_string(self.core->rank()) + " of " +
               std::to_string(self.core->ranks()) + ">";
      });
  bind_calls(made);
  to.def(
      "_share_devices",
      [](std::vector<std::vector<std::string>> const& seen, int local_rank) {
        return share_devices(seen, local_rank);
      },
      "seen"_a, "local_rank"_a, "For flotilla.share_devices.");
}

}  // namespace flotilla::python
