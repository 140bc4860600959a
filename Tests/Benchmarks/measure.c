#include "measure.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/// CPU seconds of the children of a process that have ended.
static double cpu_of_ended(int pid) {
    char path[32], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    long user = 0, system = 0;
    char *rest = fgets(line, sizeof line, file) == NULL ? NULL : strrchr(line, ')');
    if (rest != NULL) sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %ld %ld", &user, &system);
    fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double tree_cpu_seconds(int pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    double sum = cpu_seconds(pid) + cpu_of_ended(pid);
    for (int child; fscanf(file, "%d", &child) == 1;) sum += cpu_seconds(child);
    fclose(file);
    return sum;
}

/// The number in the first line of /proc/PID/NAME that has this format; 0 without one.
static long field(int pid, const char *name, const char *format) {
    char path[32], line[128];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    long value = 0;
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, format, &value) != 1) continue;
    fclose(file);
    return value;
}

long resident_kilobytes(int pid) { return field(pid, "status", "VmRSS: %ld"); }

long anonymous_kilobytes(int pid) { return field(pid, "status", "RssAnon: %ld"); }

long written_bytes(int pid) { return field(pid, "io", "write_bytes: %ld"); }

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
