/* Functions that glibc has had since after 2.28, by means of those that it had then. Hidden: they
   serve only the library that they are linked into. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

/* What the inline functions of older headers called. */
#if defined(__x86_64__)
enum { stat_version = 1 };
#elif defined(__aarch64__)
enum { stat_version = 0 };
#endif
int __xstat(int version, const char* path, struct stat* to);
int __lxstat(int version, const char* path, struct stat* to);
int __fxstat(int version, int file, struct stat* to);
int __fxstatat(int version, int folder, const char* path, struct stat* to, int flags);

/* 2.33 */
int stat(const char* path, struct stat* to) { return __xstat(stat_version, path, to); }
int lstat(const char* path, struct stat* to) { return __lxstat(stat_version, path, to); }
int fstat(int file, struct stat* to) { return __fxstat(stat_version, file, to); }
int fstatat(int folder, const char* path, struct stat* to, int flags) {
  return __fxstatat(stat_version, folder, path, to, flags);
}

/* 2.32: whether the process has one thread; libstdc++ then leaves out atomic operations. */
char __libc_single_threaded = 0;

/* 2.30: pthread_cond_timedwait by any clock. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now, real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += until->tv_sec - now.tv_sec;
  real.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (real.tv_nsec < 0) {
    real.tv_nsec += 1000000000;
    --real.tv_sec;
  } else if (real.tv_nsec >= 1000000000) {
    real.tv_nsec -= 1000000000;
    ++real.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &real);
}
