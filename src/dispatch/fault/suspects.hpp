// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks that may have caused a fault.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "dispatch/fault/task_text.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The suspects on one device. Suspects that do the same work, such as the tasks of one kernel, are
/// counted together, so that the text names every suspected kernel.
class suspect_list {
 public:
  void add(slot_address task, task_text const& text);
  /// Returns whether a task that does this work is in the list.
  [[nodiscard]] bool has(std::string const& work) const { return by_work_.contains(work); }
  /// For example "kernel 'saxpy', label 'step 3'; 57 tasks: kernel 'scale', labels 'a', 'b'".
  [[nodiscard]] std::string text() const;

 private:
  struct same_work {
    std::size_t count = 0;
    std::vector<std::string> labels;  // different ones, of the first tasks
  };
  std::map<std::string, same_work> by_work_;
};

/// Finds the suspects, by device. After a fault every context of the process returns the same
/// status. So the device that returned this status first did not necessarily run the kernel that
/// faulted. The suspects are the tasks that were probably running: in each lane, the tasks of the
/// first batch that did not complete. After a fault, nobody can know whether a batch that ends with
/// an event had ended. So if the first batch ends with an event, the next batch of its lane is
/// suspect too, and so on.
/// Threads: any.
[[nodiscard]] std::map<unsigned, suspect_list> find_suspects(task_table const& tasks,
                                                             completion_board const& board,
                                                             task_text const& text);

}  // namespace flotilla::dispatch
