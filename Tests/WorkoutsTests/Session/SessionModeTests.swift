import Testing
import Workouts

@Suite struct SessionModeTests {
    private func begin(
        _ mode: Mode? = .watch, permissions: Permissions? = nil, countdown: Double = 0, at: Double = 0
    ) -> Session {
        var start = SessionStart(activity: .running, mode: mode, countdown: countdown)
        start.permissions = permissions
        let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
        return Session(key: key, start: start, at: year2026 + at, now: year2026)
    }

    @Test func `without a watch within ten seconds the phone continues alone with a banner`() {
        var session = begin()
        #expect(session.mode == .watch && session.deadline == year2026 + 10)
        let isEarly = session.advance(to: year2026 + 9.999)
        #expect(!isEarly && session.mode == .watch)
        let isLate = session.advance(to: year2026 + 10)
        #expect(isLate && session.mode == .phone && session.banner == .liveMetricsUnavailable)
        #expect(session.deadline == nil)
    }

    @Test func `the watch timeout may end before a long countdown`() {
        var session = begin(countdown: 60)
        #expect(session.deadline == year2026 + 10)
        _ = session.advance(to: year2026 + 10)
        #expect(session.statusName == .preparing && session.mode == .phone)
        #expect(session.deadline == year2026 + 60)
        _ = session.advance(to: year2026 + 60)
        #expect(session.statusName == .active && session.deadline == nil)
    }

    @Test func `a watch that reports ready keeps watch mode`() throws {
        var session = begin()
        try session.apply(.deviceReady(Device("watch-1")!), at: year2026 + 9)
        #expect(session.deadline == nil)
        let hasChanged = session.advance(to: year2026 + 100)
        #expect(!hasChanged && session.mode == .watch && session.banner == nil)
    }

    @Test func `a late watch takes over and removes the banner`() throws {
        var session = begin()
        _ = session.advance(to: year2026 + 10)
        try session.apply(.deviceReady(Device("watch-1")!), at: year2026 + 20)
        #expect(session.mode == .watch && session.banner == nil)
    }

    @Test(arguments: ["phone-1", "strap", "watches"]) func `deviceReady of another kind of device is refused`(
        name: String
    ) throws {
        var session = begin(.phone)
        let before = session
        let device = try #require(Device(name))
        let refusal = #expect(throws: Refusal.self) { try session.apply(.deviceReady(device), at: year2026 + 1) }
        #expect(refusal?.code == "invalid_command" && refusal?.message.hasPrefix("device: ") == true)
        #expect(session == before)
    }

    @Test(arguments: [(false, true), (true, false), (false, false)])
    func `without both permissions the session falls back to phone mode at once`(heartRate: Bool, workouts: Bool) {
        let session = begin(permissions: Permissions(heartRate: heartRate, workouts: workouts))
        #expect(session.mode == .phone && session.banner == .liveMetricsUnavailable)
        #expect(session.deadline == nil)
    }

    @Test func `with both permissions the session waits for a watch`() {
        #expect(begin(permissions: Permissions(heartRate: true, workouts: true)).deadline == year2026 + 10)
    }

    @Test func `an item of a watch or a heart rate removes the banner for good, other items do not`() {
        var shown = begin()
        _ = shown.advance(to: year2026 + 10)
        shown.receiveFirstItem()
        #expect(shown.banner == .liveMetricsUnavailable)
        shown.receiveLiveMetrics()
        #expect(shown.banner == nil && shown.mode == .phone)
        var early = begin()
        early.receiveLiveMetrics()
        _ = early.advance(to: year2026 + 10)
        #expect(early.banner == nil && early.mode == .phone)
    }

    @Test(arguments: [-61.0, 61]) func `a start far from the clock does not wait for a watch`(at: Double) {
        let session = begin(at: at)
        #expect(session.mode == .watch && session.banner == nil && session.deadline == nil)
    }

    @Test func `phone mode has the banner from the start and does not wait for a watch`() throws {
        for mode in [nil, Mode.phone] {
            var session = begin(mode)
            #expect(session.mode == .phone && session.banner == .liveMetricsUnavailable && session.deadline == nil)
            #expect(begin(mode, at: -61).banner == nil)
            try session.apply(.pause, at: year2026 + 20)
            #expect(session.banner == .liveMetricsUnavailable)
            let paused = session
            session.expire()
            #expect(session.banner == nil)
            session.restore(hasOther: false, newest: nil)
            #expect(session == paused && session.banner == .liveMetricsUnavailable)
            try session.apply(.deviceReady(Device("watch-1")!), at: year2026 + 30)
            #expect(session.mode == .watch && session.banner == nil)
            try session.apply(.end(streams: [:]), at: year2026 + 40)
            #expect(session.banner == nil)
        }
    }

    @Test func `refused permissions outlast deviceReady`() throws {
        var session = begin(permissions: Permissions(heartRate: true, workouts: false))
        try session.apply(.deviceReady(Device("watch-1")!), at: year2026 + 5)
        #expect(session.mode == .phone && session.banner == .liveMetricsUnavailable)
        // The heart rate of a strap needs no permission.
        session.receiveLiveMetrics()
        #expect(session.banner == nil)
    }
}
