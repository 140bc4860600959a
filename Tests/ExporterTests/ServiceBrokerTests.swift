import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// The running service, and a broker that loses retained messages or delivers old ones.
@Suite(.timeLimit(.minutes(60))) struct ServiceBrokerTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `a broker that lost everything receives the statuses again, and no work is repeated`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            let workouts = [ServiceWorkout(), ServiceWorkout("bert")]
            try await exporter.send(workouts.flatMap(\.messages))
            for workout in workouts { try await exporter.status(of: workout.key, .folder) }
            try await exporter.pass(1)
            for workout in workouts {
                try await exporter.status(of: workout.key, .healthKit) { $0.status == .exporting }
            }
            func statuses() throws -> [ExportStatus?] {
                try workouts.flatMap { workout in
                    try [Target.folder, .healthKit].map { try exporter.retainedStatus(of: workout.key, $0) }
                }
            }
            let before = try statuses()
            #expect(!before.contains(nil))
            exporter.broker.kill()
            exporter.broker.start()
            try await exporter.expectEventually { try statuses() == before }
            let count = exporter.log.lines.count { $0.hasPrefix("info workout exported") }
            #expect(count == 2)
        }
    }

    @Test func `an old status from the broker is replaced, and a newer one is exceeded`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            let workout = ServiceWorkout()
            try await exporter.send(workout.messages)
            var status = try await exporter.status(of: workout.key, .folder)
            let topic = Topic.session(workout.key, .export(.folder))
            var old = status
            old.revision = 5
            old.status = .failed
            try await exporter.send(topic.message(JSONCoding.encode(old)))
            try await exporter.expectEventually { try exporter.retainedStatus(of: workout.key, .folder) == status }
            old.revision = status.revision + 1_000
            try await exporter.send(topic.message(JSONCoding.encode(old)))
            let newest = try await exporter.status(of: workout.key, .folder) { $0.revision > old.revision }
            status.revision = newest.revision
            #expect(newest == status)
        }
    }

    @Test func `statuses are cleared after 48 hours, and later echoes are cleared again`() async throws {
        let (broker, clock) = (InMemoryBroker(), ManualClock())
        var workout = ServiceWorkout()
        workout.mode = .watch
        let topic = Topic.session(workout.key, .export(.folder))
        var status: ExportStatus?
        try await RunningExporter.run(in: folder, broker: broker, clock: clock) { exporter in
            try await exporter.send(workout.messages)
            status = try await exporter.status(of: workout.key, .folder)
            try await exporter.send(workout.result())
            try await exporter.status(of: workout.key, .healthKit)
            try await exporter.pass(48 * 3_600 - 1)
            try await exporter.settle()
            #expect(try exporter.retainedStatus(of: workout.key, .folder) == status)
            try await exporter.pass(1)
            try await exporter.expectEventually { broker.retained(topic.name) == nil }
            try await exporter.send(topic.message(JSONCoding.encode(status)))
            try await exporter.expectEventually { broker.retained(topic.name) == nil }
        }
        try await RunningExporter.run(in: folder, broker: broker, clock: clock) { exporter in
            try await exporter.send(topic.message(JSONCoding.encode(status)))
            try await exporter.expectEventually { broker.retained(topic.name) == nil }
            #expect(try exporter.files == workout.files.sorted())
            // The record stays on disk.
            let id = CommandID(UUID())
            try await exporter.send(workout.request(.folder, id: id))
            #expect(try await exporter.reply(to: id, of: workout.key.user).ok)
            try await exporter.send(workout.chunks)
            try await exporter.status(of: workout.key, .folder)
        }
    }

    @Test func `sessions of other owners' shards are ignored`() async throws {
        let shards = try #require(ShardSelection("00-7f"))
        try await RunningExporter.run(in: folder, shards: shards) { exporter in
            let session = "0b7ac6a5-64bd-4e2d-8f12-0d3f5a1c9e"
            let other = ServiceWorkout(session: SessionID("\(session)80")!)
            let own = ServiceWorkout(session: SessionID("\(session)7f")!)
            try await exporter.send(other.messages + own.messages + [other.request(nil), other.deletion])
            try await exporter.status(of: own.key, .folder)
            #expect(try exporter.files == own.files.sorted())
            #expect(
                exporter.broker.published.allSatisfy {
                    !$0.topic.hasPrefix(Topic.session(other.key, .export(.folder)).name)
                })
        }
    }
}
