import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Expiry of sessions by the service's clock, and their restoration.
struct LifecycleTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private static let hour = 3_600.0
    private var machine = SessionEngineMachine()
    private let user = User("demo")!

    init() {
        _ = machine.connected(now: Moment(Self.start - 100))
    }

    private func key(_ number: UInt8 = 1) -> SessionKey {
        SessionKey(user, SessionID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number))))
    }

    private func status(_ number: UInt8 = 1) -> SessionStatus? {
        machine.entries[key(number)]?.record.session.statusName
    }

    @discardableResult
    private mutating func perform(
        _ action: SessionAction, at seconds: Double = 0, now: Double? = nil, _ number: UInt8 = 1
    ) -> Reply? {
        let command = Command(
            id: CommandID(UUID()), client: Client("phone-1")!, at: Self.start + seconds, action: action)
        let actions = machine.applyCommand(command, for: key(number), now: Moment(Self.start + (now ?? seconds)))
        return actions.compactMap { if case .reply(_, _, let reply) = $0 { reply } else { nil } }.first
    }

    private mutating func begin(_ number: UInt8 = 1, at seconds: Double = 0, now: Double? = nil) {
        var start = SessionStart(activity: .running, countdown: 0)
        start.mode = .phone
        #expect(perform(.start(start), at: seconds, now: now, number)?.ok == true)
    }

    private mutating func hear(_ count: Int, newest seconds: Double, now: Double) -> [SessionEngineAction] {
        machine.receiveHeard(
            Heard(count, newest: Self.start + seconds), .samples, of: key(), now: Moment(Self.start + now))
    }

    @Test mutating func `suspending stops the clock, and resuming continues it`() {
        begin()
        perform(.suspend, at: 60)
        #expect(status() == .suspended)
        #expect(machine.unfinished(user)?.session.key == key())
        #expect(perform(.pause, at: 70)?.error?.code == "invalid_state")
        perform(.resume, at: 100)
        perform(.pause, at: 130)
        perform(.suspend, at: 140)
        perform(.resume, at: 150)
        perform(.end(streams: [:]), at: 160)
        #expect(machine.entries[key()]?.record.session.segments.activeDuration() == 100)
    }

    @Test mutating func `a session without messages for six hours expires, its last segment open`() {
        begin()
        _ = hear(10, newest: 60, now: 60)
        #expect(machine.advance(to: Moment(Self.start + 60 + 6 * Self.hour - 1)) == [])
        let expired = machine.advance(to: Moment(Self.start + 60 + 6 * Self.hour))
        #expect(expired == [.save(key()), .publishState(key()), .publishCurrent(user)])
        let state = machine.entries[key()]?.record.state
        #expect(state?.status == .canceled)
        #expect(state?.endReason == "expired")
        #expect(state?.segments == [Segment(start: Self.start, end: nil)])
        #expect(machine.unfinished(user) == nil)
    }

    @Test mutating func `no session expires before retained reports can arrive`() {
        begin()
        let late = 7 * Self.hour
        _ = machine.connected(now: Moment(Self.start + late))
        #expect(machine.advance(to: Moment(Self.start + late + 30)) == [])
        _ = hear(5, newest: late, now: late + 31)
        #expect(machine.advance(to: Moment(Self.start + late + 100)) == [])
        #expect(status() == .active)
    }

    @Test mutating func `a deleted session ignores messages`() {
        begin()
        _ = machine.delete(key(), Moment(Self.start + 10))
        let deleted = machine.entries[key()]?.record
        #expect(hear(1, newest: 20, now: 3_600) == [])
        #expect(machine.entries[key()]?.record == deleted)
    }

    @Test mutating func `a message for an expired session restores it`() {
        begin()
        _ = machine.advance(to: Moment(Self.start + 6 * Self.hour))
        let heard = hear(1, newest: 20, now: 7 * Self.hour)
        #expect(heard.contains(.publishState(key())))
        #expect(status() == .active)
        #expect(machine.unfinished(user)?.session.key == key())
    }

    @Test mutating func `a message for an expired session saves it if the user has another`() {
        begin()
        _ = machine.advance(to: Moment(Self.start + 6 * Self.hour))
        begin(2, at: 7 * Self.hour)
        _ = hear(1, newest: 500, now: 8 * Self.hour)
        #expect(status() == .saving)
        #expect(
            machine.entries[key()]?.record.session.segments == [
                Segment(start: Self.start, end: Self.start + 500)
            ])
        #expect(status(2) == .active)
    }

    @Test mutating func `a command to an expired session restores it and is applied`() {
        begin()
        perform(.pause, at: 60)
        _ = machine.advance(to: Moment(Self.start + 60 + 6 * Self.hour))
        #expect(status() == .canceled)
        #expect(perform(.resume, at: 7 * Self.hour)?.ok == true)
        #expect(status() == .active)
        #expect(machine.entries[key()]?.record.state.expiresAt == Self.start + 13 * Self.hour)
    }

    @Test mutating func `a refused command restores an expired session too`() {
        begin()
        _ = machine.advance(to: Moment(Self.start + 6 * Self.hour))
        #expect(perform(.resume, at: 7 * Self.hour)?.error?.code == "invalid_state")
        #expect(status() == .active)
    }

    @Test mutating func `a command to an expired session saves it if the user has another`() {
        begin()
        _ = machine.advance(to: Moment(Self.start + 6 * Self.hour))
        begin(2, at: 7 * Self.hour)
        #expect(perform(.pause, at: 8 * Self.hour)?.error?.code == "invalid_state")
        #expect(status() == .saving)
        #expect(status(2) == .active)
    }

    @Test mutating func `recover puts an expired session into saving`() {
        begin()
        _ = hear(10, newest: 90, now: 95)
        _ = machine.advance(to: Moment(Self.start + 95 + 6 * Self.hour))
        #expect(perform(.recover, at: 7 * Self.hour)?.ok == true)
        #expect(status() == .saving)
        #expect(machine.entries[key()]?.record.session.endedAt == Self.start + 90)
    }

    @Test mutating func `a report without new items does not count as activity`() {
        begin()
        _ = hear(10, newest: 60, now: 60)
        _ = hear(10, newest: 60, now: 5 * Self.hour)
        _ = machine.advance(to: Moment(Self.start + 60 + 6 * Self.hour))
        #expect(status() == .canceled)
    }

    @Test mutating func `with items only, lastActiveAt moves at most every ten minutes`() {
        begin()
        #expect(hear(1, newest: 1, now: 1).isEmpty == false)
        #expect(hear(2, newest: 2, now: 599).isEmpty)
        #expect(hear(3, newest: 3, now: 601).contains(.publishState(key())))
        let state = machine.entries[key()]?.record.state
        #expect(state?.lastActiveAt == Self.start + 601)
        #expect(state?.expiresAt == Self.start + 601 + 6 * Self.hour)
    }

    @Test mutating func `recover restores a discarded session that ends at its last item`() {
        begin()
        _ = hear(10, newest: 90, now: 95)
        perform(.discard, at: 100)
        #expect(hear(20, newest: 95, now: 110).isEmpty)
        #expect(status() == .canceled)
        #expect(perform(.recover, at: 200)?.ok == true)
        #expect(status() == .saving)
        #expect(machine.entries[key()]?.record.session.segments == [Segment(start: Self.start, end: Self.start + 95)])
    }

    @Test mutating func `a canceled session is purged after 48 hours and erased after 90 days`() {
        begin()
        perform(.discard, at: 100)
        #expect(machine.advance(to: Moment(Self.start + 100 + 47 * Self.hour)) == [])
        let purged = machine.advance(to: Moment(Self.start + 101 + 48 * Self.hour))
        #expect(purged.contains(.publishState(key())))
        #expect(status() == .deleted)
        #expect(perform(.recover, at: 49 * Self.hour)?.error?.code == "session_not_found")
        let later = machine.advance(to: Moment(Self.start + 93 * 24 * Self.hour))
        #expect(later == [.saveUser(user), .erase(key()), .clear(key())])
    }

    @Test mutating func `a finished session leaves the bus after 48 hours`() {
        begin()
        perform(.end(streams: [:]), at: 60)
        _ = machine.advance(to: Moment(Self.start + 75))
        #expect(status() == .completed)
        #expect(machine.advance(to: Moment(Self.start + 47 * Self.hour)) == [])
        #expect(
            machine.advance(to: Moment(Self.start + 49 * Self.hour)) == [
                .saveUser(user), .archive(key()), .clear(key()),
            ])
    }

    @Test mutating func `a start that replaces discards the unfinished session`() {
        begin()
        var start = SessionStart(activity: .cycling, countdown: 0)
        start.replace = true
        #expect(perform(.start(start), at: 50, 2)?.ok == true)
        #expect(status() == .canceled)
        #expect(status(2) == .active)
    }

    @Test mutating func `a late start discards no session that began after it, but a countdown`() {
        begin(at: 100)
        var start = SessionStart(activity: .cycling, countdown: 0)
        start.replace = true
        #expect(perform(.start(start), at: 50, now: 200, 2)?.error?.code == "session_in_progress")
        #expect(status() == .active && status(2) == nil)
        #expect(perform(.start(start), at: 150, now: 201, 3)?.ok == true)
        #expect(status() == .canceled && status(3) == .active)
        perform(.end(streams: [:]), at: 202, 3)
        perform(.start(SessionStart(activity: .running, countdown: 30)), at: 210, 4)
        #expect(status(4) == .preparing)
        #expect(perform(.start(start), at: 215, 5)?.ok == true)
        #expect(status(4) == .canceled)
    }

    @Test mutating func `a session with an earlier end is accepted beside the unfinished one`() {
        begin(1, at: 10_000)
        var start = SessionStart(activity: .running, countdown: 0)
        start.endAt = Self.start + 9_000
        #expect(perform(.start(start), at: 5_000, now: 10_100, 2)?.ok == true)
        #expect(machine.unfinished(user)?.session.key == key(1))
        perform(.pause, at: 6_000, now: 10_101, 2)
        perform(.end(streams: [:]), at: 9_000, now: 10_102, 2)
        #expect(status(2) == .saving)
        #expect(status(1) == .active)
        start.endAt = Self.start + 11_000
        #expect(perform(.start(start), at: 9_500, now: 11_100, 3)?.error?.code == "session_in_progress")
    }

    @Test mutating func `watch mode falls back to the phone after ten seconds, and its metrics remove the banner`() {
        var start = SessionStart(activity: .running, countdown: 0)
        start.mode = .watch
        perform(.start(start))
        #expect(machine.entries[key()]?.record.state.banner == nil)
        #expect(machine.advance(to: Moment(Self.start + 9)) == [])
        #expect(machine.advance(to: Moment(Self.start + 10)).contains(.publishState(key())))
        #expect(machine.entries[key()]?.record.state.mode == .phone)
        #expect(machine.entries[key()]?.record.state.banner == .liveMetricsUnavailable)
        _ = hear(1, newest: 11, now: 11)
        #expect(machine.entries[key()]?.record.state.banner == .liveMetricsUnavailable)
        // The watch's items may be known before its heart rate is.
        var heard = Heard(1, newest: Self.start + 11)
        heard.hasLiveMetrics = true
        let actions = machine.receiveHeard(heard, .samples, of: key(), now: Moment(Self.start + 12))
        #expect(actions == [.save(key()), .publishState(key()), .publishCurrent(user)])
        #expect(machine.entries[key()]?.record.state.banner == nil)
    }

    @Test mutating func `a watch that reports ready keeps watch mode`() throws {
        var start = SessionStart(activity: .running, countdown: 0)
        start.mode = .watch
        perform(.start(start))
        #expect(perform(.deviceReady(try #require(Device("phone-1"))), at: 2)?.error?.code == "invalid_command")
        #expect(perform(.deviceReady(try #require(Device("watch-1"))), at: 3)?.ok == true)
        #expect(machine.advance(to: Moment(Self.start + 60)) == [])
        #expect(machine.entries[key()]?.record.state.mode == .watch)
    }

    @Test mutating func `missing permissions and recordings do not wait for a watch`() {
        var start = SessionStart(activity: .running, countdown: 0)
        start.mode = .watch
        start.permissions = Permissions(heartRate: false, workouts: true)
        perform(.start(start))
        #expect(machine.entries[key()]?.record.state.banner == .liveMetricsUnavailable)
        #expect(machine.entries[key()]?.record.state.permissions == start.permissions)
        perform(.discard, at: 1)
        start.permissions = nil
        perform(.start(start), at: -10_000, now: 2, 2)
        #expect(machine.entries[key(2)]?.record.state.banner == nil)
        #expect(machine.entries[key(2)]?.record.session.deadline == nil)
    }
}
