"""A flag that Python sets and loops without the GIL poll."""
cimport cython


@cython.final
cdef class CancelFlag:
    """Set once by whoever gives up on a piece of work; the work ends at its next look."""

    def set(self):
        """Ask for the end. Safe from any thread, any number of times."""
        tx_flag_set(&self.value, 1)

    def is_set(self):
        return tx_flag_get(&self.value) != 0
