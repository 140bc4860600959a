import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// What figures need after a restart, and snapshots that cannot be read.
struct StoredFiguresTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let anna = User("anna")!
    private let ben = User("ben")!

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A run of two for 200 m, with both under way.
    private func start(_ runs: inout Runs) async throws -> (id: RunID, states: [SessionState]) {
        var settings = RunSettings()
        settings.goal = .distance(200)
        let id = try await runs.start(anna, [ben], settings)
        try await runs.pass(4)
        let states = [try runs.state(id, anna), try runs.state(id, ben)]
        try await runs.deliver(states.map(\.message))
        try await runs.pass(1)
        return (id, states)
    }

    private func cues(_ sent: [MQTTMessage], _ id: RunID, _ user: User) throws -> [Announcement] {
        try sent.payloads(.user(user, .virtualRunAnnouncements(id))).map {
            try JSONCoding.decode(Announcement.self, from: $0)
        }
    }

    private func records(_ runs: Runs, _ collection: StoreCollection) async throws -> [StoreRecord] {
        try await runs.store.records(in: collection, shards: Set(Shard.all))
    }

    @Test func `a cue writes the figures and not the run, and waits for the commit`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (id, states) = try await start(&runs)
        try await runs.deliver([states[0].metrics(at: 5, meters: 15), states[1].metrics(at: 5, meters: 15)])
        let before = try await records(runs, RunRecord.runs)
        runs.store.refuse(true)
        var sent = try await runs.deliver([states[1].metrics(at: 50, meters: 202)]) + (try await runs.pass(2))
        #expect(try cues(sent, id, anna).isEmpty)
        #expect(!sent.partners(id, anna).isEmpty)
        runs.store.refuse(false)
        sent = try await runs.pass(3)
        let cue = try #require(try cues(sent, id, anna).first)
        #expect((cue.kind, cue.user, cue.distance) == (.finished, ben, 200))
        #expect(try await records(runs, RunRecord.runs) == before)
        let stored = try #require(try await records(runs, RunRecord.live).first)
        let live = try JSONCoding.decode(LiveRun.Stored.self, from: stored.value)
        #expect(live.runners.first { $0.user == ben }?.toldFinish == true)

        await runs.store.close()
        runs = try await Runs(folder, clock: clock)
        #expect(runs.loop.machine.entries[id]?.live.stored.runners == live.runners)
        sent = try await runs.deliver([states[1].metrics(at: 60, meters: 210)]) + (try await runs.pass(5))
        #expect(try cues(sent, id, anna).isEmpty)
    }

    @Test func `a snapshot of a run that cannot be read is rejected`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (id, states) = try await start(&runs)
        let topic = Topic.session(states[0].key, .metrics).name
        func deliver(_ payload: String) async throws -> [MQTTMessage] {
            try await runs.deliver([MQTTMessage(topic: topic, payload: Array(payload.utf8), qos: .atMostOnce)])
        }
        let sent = try await deliver(#"{"r":"\#(id)","s":"five"}"#)
        #expect(sent.contains { $0.topic == Topic.rejected(service: "virtual-run").name })
        #expect(try await deliver(#"{"s":"five"}"#) == [], "one of a session without a run is not read")
    }
}
