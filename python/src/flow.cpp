// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flow.hpp"

#include <string>
#include <utility>

#include <flotilla/error/error.hpp>

#include "errors.hpp"
#include "function.hpp"

namespace flotilla::python {

flow_core::flow_core(core_ptr owner, flow_options const& options) : owner_{std::move(owner)} {
  runtime& rt = owner_->usable();
  owner_->without_gil([&] { held_.emplace(rt, options); });
  owner_->add(*this);
}

flow_core::flow_core(std::shared_ptr<cluster_core> ranks, flow_options const& options)
    : owner_{ranks->owner()}, ranks_{std::move(ranks)} {
  ranks_->without_gil([&](cluster& all) { held_.emplace(all, options); });
  owner_->add(*this);
}

flow_core::~flow_core() {
  end();
  owner_->remove(*this);
}

flow& flow_core::usable() {
  static_cast<void>(owner_->usable());
  if (is_closed_) { throw invalid_handle("the flow is closed"); }
  if (ranks_ != nullptr) { ranks_->check_open(); }
  return *held_;
}

void flow_core::close() {
  if (is_closed_) { return; }
  if (calls_ != 0 && inside_function::is_active()) {
    throw would_deadlock(
        "close(): another thread uses the flow, and may wait for the task that calls close()");
  }
  if (calls_ != 0) { inside_loop::refuse_wait("the flow"); }
  is_closed_ = true;
  interruptible_call waiting;
  while (calls_ != 0) { waiting.sleep(); }
  end();
}

void flow_core::keep(nb::handle object) { kept_.try_emplace(object.ptr(), nb::borrow(object)); }

void flow_core::end() noexcept {
  if (!held_) { return; }
  if (owner_->is_in_child()) {  // the destructor would use threads that do not exist here
    static_cast<void>(new flow{std::move(*held_)});
  }
  held_.reset();
}

bool flow_core::free() noexcept {
  end();
  return true;
}

}  // namespace flotilla::python
