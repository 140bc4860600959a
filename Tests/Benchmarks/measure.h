// What is measured: time, a process's CPU and memory, and how long things took.

#pragma once
#include <stddef.h>

/// Unix seconds.
double now(void);
/// CPU seconds that a process has used; 0 when it has ended.
double cpu_seconds(int pid);
/// Kilobytes of memory that a process holds.
long resident_kilobytes(int pid);

/// How long things took, in seconds.
struct durations {
    double *values;
    size_t count, size;
};

void add_duration(struct durations *durations, double seconds);
/// The value below which a part of them lies, such as 0.99; NaN when there are none.
double quantile(struct durations *durations, double part);
