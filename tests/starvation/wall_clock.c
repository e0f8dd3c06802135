/* Moves the wall clock of a process by the seconds in a file that is mapped into it. Preloaded; nothing else is touched:
   faketime would also change the waits of threads, which Python does not survive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *moved;
static int (*real_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("TEST_WALL_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  real_clock = dlsym(RTLD_NEXT, "clock_gettime");
  if (file < 0)
    return;
  void *mapped = mmap(0, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED)
    moved = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *found) {
  if (!real_clock)
    real_clock = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real_clock(clock, found);
  if (result == 0 && clock == CLOCK_REALTIME && moved)
    found->tv_sec += *moved;
  return result;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  found->tv_sec = now.tv_sec;
  found->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *found) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (found)
    *found = now.tv_sec;
  return now.tv_sec;
}
