import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// The size of messages. Their CPU time is a benchmark: `compose/bench`.
struct LiveCostTests {
    private func payload(_ index: Int, _ second: Int) -> ArraySlice<UInt8> {
        var snapshot = MetricsSnapshot(
            user: User("runner-\(index)")!, revision: Int64(1_767_225_600_000 + second * 1_000))
        let seconds = Double(second)
        snapshot.run = LiveFixture.run
        snapshot.newest = LiveFixture.start + seconds
        (snapshot.activeSeconds, snapshot.distance, snapshot.speed) = (
            seconds, seconds * (2.5 + Double(index) / 50), 2.912
        )
        (snapshot.pace, snapshot.heartRate, snapshot.activeEnergy, snapshot.battery) = (343.4, 151, seconds / 5, 0.5)
        (snapshot.latitude, snapshot.longitude, snapshot.count) = (47.5 + seconds / 1e5, 8.25, second)
        return snapshot.payload[...]
    }

    @Test(arguments: [5, 50]) func `a row has less than 230 bytes`(_ count: Int) throws {
        let names = (0..<count).map { "runner-\($0)" }
        var fixture = LiveFixture(names)
        var (rows, bytes) = (0, 0)
        for second in 1...300 {
            fixture.now = fixture.now + 1
            for (index, name) in names.enumerated() {
                fixture.live.receive(
                    try RunnerMetrics(payload(index, second)), of: SessionKey(User(name)!, LiveFixture.session(name)),
                    isRetained: false, now: fixture.now)
            }
            for case .partners(_, let message) in fixture.live.advance(isFed: true, now: fixture.now) {
                rows += message.rows.count
                bytes += message.payload.count
            }
        }
        #expect(rows > 0 && bytes / rows < 230)
    }

    @Test func `a snapshot of a session without a run names none`() {
        var snapshot = MetricsSnapshot(user: User("ann")!, revision: 1)
        snapshot.devices = [Device("watch-3f9a")!: DevicePresence(newest: LiveFixture.start, battery: 0.5)]
        #expect(!RunnerMetrics.namesRun(snapshot.payload[...]))
        snapshot.run = LiveFixture.run
        #expect(RunnerMetrics.namesRun(snapshot.payload[...]))
    }

    @Test func `parts of rows that messages share are the same as without`() throws {
        var random = SeededRandom()
        let names = (0..<6).map { "runner-\($0)" }
        var fixture = LiveFixture(names, sharing: .all)
        var texts = PartnerTexts()
        for second in 1...200 {
            fixture.now = fixture.now + 1
            for name in names where Int.random(in: 0..<3, using: &random) > 0 {
                fixture.metrics(name, Double(second) * Double.random(in: 2...4, using: &random)) {
                    $0.isPaused = second % 7 == 0
                    if second % 5 == 0 { $0.pace = nil }
                    $0.heartRate = Double(second)
                }
            }
            if second == 100 { fixture.change("runner-1") { $0.blocked = [User("runner-2")!] } }
            if second == 150 { fixture.change("runner-3") { $0.status = .finished } }
            for case .partners(_, let message) in fixture.outputs.map(\.output) {
                #expect(message.payload(&texts) == message.payload, "seed \(random.seed)")
            }
            fixture.outputs = []
        }
    }
}
