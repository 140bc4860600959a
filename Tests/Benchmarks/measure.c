#include "measure.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(struct timespec time) { return (double)time.tv_sec + (double)time.tv_nsec / 1e9; }

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return seconds(time);
}

double cpu_seconds(int pid) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return seconds(time);
}

static long status(int pid, const char *format) {
    char path[32], line[128];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    long kilobytes = 0;
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, format, &kilobytes) != 1) continue;
    fclose(file);
    return kilobytes;
}

long resident_kilobytes(int pid) { return status(pid, "VmRSS: %ld"); }

long anonymous_kilobytes(int pid) { return status(pid, "RssAnon: %ld"); }

void add_duration(struct durations *durations, double seconds) {
    if (durations->count == durations->size) {
        durations->size = durations->size == 0 ? 4096 : durations->size * 2;
        durations->values = realloc(durations->values, durations->size * sizeof *durations->values);
        if (durations->values == NULL) exit(1);
    }
    durations->values[durations->count++] = seconds;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double quantile(struct durations *durations, double part) {
    if (durations->count == 0) return NAN;
    qsort(durations->values, durations->count, sizeof *durations->values, compare);
    return durations->values[(size_t)(part * (double)(durations->count - 1))];
}
