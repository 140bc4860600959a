import Foundation
import ServiceKit
import TestSupport
import Testing

/// `compose/monitoring`, and what `compose/up` writes for Prometheus.
struct AlertTests {
    private struct Alert {
        let name: String
        let text: String
    }

    private static let folder = Document.repository.appending(path: "compose/monitoring")

    private static func path(_ file: String) -> String { folder.appending(path: file).path }

    private static func text(_ file: String) throws -> String {
        try String(contentsOfFile: path(file), encoding: .utf8)
    }

    private static func alerts() throws -> [Alert] {
        try text("alerts.yaml").components(separatedBy: "- alert: ").dropFirst().map { text in
            Alert(name: String(text.prefix { $0.isLetter }), text: text)
        }
    }

    /// What promtool prints; `nil` without it.
    private func promtool(_ arguments: String...) async throws -> String? {
        let folder = try TemporaryFolder()
        do {
            try await ChildProcess.run(["promtool", "--version"], log: folder.file("version"))
        } catch {
            return nil
        }
        let log = folder.file("log")
        try await ChildProcess.run(["promtool"] + arguments, log: log)
        return try String(contentsOfFile: log, encoding: .utf8)
    }

    @Test func `promtool accepts the rules, and their tests pass`() async throws {
        guard let checked = try await promtool("check", "rules", "--lint-fatal", Self.path("alerts.yaml")),
            let tested = try await promtool("test", "rules", Self.path("alerts-test.yaml"))
        else { return print("skipped: promtool is not on the PATH") }
        #expect(checked.contains("SUCCESS: "))
        #expect(tested.contains("SUCCESS"))
    }

    @Test func `promtool accepts the example of a configuration`() async throws {
        guard let checked = try await promtool("check", "config", "--syntax-only", Self.path("prometheus.yml"))
        else { return print("skipped: promtool is not on the PATH") }
        #expect(checked.contains("SUCCESS"))
    }

    @Test func `each alert has a severity, texts and a paragraph, and each paragraph an alert`() throws {
        let alerts = try Self.alerts()
        #expect(alerts.count >= 14)
        for alert in alerts {
            #expect(alert.text.contains(/severity: (page|ticket)}/), "\(alert.name)")
            #expect(alert.text.contains("summary: ") && alert.text.contains("description: "), "\(alert.name)")
            let link = "runbook_url: compose/monitoring/README.md#\(alert.name.lowercased())\n"
            #expect(alert.text.contains(link), "\(alert.name)")
        }
        let headings = try Self.text("README.md").split(separator: "\n").filter { $0.hasPrefix("### ") }
        #expect(headings.map { $0.dropFirst(4) }.sorted() == alerts.map { $0.name[...] }.sorted())
    }

