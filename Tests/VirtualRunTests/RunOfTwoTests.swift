import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// A run of two from the invitation to the results.
struct RunOfTwoTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let anna = User("anna")!
    private let ben = User("ben")!

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `two people are invited, start together, see each other and get results`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = RunID(UUID())
        let created = try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
        #expect(created.views(id, anna).map(\.own?.status) == [.accepted])
        #expect(created.views(id, ben).map(\.own?.status) == [.invited])
        let accepted = try await runs.accept(ben, id, .accept(Sharing.Change()))
        #expect(accepted.views(id, ben).last?.status == .confirming)
        #expect(accepted.views(id, anna).last?.status == .confirming)
        try await runs.accept(anna, id, .confirm)
        let started = try await runs.accept(ben, id, .confirm)
        let view = try #require(started.views(id, anna).last)
        #expect(view.status == .starting)
        #expect(view.startsAt == clock.now + 4)
        #expect(view.own?.session != nil && view.participants.last?.session == nil)
        #expect(try await runs.pass(4).views(id, ben).last?.status == .running)

        let states = [try runs.state(id, anna), try runs.state(id, ben)]
        let running = try await runs.deliver(states.map(\.message))
        #expect(running.views(id, anna).last?.participants.map(\.status) == [.running, .running])
        var sent: [MQTTMessage] = []
        for second in 1...20 {
            sent += try await runs.deliver([
                states[0].metrics(at: Double(second), meters: 3 * Double(second)),
                states[1].metrics(at: Double(second), meters: 4 * Double(second)),
            ])
            sent += try await runs.pass(1)
        }
        let partners = sent.partners(id, anna)
        #expect((10...14).contains(partners.count), "every 2 s")
        let last = try #require(partners.last)
        #expect(last.rows.map(\.runner) == [.participant(ben)])
        #expect(last.place == 2)
        #expect((last.rows[0].gapMeters ?? 0) > 15)

        let ends = [
            try runs.state(id, anna, .completed, revision: 2), try runs.state(id, ben, .completed, revision: 2),
        ]
        let ended = try await runs.deliver(ends.map(\.message)) + (try await runs.pass(2))
        let final = try #require(ended.views(id, anna).last)
        #expect(final.status == .finished)
        #expect(final.results?.provisional == true)
        #expect(ended.payloads(.user(anna, .partners(id))).last == [])
    }
}
