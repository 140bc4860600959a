// Measures time, a process's CPU and memory, and durations.

#pragma once
#include <stddef.h>

/// Unix seconds.
double now(void);
/// CPU seconds of a process; 0 after its end.
double cpu_seconds(int pid);
/// CPU seconds of a process and its children, also of those that have ended.
double tree_cpu_seconds(int pid);
/// Resident memory of a process in kilobytes.
long resident_kilobytes(int pid);
/// The part of it that is not of files, such as code.
long anonymous_kilobytes(int pid);
/// Bytes that a process has written to disks, also those still in the page cache; 0 on tmpfs.
long written_bytes(int pid);

/// Durations in seconds.
struct durations {
    double *values;
    size_t count, size;
};

void add_duration(struct durations *durations, double seconds);
/// The quantile for a fraction such as 0.99; NaN without durations.
double quantile(struct durations *durations, double part);