    @Test func `each alert fires in one test and is silent in another`() throws {
        var names: [Substring: String] = [:]
        var outcomes: [String: Set<Bool>] = [:]
        // Each check begins a list's entry, with an anchor the first time and a reference to it later.
        for check in try Self.text("alerts-test.yaml").components(separatedBy: "\n      - ") {
            let anchor = check.drop { "&<: *".contains($0) }.prefix { $0.isLetter }
            if let match = check.firstMatch(of: /alertname(=|: )"?([A-Za-z]+)/) { names[anchor] = String(match.2) }
            guard let name = names[anchor] else { continue }
            outcomes[name, default: []].insert(check.contains("exp_samples") || check.contains("exp_alerts"))
        }
        for alert in try Self.alerts() { #expect(outcomes[alert.name] == [true, false], "\(alert.name)") }
    }

    @Test func `rules and dashboard name only metrics that the sources contain`() throws {
        let known = try Self.metrics()
        #expect(known.contains("pacebus_route_ack_lag_seconds") && known.contains("pacebus_process_up"))
        for file in ["alerts.yaml", "grafana.json"] {
            let named = try Set(Self.text(file).matches(of: /\b(pacebus|process)_[a-z0-9_]+/).map { String($0.0) })
            #expect(named.count > 15)
            for name in named.sorted() {
                #expect(known.contains(name.replacing(/_(bucket|sum|count)$/, with: "")), "\(file): \(name)")
            }
        }
    }

    @Test func `the limits of the broker's plugin are counted from 0`() throws {
        let path = Document.repository.appending(path: "compose/broker/plugin.c")
        let source = try String(contentsOf: path, encoding: .utf8)
        let list = try #require(source.firstMatch(of: /limit_names\[LIMITS\] = \{([^}]*)\}/))
        #expect(list.1.matches(of: /"([a-z0-9_]+)"/).map { String($0.1) } == Limits.ofBroker.map { "\($0)" })
    }

    /// The names of metrics: whole in a literal, or a prefix and a literal of the same file.
    private static func metrics() throws -> Set<String> {
        var names: Set<String> = []
        var streamPrefixes: Set<String> = []
        for folder in ["Services", "Shared"] {
            let root = Document.repository.appending(path: folder)
            for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) where path.hasSuffix(".swift") {
                let literals = try literals(of: "\(folder)/\(path)")
                let prefixes = literals.filter { $0.hasPrefix("pacebus_") && $0.hasSuffix("_") }
                names.formUnion(literals)
                names.formUnion(prefixes.flatMap { prefix in literals.map { prefix + $0 } })
                if path.hasSuffix("Work.swift") { streamPrefixes.formUnion(prefixes) }
            }
        }
        // Two services share these metrics.
        let shared = try literals(of: "Shared/Streams/StreamMetrics.swift")
        names.formUnion(streamPrefixes.flatMap { prefix in shared.map { prefix + $0 } })
        let script = Document.repository.appending(path: "compose/health.sh")
        let words = try String(contentsOf: script, encoding: .utf8).matches(of: /pacebus_[a-z_]+/)
        return names.union(words.map { String($0.0) })
    }

    private static func literals(of path: String) throws -> Set<String> {
        let text = try String(contentsOf: Document.repository.appending(path: path), encoding: .utf8)
        return Set(text.matches(of: /"([a-z0-9_]+)"/).map { String($0.1) })
    }

    // MARK: compose/up

    /// Runs functions of `compose/up` in an empty folder, and returns what they print.
    private func output(of body: String) async throws -> String {
        let folder = try TemporaryFolder()
        let script = """
            set -euo pipefail
            source \(Document.repository.path)/compose/common.sh
            source compose/processes.sh
            source compose/services.sh
            source compose/health.sh
            cd \(folder.path)
            mkdir -p data/run
            \(body)
            """
        return String(decoding: try await ChildProcess.output(of: ["bash", "-c", script]), as: UTF8.self)
    }

    @Test func `targets are the processes with metrics, and replicas share their service`() async throws {
        let text = try await output(
            of: """
                cat >data/run/urls <<'END'
                mqtt mqtt://127.0.0.1:1883
                web http://127.0.0.1:8080
                mosquitto-2 mqtt://127.0.0.1:1885
                postgres postgres://127.0.0.1:5432
                exporter http://127.0.0.1:9101
                exporter-2 http://127.0.0.1:9102
                mqtt-proxy http://127.0.0.1:9110
                END
                record_targets
                cat data/run/targets.json
                """)
        struct Target: Decodable, Equatable {
            var targets: [String]
            var labels: [String: String]
        }
        let targets = try JSONDecoder().decode([Target].self, from: Data(text.utf8))
        #expect(
            targets == [
                Target(targets: ["127.0.0.1:9101"], labels: ["service": "exporter", "process": "exporter"]),
                Target(targets: ["127.0.0.1:9102"], labels: ["service": "exporter", "process": "exporter-2"]),
                Target(targets: ["127.0.0.1:9110"], labels: ["service": "mqtt-proxy", "process": "mqtt-proxy"]),
            ])
    }

    @Test func `compose/up writes its metrics every 15 s`() async throws {
        let text = try await output(
            of: """
                clock=100 listen=127.0.0.1 supervised=(mosquitto exporter)
                read_uptime() { now=$clock; }
                supervised+=(importer)
                is_running() { [[ $1 == exporter || $1 == importer ]]; }
                has_answered=([exporter]=yes)
                starts=([mosquitto]=3 [exporter]=1) hangs=([mosquitto]=1)
                touch --date @1700000000 data/last-backup
                mkdir data/tls
                openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -subj /CN=x -days 2 -out data/tls/server.crt 2>/dev/null
                record_metrics
                rm data/last-backup
                clock=114
                record_metrics
                cat data/run/metrics.prom
                clock=115
                record_metrics
                grep '^pacebus_backup' data/run/metrics.prom
                stat -c %A data/run/metrics.prom
                """)
        let lines = text.split(separator: "\n").map(String.init)
        for line in [
            "pacebus_process_up{process=\"mosquitto\"} 0", "pacebus_process_up{process=\"exporter\"} 1",
            "pacebus_process_up{process=\"importer\"} 0", "pacebus_process_restarts_total{process=\"mosquitto\"} 2",
            "pacebus_process_restarts_total{process=\"exporter\"} 0",
            "pacebus_process_hangs_total{process=\"mosquitto\"} 1", "pacebus_backup_timestamp_seconds 1700000000",
            "pacebus_certificate_expires_timestamp_seconds{file=\"data/tls/ca.crt\"} 0",
        ] { #expect(lines.contains(line), "\(line)") }
        #expect(lines.suffix(2) == ["pacebus_backup_timestamp_seconds 0", "-rw-r--r--"])
        let expiry = "pacebus_certificate_expires_timestamp_seconds{file=\"data/tls/server.crt\"} "
        let expires = try #require(lines.first { $0.hasPrefix(expiry) }.flatMap { Double($0.dropFirst(expiry.count)) })
        #expect(abs(expires - Date.now.timeIntervalSince1970 - 2 * 86_400) < 600)
        guard let verdict = try Promtool.check(lines.dropLast(2).joined(separator: "\n") + "\n") else {
            return print("skipped: promtool is not on the PATH")
        }
        #expect(verdict.hasPrefix("exit 0"), "\(verdict)")
    }
}
