// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/worker/server.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>

#include <flotilla/error/error.hpp>

#include "base/log.hpp"
#include "base/refusal.hpp"
#include "base/system_error.hpp"
#include "driver/cpu_devices.hpp"
#include "driver/library.hpp"
#include "isolation/channel/control_socket.hpp"
#include "isolation/channel/system_thread.hpp"
#include "isolation/protocol/layout.hpp"

namespace flotilla::isolated {

namespace {

control_answer refused(CUresult status, std::string const& why) {
  control_answer made{static_cast<std::int32_t>(status), {}};
  std::snprintf(made.text, sizeof made.text, "%s", why.c_str());
  return made;
}

/// The exit status after a call for the socket has failed: 0 if the owner has ended.
int end_of_socket(char const* call) {
  if (errno == 0 || errno == EPIPE || errno == ECONNRESET) { return 0; }
  base::log_format(log_level::error, "a worker process ends, because %s failed: %s", call,
                   base::refusal_text(errno).c_str());
  return 1;
}

/// The answer to a call that was refused: what the CPU driver has noted about it, or nothing.
message_writer reason_of(CUresult status, std::span<std::byte> room) {
  message_writer made{room};
  std::string const why = base::take_refusal(static_cast<int>(status));
  made.put_text(why);
  return made;
}

[[noreturn]] void serve(channel& on, worker_parts& parts) {
  channel_server end{on};
  executor calls{parts};
  while (true) {
    std::span<std::byte const> const request = end.wait();
    message_writer out{end.room()};
    CUresult status = CUDA_ERROR_OPERATING_SYSTEM;
    try {
      status = calls.run(request, out);
      if (status != CUDA_SUCCESS && out.size() == 0) { out = reason_of(status, end.room()); }
    } catch (std::bad_alloc const&) {
      status = CUDA_ERROR_OUT_OF_MEMORY;
    } catch (std::exception const& why) { base::log(log_level::error, why.what()); }
    end.answer(static_cast<std::int32_t>(status), out.size());
  }
}

}  // namespace

server::server()
    : socket_(socket_descriptor),
      channels_file_(channels_descriptor),
      host_file_(host_memory_descriptor) {
  if (!is_sealed_memory(channels_file_.get(), sizeof(channel_block)) ||
      !is_sealed_memory(host_file_.get(), host_bytes)) {
    throw invalid_argument(
        "flotilla-worker: the descriptors 4 and 5 are not the memory of an owner; the library "
        "flotilla starts this program");
  }
  channels_ = mapping{channels_file_, sizeof(channel_block)};
  host_memory_ = mapping{host_file_, host_bytes, reinterpret_cast<void*>(host_base)};
}

control_answer server::start(control_message const& hello) {
  if (hello.version != protocol_version) {
    return refused(CUDA_ERROR_INVALID_VALUE, "the program is of another version of flotilla");
  }
  // The socket also says that the owner has ended. But a child of the owner may hold its other end.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != hello.owner) { return refused(CUDA_ERROR_UNKNOWN, "the owner has ended"); }
  if (hello.device < 0 || hello.device >= max_devices) {
    return refused(CUDA_ERROR_INVALID_DEVICE, "there is no such device");
  }
  if (hello.is_gpu == 0) { driver::ensure_cpu_devices(hello.device + 1); }
  driver::opened const& found = hello.is_gpu != 0 ? driver::gpu_driver() : driver::cpu_driver();
  if (found.api == nullptr) { return refused(CUDA_ERROR_NO_DEVICE, found.text); }
  api_ = found.api;
  objects_ = std::make_unique<real_handles>();
  host_ = std::make_unique<host_registrations>(*api_);
  memory_ = std::make_unique<device_mappings>(*api_, hello.device);
  parts_ = std::make_unique<worker_parts>(worker_parts{*api_, *objects_, *host_, ended_contexts_});
  std::string const why = memory_->reserve();
  return why.empty() ? control_answer{} : refused(CUDA_ERROR_NOT_SUPPORTED, why);
}

void server::open_channel(std::uint32_t number) {
  if (number >= channels_per_worker || (opened_ >> number & 1) != 0) { return; }
  auto& all = *reinterpret_cast<channel_block*>(channels_.data());
  start_thread("a thread of a worker process",
               [&from = all.channels[number], &parts = *parts_] { serve(from, parts); });
  opened_ |= 1u << number;
}

control_answer server::answer_to(control_message const& asked, descriptor const& passed) {
  using kinds = control_message::kinds;
  if (asked.kind == kinds::hello) { return start(asked); }
  if (parts_ == nullptr) {
    return refused(CUDA_ERROR_NOT_INITIALIZED, "the worker is not started");
  }
  auto* const host = reinterpret_cast<void*>(asked.address);
  switch (asked.kind) {
    case kinds::open_channel: open_channel(asked.number); return {};
    case kinds::map_memory:
      if (!passed.valid()) {
        return refused(CUDA_ERROR_OPERATING_SYSTEM,
                       "recvmsg brought no descriptor of device memory" + base::limit_text(EMFILE));
      }
      return {static_cast<std::int32_t>(memory_->map(asked.address, asked.bytes, passed.get())),
              {}};
    case kinds::unmap_memory:
      return {static_cast<std::int32_t>(memory_->unmap(asked.address, asked.bytes)), {}};
    case kinds::register_host:
      return {static_cast<std::int32_t>(host_->add(host, asked.bytes)), {}};
    case kinds::unregister_host: host_->remove(host); return {};
    case kinds::inject:
      if (asked.text[0] == '\0') {
        driver::clear_injection();
      } else {
        driver::inject(std::string{asked.text, ::strnlen(asked.text, sizeof asked.text)});
      }
      return {};
    case kinds::ping: return {};
    default: return refused(CUDA_ERROR_INVALID_VALUE, "there is no such message");
  }
}

int server::run() {
  while (true) {
    control_message asked{};
    descriptor passed;
    errno = 0;
    if (!receive_message(socket_.get(), &asked, sizeof asked, passed)) {
      return end_of_socket("recvmsg");
    }
    control_answer answer;
    try {
      answer = answer_to(asked, passed);
    } catch (std::exception const& why) {
      answer = refused(CUDA_ERROR_OPERATING_SYSTEM, why.what());
    }
    if (!send_message(socket_.get(), &answer, sizeof answer)) { return end_of_socket("sendmsg"); }
  }
}

}  // namespace flotilla::isolated
