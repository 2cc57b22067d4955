! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
!> Bulks and shapes of the interface for Fortran.
module bulk_tests
  use, intrinsic :: iso_c_binding
  use flotilla
  use checks
  implicit none
  private
  public :: bulks, shapes
contains
  !> requirement: each item of a bulk has its own place and its own value
  subroutine bulks(rt, program)
    type(flotilla_runtime), intent(in) :: rt
    type(flotilla_program), intent(in) :: program
    integer(c_int64_t), target :: given(100), seen(2, 100)
    type(flotilla_kernel) :: write_word
    type(flotilla_buffer) :: matrix
    type(flotilla_argument) :: arguments(2)
    type(flotilla_ticket), target :: done(3)
    integer :: i
    given = [(int(i, c_int64_t)**4, i = 1, size(given))]
    seen = 7
    call ok(flotilla_program_kernel(program, 'write_word' // c_null_char, write_word), 'kernel')
    call ok(flotilla_device_alloc(rt, 0, c_sizeof(seen), matrix), 'device_alloc')
    call ok(flotilla_submit_copy(flotilla_in_buffer(matrix), flotilla_on_host(c_loc(seen)), &
      c_sizeof(seen), ticket=done(1)), 'submit_copy to the device')
    arguments = [flotilla_address(matrix), flotilla_value(given(1))]
    arguments(1)%stride = 2 * c_sizeof(given(1))
    arguments(2)%stride = c_sizeof(given(1))
    call ok(flotilla_submit_bulk(write_word, flotilla_over(1, 1), arguments, 2_c_size_t, &
      size(given, kind=c_size_t), flotilla_after(done(1)), done(2)), 'submit_bulk')
    call ok(flotilla_submit_copy(flotilla_on_host(c_loc(seen)), flotilla_in_buffer(matrix), &
      c_sizeof(seen), flotilla_after(done(2)), done(3)), 'submit_copy to the host')
    call ok(flotilla_wait_all(done, 3_c_size_t), 'wait_all')
    call expect(all(seen(1, :) == given) .and. all(seen(2, :) == 7), 'each item wrote its own word')
    do i = 1, size(done)
      call ok(flotilla_ticket_release(done(i)), 'ticket_release')
    end do
    call ok(flotilla_buffer_free(matrix), 'buffer_free')
  end subroutine

  !> requirement: a shape has enough blocks, for each kind of integers
  subroutine shapes
    type(flotilla_shape) :: shape
    shape = flotilla_over(513, 256)
    call expect(all(shape%grid == [3, 1, 1]) .and. all(shape%block == [256, 1, 1]), 'a shape')
    shape = flotilla_over(512_c_int64_t, 256)
    call expect(shape%grid(1) == 2, 'a shape for an integer of 8 bytes')
    shape = flotilla_over(2_c_int64_t**40, 256_c_int64_t)
    call expect(shape%grid(1) == 0, 'too many blocks are an empty grid')
  end subroutine
end module
