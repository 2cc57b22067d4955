! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
program hello
  use, intrinsic :: iso_c_binding
  use flotilla
  implicit none
  type(flotilla_runtime) :: rt
  type(flotilla_buffer) :: there
  type(flotilla_ticket) :: done
  integer(c_int), target :: value = 7, here(100)
  call try(flotilla_runtime_create(made=rt))
  call try(flotilla_device_alloc(rt, 0, 400_c_size_t, there))
  call try(flotilla_submit_fill(flotilla_in_buffer(there), c_loc(value), 4_c_size_t, 100_c_size_t, ticket=done))
  call try(flotilla_ticket_wait(done))
  call try(flotilla_submit_copy(flotilla_on_host(c_loc(here)), flotilla_in_buffer(there), 400_c_size_t, ticket=done))
  call try(flotilla_ticket_wait(done))
  print '(a, i0)', 'hello from device 0: ', here(100)
contains
  subroutine try(status)
    integer(c_int), intent(in) :: status
    if (status /= flotilla_success) error stop 'flotilla refused a call'
  end subroutine
end program
