# A flag that Python sets and loops without the GIL poll.
cimport cython


cdef extern from *:
    """
    static inline int tx_flag_get(const int *flag) {
        return __atomic_load_n(flag, __ATOMIC_RELAXED);
    }
    static inline void tx_flag_set(int *flag, int value) {
        __atomic_store_n(flag, value, __ATOMIC_RELAXED);
    }
    """
    int tx_flag_get(const int *flag) noexcept nogil
    void tx_flag_set(int *flag, int value) noexcept nogil


@cython.final
cdef class CancelFlag:
    cdef int value      # 0 or 1; read with tx_flag_get(&flag.value) while the GIL is released
