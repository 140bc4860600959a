import Bus
import Foundation
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// The user trims a finished workout or changes the profile of one, long after its topics were cleared.
struct EditedSessionTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_700))
    private let start = Timestamp(seconds: 1_700_000_000)
    private var script = Script()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func items(_ range: Range<Int>) -> [Sample] {
        range.map { number in
            var sample = Sample(time: start + Double(number))
            sample[.distance] = 3
            sample[.heartRate] = 150
            return sample
        }
    }

    private func summary(_ sent: [MQTTMessage]) throws -> MetricsReport? {
        try sent.payloads(.session(script.key, .summaryMetrics)).last {
            !$0.isEmpty
        }.map { try JSONCoding.decode(MetricsReport.self, from: $0) }
    }

    private func pass(_ aggregator: inout Aggregator, _ seconds: Double) async throws -> [MQTTMessage] {
        clock.advance(by: .seconds(seconds))
        return try await aggregator.tick()
    }

    @Test mutating func `an old session is computed again from its items, and an undo gives the same totals`()
        async throws
    {
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        try await aggregator!.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        let whole = [Segment(start: start, end: start + 599)]
        try await aggregator!.deliver([script.change(.completed, whole)])
        let recorded = try #require(try summary(try await aggregator!.tick()))
        #expect(recorded.totals.distance == 1_800)
        // Its topics are cleared and it leaves memory.
        let cleared = try await pass(&aggregator!, 49 * 3_600) + pass(&aggregator!, 120)
        #expect(cleared.payloads(.session(script.key, .summaryMetrics)) == [[]])
        #expect(aggregator!.loop.machine.sessions[script.key] == nil)
        aggregator = nil
        aggregator = try await Aggregator(folder, clock: clock)

        let trimmed = [Segment(start: start + 100, end: start + 300)]
        var sent = try await aggregator!.deliver([script.change(.completed, trimmed)])
        sent += try await pass(&aggregator!, 2)
        let report = try #require(try summary(sent))
        #expect(report.state == script.state.revision && report.totals.distance == 603)
        #expect(report.revision > recorded.revision && report.next == recorded.next)
        #expect(report.outside == [StreamName("samples/watch-1")!: 399])

        sent = try await aggregator!.deliver([script.change(.completed, whole)])
        sent += try await pass(&aggregator!, 2)
        let undone = try #require(try summary(sent))
        #expect(undone.totals == recorded.totals && undone.outside == recorded.outside)
        #expect(undone.state == script.state.revision && undone.revision > report.revision)
    }

    @Test mutating func `an edited profile changes the totals of an old session, and its note is not stored`()
        async throws
    {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage, script.batch("watch-1", 0, items(0..<600))])
        try await aggregator.deliver([script.change(.completed, [Segment(start: start, end: start + 599)])])
        let recorded = try #require(try summary(try await aggregator.tick()))
        _ = try await pass(&aggregator, 49 * 3_600) + pass(&aggregator, 120)
        var profile = SessionProfile(revision: 7, profile: Profile())
        (profile.profile.weight, profile.profile.maximumHeartRate) = (80, 190)
        profile.edit = WorkoutEdit()
        profile.edit?.note = "a secret"
        script.state.profileRevision = 7
        var sent = try await aggregator.deliver([
            Topic.session(script.key, .profile).message(JSONCoding.encode(profile)),
            script.change(.completed, script.state.segments),
        ])
        sent += try await pass(&aggregator, 2)
        let report = try #require(try summary(sent))
        #expect(report.state == script.state.revision)
        #expect(report.totals.activeEnergy != recorded.totals.activeEnergy)
        let records = try await aggregator.store.records(in: StreamStore.sessions, shards: Set(Shard.all))
        #expect(!records.contains { String(decoding: $0.value, as: UTF8.self).contains("secret") })
    }
}
