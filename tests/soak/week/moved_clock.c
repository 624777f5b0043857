/* Moves the time of day of a process, and of nothing else: what durations are measured with stays as it is.
 *
 * MOVED_CLOCK names a file with one 64-bit number, the nanoseconds to add. All processes map the same file, so
 * whoever writes the number moves all of their clocks in the same instant. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static int (*read_clock)(clockid_t, struct timespec *);
static const volatile int64_t *offset;

__attribute__((constructor)) static void open_offset(void) {
    read_clock = dlsym(RTLD_NEXT, "clock_gettime");
    const char *name = getenv("MOVED_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *place = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (place != MAP_FAILED) offset = place;
}

int clock_gettime(clockid_t clock, struct timespec *found) {
    if (!read_clock) open_offset(); /* called by another constructor */
    int failed = read_clock(clock, found);
    if (failed || !offset || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
    int64_t moved = found->tv_sec * SECOND + found->tv_nsec + *offset;
    found->tv_sec = moved / SECOND;
    found->tv_nsec = moved % SECOND;
    return 0;
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
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}
