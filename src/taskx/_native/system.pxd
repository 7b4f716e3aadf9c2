# What the walk asks of POSIX, and the few calls that differ between systems.
from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef extern from *:
    """
    #include <dirent.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <sys/stat.h>
    #include <unistd.h>
    #ifdef __linux__
    #include <sys/syscall.h>
    #include <sys/vfs.h>
    #endif

    #ifdef __APPLE__
    #define TX_MTIME(st) ((st)->st_mtimespec)
    #else
    #define TX_MTIME(st) ((st)->st_mtim)
    #endif

    static inline int64_t tx_mtime_ns(const struct stat *st) {
        return (int64_t)TX_MTIME(st).tv_sec * 1000000000 + TX_MTIME(st).tv_nsec;
    }

    /* Opens a folder below `at` without passing through any symbolic link. */
    static int tx_open_folder_part(int at, const char *path) {
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    #ifdef SYS_openat2
        static int refused = 0;
        if (!__atomic_load_n(&refused, __ATOMIC_RELAXED)) {
            struct { uint64_t flags, mode, resolve; } how = { flags, 0, 0x04 /* NO_SYMLINKS */ };
            long fd = syscall(SYS_openat2, at, path, &how, sizeof how);
            if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
                return (int)fd;
            __atomic_store_n(&refused, 1, __ATOMIC_RELAXED);
        }
    #endif
        return openat(at, path, flags);
    }

    /* The same for a path of any length, in parts that the system takes. path[n] is 0. */
    static int tx_open_folder(int root, const char *path, size_t n) {
        char part[4096];
        int at = root;
        while (n > sizeof part - 1) {
            size_t k = sizeof part - 1;
            while (k && path[k] != '/')
                k--;
            memcpy(part, path, k);
            part[k] = 0;
            int next = tx_open_folder_part(at, part);
            if (at != root)
                close(at);
            if (next < 0)
                return -1;
            at = next;
            path += k + 1;
            n -= k + 1;
        }
        int fd = tx_open_folder_part(at, n ? path : ".");
        if (at != root) {
            int saved = errno;
            close(at);
            errno = saved;
        }
        return fd;
    }

    /* A file system of the kernel's own (proc, sysfs, ...) whose files are not text at rest. */
    static int tx_kernel_files(int fd) {
    #ifdef __linux__
        struct statfs fs;
        if (fstatfs(fd, &fs) != 0)
            return 0;
        switch ((unsigned long)fs.f_type & 0xffffffff) {
        case 0x9fa0: /* proc */ case 0x62656572: /* sysfs */ case 0x27e0eb: /* cgroup */
        case 0x63677270: /* cgroup2 */ case 0x64626720: /* debugfs */ case 0x74726163: /* tracefs */
        case 0x73636673: /* securityfs */ case 0x1cd1: /* devpts */ case 0x62656570: /* configfs */
        case 0xcafe4a11: /* bpf */ case 0x6165676c: /* pstore */ case 0xde5e81e4: /* efivarfs */
        case 0x42494e4d: /* binfmt_misc */ case 0x19800202: /* mqueue */ case 0x6e736673: /* nsfs */
            return 1;
        }
    #endif
        return 0;
    }

    static inline int tx_entry_type(const struct dirent *e) {
        return e->d_type == DT_REG ? 1 : e->d_type == DT_DIR ? 2 : e->d_type == DT_UNKNOWN ? 0 : 3;
    }
    """
    ctypedef struct DIR:
        pass
    struct dirent:
        char d_name[256]
    struct stat_t "stat":
        uint64_t st_dev
        uint64_t st_ino
        uint32_t st_mode
        int64_t st_size
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    int O_RDONLY, O_NOFOLLOW, O_CLOEXEC, O_NONBLOCK, O_DIRECTORY, AT_SYMLINK_NOFOLLOW
    DIR *fdopendir(int fd) nogil
    dirent *readdir(DIR *folder) nogil
    int closedir(DIR *folder) nogil
    int close(int fd) nogil
    int dup(int fd) nogil
    int c_open "open"(const char *path, int flags) nogil
    int openat(int at, const char *path, int flags) nogil
    int fstat(int fd, stat_t *st) nogil
    int fstatat(int at, const char *path, stat_t *st, int flags) nogil
    int faccessat(int at, const char *path, int mode, int flags) nogil
    Py_ssize_t c_read "read"(int fd, void *data, size_t n) nogil
    bint S_ISREG(uint32_t mode) nogil
    bint S_ISDIR(uint32_t mode) nogil
    int64_t tx_mtime_ns(const stat_t *st) nogil
    int tx_open_folder(int root, const char *path, size_t n) nogil
    int tx_kernel_files(int fd) nogil
    int tx_entry_type(const dirent *entry) nogil
    int pthread_mutex_init(pthread_mutex_t *mutex, void *how) nogil
    int pthread_mutex_destroy(pthread_mutex_t *mutex) nogil
    int pthread_mutex_lock(pthread_mutex_t *mutex) nogil
    int pthread_mutex_unlock(pthread_mutex_t *mutex) nogil
    int pthread_cond_init(pthread_cond_t *cond, void *how) nogil
    int pthread_cond_destroy(pthread_cond_t *cond) nogil
    int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) nogil
    int pthread_cond_broadcast(pthread_cond_t *cond) nogil
    int pthread_cond_signal(pthread_cond_t *cond) nogil
    int64_t tx_add "__atomic_add_fetch"(int64_t *at, int64_t n, int order) nogil
    int64_t tx_get "__atomic_load_n"(int64_t *at, int order) nogil
    int RELAXED "__ATOMIC_RELAXED"
