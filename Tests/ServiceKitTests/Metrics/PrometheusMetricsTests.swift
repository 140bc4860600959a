import CoreMetrics
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct PrometheusMetricsTests {
    private let metrics = PrometheusMetrics()

    /// The rendered lines of one family.
    private func rendered(_ name: String) -> [String] {
        metrics.render().split(separator: "\n").map(String.init).filter {
            $0.hasPrefix(name) || $0.hasPrefix("# HELP \(name) ") || $0.hasPrefix("# TYPE \(name) ")
        }
    }

    @Test func `a counter adds integers and fractions`() {
        Counter(label: "items", dimensions: [("kind", "a")], factory: metrics).increment(by: 3)
        Counter(label: "items", dimensions: [("kind", "a")], factory: metrics).increment()
        FloatingPointCounter(label: "items.total", dimensions: [("kind", "a")], factory: metrics).increment(by: 0.5)
        Counter(label: "items_total", dimensions: [("kind", "0")], factory: metrics).increment()
        metrics.describe(["items_total": "Items \\ stored,\nall."])
        #expect(
            rendered("items_total") == [
                #"# HELP items_total Items \\ stored,\nall."#, "# TYPE items_total counter",
                #"items_total{kind="0"} 1"#, #"items_total{kind="a"} 4.5"#,
            ])
    }

    @Test func `only a counter has a counter's name`() async {
        await #expect(processExitsWith: .failure) {
            Meter(label: "dropped_total", factory: PrometheusMetrics()).set(1)
        }
    }

    @Test func `a gauge and a meter show the latest value`() {
        let meter = Meter(label: "window", factory: metrics)
        meter.set(5)
        meter.increment(by: 2.5)
        meter.decrement()
        Gauge(label: "ratio", factory: metrics).record(0.25)
        #expect(rendered("window") == ["# HELP window window", "# TYPE window gauge", "window 6.5"])
        #expect(rendered("ratio").last == "ratio 0.25")
    }

    @Test func `a timer is a histogram in seconds with cumulative buckets`() {
        let timer = Timer(label: "commit", dimensions: [("store", "main")], factory: metrics)
        timer.recordMilliseconds(1)
        timer.recordMilliseconds(40)
        timer.recordSeconds(90)
        let lines = rendered("commit_seconds")
        #expect(lines[0...1] == ["# HELP commit_seconds commit seconds", "# TYPE commit_seconds histogram"])
        #expect(lines.contains(#"commit_seconds_bucket{store="main",le="0.001"} 1"#))
        #expect(lines.contains(#"commit_seconds_bucket{store="main",le="0.025"} 1"#))
        #expect(lines.contains(#"commit_seconds_bucket{store="main",le="0.05"} 2"#))
        #expect(lines.contains(#"commit_seconds_bucket{store="main",le="60"} 2"#))
        #expect(
            lines.suffix(3) == [
                #"commit_seconds_bucket{store="main",le="+Inf"} 3"#, #"commit_seconds_sum{store="main"} 90.041"#,
                #"commit_seconds_count{store="main"} 3"#,
            ])
    }

    @Test func `a recorder is a histogram of its values`() {
        let recorder = Recorder(label: "batch_items", factory: metrics)
        recorder.record(2)
        recorder.record(2.5)
        #expect(rendered("batch_items").contains(#"batch_items_bucket{le="2"} 1"#))
        #expect(rendered("batch_items").suffix(2) == ["batch_items_sum 4.5", "batch_items_count 2"])
    }

    @Test func `names and labels are converted to Prometheus' form`() {
        Counter(label: "2nd.länge-x", dimensions: [("z-z", "a\"b\\c\nd"), ("a", "é")], factory: metrics).increment()
        #expect(metrics.render().contains(#"_2nd_l_nge_x_total{a="é",z_z="a\"b\\c\nd"} 1"#))
    }

    @Test func `a destroyed metric is not rendered`() {
        let counter = Counter(label: "gone", factory: metrics)
        counter.increment()
        #expect(!rendered("gone_total").isEmpty)
        counter.destroy()
        #expect(rendered("gone_total").isEmpty)
    }

    @Test func `families are sorted by name`() {
        for name in ["zeta", "alpha", "mid"] { Counter(label: name, factory: metrics).increment() }
        let names = metrics.render().split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map {
            String($0.split(separator: " ")[2])
        }
        #expect(names == names.sorted())
        #expect(Set(names).isSuperset(of: ["alpha_total", "mid_total", "zeta_total", "process_cpu_seconds_total"]))
    }

    @Test func `the process' memory, start and processor time are plausible`() throws {
        func value(_ name: String) throws -> Double {
            let line = try #require(metrics.render().split(separator: "\n").first { $0.hasPrefix("\(name) ") })
            return try #require(Double(line.dropFirst(name.count + 1)))
        }
        #expect(try value("process_resident_memory_bytes") > 1_000_000)
        let age = Date().timeIntervalSince1970 - (try value("process_start_time_seconds"))
        #expect(age > -2 && age < 86_400)
        #expect(try value("process_cpu_seconds_total") >= 0)
    }

    @Test func `counting from many threads loses nothing`() async {
        let counter = Counter(label: "racing", factory: metrics)
        let fractions = FloatingPointCounter(label: "racing_fractions", factory: metrics)
        let timer = Timer(label: "racing", factory: metrics)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        counter.increment()
                        fractions.increment(by: 0.5)
                        timer.recordSeconds(1)
                    }
                }
            }
        }
        #expect(rendered("racing_total").last == "racing_total 8000")
        #expect(rendered("racing_fractions_total").last == "racing_fractions_total 4000")
        #expect(rendered("racing_seconds").suffix(2) == ["racing_seconds_sum 8000", "racing_seconds_count 8000"])
    }

    @Test func `promtool accepts the metrics`() async throws {
        Counter(label: "pacebus_items", dimensions: [("kind", "a\\\"\n")], factory: metrics).increment()
        Timer(label: "pacebus_commit", factory: metrics).recordSeconds(1)
        Recorder(label: "pacebus_batch_items", factory: metrics).record(3)
        Meter(label: "pacebus_window", factory: metrics).set(Double.infinity)
        metrics.describe(MQTTMetricsHelp.texts)
        for label in MQTTMetricsHelp.texts.keys { Counter(label: label, factory: metrics).increment() }
        guard let verdict = try Promtool.check(metrics.render()) else {
            print("skipped: promtool is not on the PATH")
            return
        }
        #expect(verdict == "exit 0\n")
        #expect(try Promtool.check("a_count 1\n") != "exit 0\n")
    }
}
