import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// The running service, with a device that writes to HealthKit.
@Suite(.timeLimit(.minutes(60))) struct ServiceHealthKitTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `a phone receives the whole workout, and a repeated result gets the same reply`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            let workout = ServiceWorkout()
            try await exporter.send(workout.messages)
            try await exporter.pass(1)
            let asked = try await exporter.status(of: workout.key, .healthKit) { $0.status == .exporting }
            #expect(asked.mode == .phone)
            #expect(asked.healthKit == HealthKitWorkout(workout.record))
            let id = CommandID(UUID())
            try await exporter.send(workout.result(id: id))
            let first = try await exporter.reply(to: id, of: workout.key.user)
            #expect(first.ok)
            let done = try await exporter.status(of: workout.key, .healthKit)
            #expect(done.healthKit == nil)
            #expect(done.workout == 1)
            for repeated in [workout.result(id: id), workout.result(Refusal(code: "denied", message: "late"), id: id)] {
                try await exporter.send(repeated)
                try await exporter.settle()
            }
            let replies = exporter.broker.published.filter {
                $0.topic == Topic.user(workout.key.user, .replies(Client("tests")!)).name
            }
            #expect(replies.count == 3)
            #expect(Set(replies.map(\.payload)).count == 1)
            #expect(try exporter.retainedStatus(of: workout.key, .healthKit) == done)
        }
    }

    @Test func `a failed write is requested again, and a denied one only on request`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            var workout = ServiceWorkout()
            try await exporter.send(workout.messages)
            try await exporter.pass(1)
            try await exporter.status(of: workout.key, .healthKit) { $0.status == .exporting }
            try await exporter.send(workout.result(Refusal(code: "failed", message: "the store is locked")))
            let pending = try await exporter.status(of: workout.key, .healthKit) { $0.status == .pending }
            #expect(pending.reason == "the store is locked")
            #expect(pending.nextAttemptAt == exporter.clock.now + 60)
            try await exporter.pass(60)
            try await exporter.status(of: workout.key, .healthKit) { $0.status == .exporting }
            try await exporter.send(workout.result(Refusal(code: "denied", message: "not allowed")))
            #expect(
                try await exporter.status(of: workout.key, .healthKit) { $0.status == .failed }.reason == "not allowed")
            workout.revision = 2
            try await exporter.send(workout.messages)
            try await exporter.pass(7 * 3_600)
            try await exporter.settle()
            #expect(try exporter.retainedStatus(of: workout.key, .healthKit)?.status == .failed)
            try await exporter.send(workout.request(.healthKit))
            try await exporter.settle()
            try await exporter.pass(1)
            let again = try await exporter.status(of: workout.key, .healthKit) { $0.status == .exporting }
            #expect(again.healthKit?.metadata == HealthKitWorkout(workout.record).metadata)
        }
    }

    @Test func `a watch saves its own workout, and the phone saves it if the watch fails`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            var (saved, unsaved) = (ServiceWorkout(), ServiceWorkout())
            saved.mode = .watch
            unsaved.mode = .watch
            try await exporter.send(saved.messages + unsaved.messages)
            try await exporter.pass(3_600)
            for workout in [saved, unsaved] {
                let status = try await exporter.status(of: workout.key, .healthKit) { _ in true }
                #expect(status.status == .pending && status.mode == .watch && status.healthKit == nil)
            }
            try await exporter.send(saved.result(), unsaved.result(Refusal(code: "failed", message: "no room")))
            try await exporter.status(of: saved.key, .healthKit)
            try await exporter.pass(1)
            let asked = try await exporter.status(of: unsaved.key, .healthKit) { $0.status == .exporting }
            #expect(asked.mode == .phone && asked.healthKit != nil)
        }
    }

    @Test func `a result for an unknown session is refused`() async throws {
        try await RunningExporter.run(in: folder) { exporter in
            let workout = ServiceWorkout()
            let id = CommandID(UUID())
            try await exporter.send(workout.result(id: id))
            #expect(try await exporter.reply(to: id, of: workout.key.user).error == .sessionNotFound)
        }
    }
}
