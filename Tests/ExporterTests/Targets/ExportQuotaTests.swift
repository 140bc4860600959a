import Bus
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// The bytes of exports that an account may have in a day.
@Suite(.timeLimit(.minutes(60))) struct ExportQuotaTests {
    private let folder: TemporaryFolder
    /// 2025-01-01T12:00:00Z
    private let clock = ManualClock(now: Timestamp(seconds: 1_735_732_800))

    init() throws {
        folder = try TemporaryFolder()
    }

    private func status(_ messages: [MQTTMessage], _ workout: ServiceWorkout) throws -> ExportStatus? {
        try messages.last { $0.topic == Topic.session(workout.key, .export(.folder)).name && !$0.payload.isEmpty }
            .map { try JSONCoding.decode(ExportStatus.self, from: $0.payload) }
    }

    /// Exports the workouts until no delivery is left, and returns the sent messages.
    private func export(_ workouts: [ServiceWorkout], _ run: inout LoopRun) async throws -> [MQTTMessage] {
        // Chunks are received once they are wanted.
        var sent = try await run.pass() + run.deliver(workouts.flatMap(\.messages))
        while true {
            let outcomes = await run.work()
            guard !outcomes.isEmpty else { return sent + (try await run.pass(1)) }
            sent += try await run.pass(0, outcomes)
        }
    }

    /// The bytes of a workout's files.
    private func size() async throws -> Int {
        let other = try TemporaryFolder()
        var run = try await LoopRun(other, clock: clock)
        _ = try await export([ServiceWorkout()], &run)
        return run.loop.quota.highest
    }

    @Test func `exports beyond the quota wait for midnight UTC and say so, and those of others do not wait`()
        async throws
    {
        let size = try await size()
        #expect(size > 100_000)
        var run = try await LoopRun(folder, clock: clock, bytesPerDay: size * 5 / 2)
        let workouts = (0..<4).map { _ in ServiceWorkout() }
        let other = ServiceWorkout("bob")
        let sent = try await export(workouts + [other], &run)
        let statuses = try workouts.map { try status(sent, $0) }
        #expect(statuses.count { $0?.status == .done } == 2)
        let waiting = statuses.filter { $0?.status == .pending }
        #expect(waiting.count == 2)
        for status in waiting {
            let reason = try #require(status?.reason)
            #expect(reason.hasPrefix("today's exports would exceed ") && reason.hasSuffix("continue after 00:00 UTC"))
            // The attempt follows at midnight.
            #expect(status?.nextAttemptAt == Timestamp(seconds: 1_735_776_000))
        }
        #expect(try status(sent, other)?.status == .done)
        #expect(try run.files.count == 3 * other.files.count)
        #expect(run.loop.context.metrics.render().contains(#"pacebus_limited_total{limit="export_bytes_per_day"} 2"#))

        clock.advance(by: .seconds(12 * 3_600))
        let later = try await export(workouts, &run)
        #expect(try workouts.count { try status(later, $0)?.status == .done } == 2)
        #expect(try run.files.count == 5 * other.files.count)
    }

    @Test func `a restart gives no new quota`() async throws {
        let size = try await size()
        func export() async throws -> ExportStatus.Status? {
            var run = try await LoopRun(folder, clock: clock, bytesPerDay: size * 3 / 2)
            let workout = ServiceWorkout()
            return try status(try await self.export([workout], &run), workout)?.status
        }
        #expect(try await export() == .done)
        #expect(try await export() == .pending)
    }

    @Test func `bytes of failed deliveries do not count`() async throws {
        let size = try await size()
        var run = try await LoopRun(folder, clock: clock, bytesPerDay: size * 3 / 2)
        let workout = ServiceWorkout()
        try await run.deliver(workout.messages)
        for collected in run.takeDeliveries() {
            let allowance = collected.quota.allowance(for: workout.key)
            #expect(allowance.spend(size) && run.loop.quota.highest == size)
            #expect(allowance.end(.failed("disk full")) == .failed("disk full"))
        }
        #expect(run.loop.quota.highest == 0)
    }
}
