import Bus
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// The running service with an export folder.
@Suite(.timeLimit(.minutes(60))) struct ExporterServiceTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func expectFiles(_ exporter: RunningExporter, _ workout: ServiceWorkout) throws {
        #expect(try exporter.files == workout.files.sorted())
        for (format, name) in zip(ExportFormat.allCases, workout.files) {
            #expect(try exporter.file(name) == workout.file(format), "\(format)")
        }
    }

    @Test func `a finished workout becomes files of all formats, and its status names them`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            let workout = ServiceWorkout()
            try await exporter.send(workout.messages)
            let status = try await exporter.status(of: workout.key, .folder)
            #expect(status.files == workout.files)
            #expect(status.workout == 1)
            #expect(status.attempts == 0)
            try expectFiles(exporter, workout)
            let statuses = try exporter.statuses(of: workout.key, .folder)
            #expect(statuses.last?.status == .done && statuses.contains { $0.status == .exporting })
            #expect(statuses.map(\.revision) == statuses.map(\.revision).sorted())
            #expect(
                exporter.log.lines.contains(
                    "info workout exported session=\(workout.key.session) target=folder user=anna"))
            #expect(!exporter.log.lines.contains { $0.hasPrefix("error") || $0.hasPrefix("warning") })

            try await exporter.pass(2)
            try await exporter.expectEventually {
                exporter.metrics.render().contains("\npacebus_exporter_workouts_waiting 0\n")
            }
            let text = exporter.metrics.render()
            for line in [
                #"pacebus_exporter_deliveries_total{outcome="delivered",target="folder"} 1"#,
                "pacebus_exporter_workouts_underway 0", "pacebus_exporter_exports_failed 0",
                "pacebus_exporter_delivery_seconds_count 1",
            ] {
                #expect(text.contains("\n\(line)\n"), "\(line) in \(text)")
            }
            guard let verdict = try Promtool.check(text) else { return print("skipped: promtool is not on the PATH") }
            #expect(verdict == "exit 0\n")
        }
    }

    @Test func `a workout whose chunks are missing is exported when they arrive on request`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            let workout = ServiceWorkout()
            try await exporter.send(workout.workout)
            try await exporter.status(of: workout.key, .folder) { $0.status == .exporting }
            #expect(exporter.broker.published.allSatisfy { $0.topic != workout.request(nil).topic })
            try await exporter.pass(2)
            let asked = await exporter.broker.firstPublished { $0.topic == workout.request(nil).topic }
            let request = try JSONCoding.decode(SessionRequest.self, from: try #require(asked).payload)
            #expect(request.action == .chunks)
            try await exporter.send(workout.chunks)
            try await exporter.status(of: workout.key, .folder)
            try expectFiles(exporter, workout)
        }
    }

    @Test func `missing chunks time out after a minute and are requested again a minute later`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            let workout = ServiceWorkout()
            try await exporter.send(workout.workout)
            try await exporter.status(of: workout.key, .folder) { $0.status == .exporting }
            try await exporter.pass(61)
            let status = try await exporter.status(of: workout.key, .folder) { $0.status == .pending }
            #expect(status.attempts == 1)
            #expect(status.nextAttemptAt == exporter.clock.now + 60)
            #expect(status.reason?.hasPrefix("no series or track for a minute") == true)
            try await exporter.pass(60)
            try await exporter.status(of: workout.key, .folder) { $0.status == .exporting }
            try await exporter.send(workout.chunks)
            #expect(try await exporter.status(of: workout.key, .folder).reason == nil)
            try expectFiles(exporter, workout)
        }
    }

    @Test func `a newer revision replaces the files, even with another start or name`()
        async throws
    {
        try await RunningExporter.run(in: folder) { exporter in
            var workout = ServiceWorkout()
            try await exporter.send(workout.messages)
            try await exporter.status(of: workout.key, .folder)
            let former = workout.files
            workout.revision = 2
            workout.rows = 700
            try await exporter.send(workout.messages)
            try await exporter.status(of: workout.key, .folder) { $0.status == .done && $0.workout == 2 }
            #expect(workout.files == former)
            try expectFiles(exporter, workout)
            workout.revision = 3
            workout.start = workout.start + 60
            workout.name = "Abendlauf"
            try await exporter.send(workout.messages)
            try await exporter.status(of: workout.key, .folder) { $0.status == .done && $0.workout == 3 }
            try await exporter.settle()
            #expect(Set(workout.files).isDisjoint(with: former))
            try expectFiles(exporter, workout)
        }
    }

    @Test func `an incomplete workout waits ten minutes for a newer one`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            var (slow, quick) = (ServiceWorkout(), ServiceWorkout())
            slow.isIncomplete = true
            quick.isIncomplete = true
            try await exporter.send(slow.messages + quick.messages)
            try await exporter.pass(599)
            try await exporter.settle()
            #expect(try exporter.files.isEmpty)
            #expect(try exporter.retainedStatus(of: slow.key, .folder)?.nextAttemptAt == exporter.clock.now + 1)
            quick.revision = 2
            quick.isIncomplete = false
            try await exporter.send(quick.messages)
            try await exporter.status(of: quick.key, .folder) { $0.status == .done && $0.workout == 2 }
            try expectFiles(exporter, quick)
            try await exporter.pass(1)
            try await exporter.status(of: slow.key, .folder)
            #expect(try exporter.files == (slow.files + quick.files).sorted())
        }
    }

    @Test func `an invalid payload is rejected with its error, and nothing else changes`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            let workout = ServiceWorkout()
            try await exporter.send(workout.messages)
            let status = try await exporter.status(of: workout.key, .folder)
            let foreign = ServiceWorkout("bert")
            let topics: [SessionTopic] = [
                .series(0), .track(0), .summaryMetrics, .summaryRoute, .state, .workout, .exportResult(.healthKit),
                .request, .export(.upload),
            ]
            var bad = [Topic.session(workout.key, .workout).message([UInt8](foreign.workout.payload))]
            for topic in topics {
                for text in ["{", "[]", #"{"revision":-1}"#, #"{"revision":1e300,"chunks":1}"#, "\u{0}"] {
                    bad.append(Topic.session(workout.key, topic).message(Array(text.utf8)))
                }
                let deep = [UInt8](repeating: UInt8(ascii: "["), count: 200_000)
                bad.append(Topic.session(workout.key, topic).message(deep))
            }
            try await exporter.send(bad)
            try await exporter.settle()
            let rejected = exporter.broker.published.filter { $0.topic == Topic.rejected(service: "exporter").name }
            #expect(rejected.count == bad.count)
            for message in rejected {
                #expect(String(decoding: message.payload, as: UTF8.self).contains(#""reason":"malformed""#))
            }
            #expect(try exporter.retainedStatus(of: workout.key, .folder) == status)
            try expectFiles(exporter, workout)
        }
    }
}
