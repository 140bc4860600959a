import Foundation

/// Process metrics from `/proc`, under the names of Prometheus' client libraries.
enum ProcessMetrics {
    static let help = [
        "pacebus_build_info": "Always 1; the labels are this executable's version and commit.",
        "pacebus_disk_free_bytes": "Free space on the disk of the store, in bytes.",
        "pacebus_loop_busy_ratio": "Share of the last 10 s that the service's loop spent handling events.",
        "pacebus_shards_owned": "Shards of 256 that this process owns.",
        "pacebus_store_bytes": "Size of the store with its write-ahead log, in bytes.",
        "process_cpu_seconds_total": "User and system time this process has used, in seconds.",
        "process_resident_memory_bytes": "Memory of this process that is resident, in bytes.",
        "process_start_time_seconds": "When this process started, in Unix seconds.",
    ]

    /// Reads the metrics; empty without `/proc`.
    static func read() -> [String: MetricFamily] {
        guard let status = fields(ofFile: "/proc/self/stat"), let bootTime else { return [:] }
        let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
        let pageSize = Double(sysconf(Int32(_SC_PAGESIZE)))
        return [
            "process_cpu_seconds_total": counter(
                "process_cpu_seconds_total", (status[11] + status[12]) / ticksPerSecond),
            "process_resident_memory_bytes": gauge("process_resident_memory_bytes", status[21] * pageSize),
            "process_start_time_seconds": gauge("process_start_time_seconds", bootTime + status[19] / ticksPerSecond),
        ]
    }

    private static func counter(_ name: String, _ value: Double) -> MetricFamily {
        let counter = PrometheusCounter(MetricID(name: name, labels: ""))
        counter.increment(by: value)
        return MetricFamily(kind: .counter, series: ["": counter])
    }

    static func gauge(_ name: String, _ value: Double) -> MetricFamily {
        let gauge = PrometheusGauge(MetricID(name: name, labels: ""))
        gauge.set(value)
        return MetricFamily(kind: .gauge, series: ["": gauge])
    }

    /// The fields of `/proc/PID/stat` after the process name, which may contain any character.
    private static func fields(ofFile path: String) -> [Double]? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let name = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: name)...].split(separator: " ").map { Double($0) ?? 0 }
        return fields.count > 21 ? fields : nil
    }

    /// The machine's boot time, in Unix seconds.
    private static let bootTime: Double? = {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        return text.split(separator: "\n").first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
    }()
}
