// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/channel/control_socket.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "isolation/channel/system_error.hpp"

namespace flotilla::isolated {

std::pair<descriptor, descriptor> make_sockets() {
  int ends[2] = {-1, -1};
  // SOCK_SEQPACKET keeps the borders of messages and reports a closed end.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw_refused("socketpair", "the socket of a worker process");
  }
  return {descriptor{ends[0]}, descriptor{ends[1]}};
}

bool send_message(int socket, void const* message, std::size_t bytes, int passed) noexcept {
  iovec part{const_cast<void*>(message), bytes};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  if (passed >= 0) {
    head.msg_control = room;
    head.msg_controllen = sizeof room;
    cmsghdr* const extra = CMSG_FIRSTHDR(&head);
    extra->cmsg_level = SOL_SOCKET;
    extra->cmsg_type = SCM_RIGHTS;
    extra->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(extra), &passed, sizeof passed);
  }
  ssize_t sent = 0;
  do { sent = ::sendmsg(socket, &head, MSG_NOSIGNAL); } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

bool receive_message(int socket, void* message, std::size_t bytes, descriptor& passed) noexcept {
  iovec part{message, bytes};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  head.msg_control = room;
  head.msg_controllen = sizeof room;
  ssize_t found = 0;
  do { found = ::recvmsg(socket, &head, MSG_CMSG_CLOEXEC); } while (found < 0 && errno == EINTR);
  for (cmsghdr* extra = CMSG_FIRSTHDR(&head); found >= 0 && extra != nullptr;
       extra = CMSG_NXTHDR(&head, extra)) {
    if (extra->cmsg_level != SOL_SOCKET || extra->cmsg_type != SCM_RIGHTS) { continue; }
    int number = -1;
    std::memcpy(&number, CMSG_DATA(extra), sizeof number);
    passed = descriptor{number};
  }
  return found == static_cast<ssize_t>(bytes) && (head.msg_flags & MSG_TRUNC) == 0;
}

}  // namespace flotilla::isolated
