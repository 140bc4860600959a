import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// CPU time of the live path, printed; the limits hold for an optimized build alone.
@Suite(.serialized) struct LiveCostTests {
    /// Whether the code is optimized.
    private var isOptimized: Bool {
        var isDebug = false
        assert(
            {
                isDebug = true
                return true
            }())
        return !isDebug
    }

    /// Microseconds of this thread's CPU.
    private func measure(_ body: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
        }
        let start = now()
        try body()
        return now() - start
    }

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
        (snapshot.averagePace, snapshot.displayPace, snapshot.displaySpeed) = (340.2, 343.4, 2.912)
        (snapshot.lapSeconds, snapshot.lapDistance, snapshot.maximumSpeed) = (seconds, seconds * 2.9, 4.2)
        snapshot.zones = [12, 44, 120, 230, 41]
        snapshot.devices = [Device("watch-3f9a")!: DevicePresence(newest: LiveFixture.start + seconds, battery: 0.5)]
        return snapshot.payload[...]
    }

    @Test(arguments: [(5, 15.0), (50, 100)]) func `a message of a run costs little CPU`(_ count: Int, _ limit: Double)
        throws
    {
        let names = (0..<count).map { "runner-\($0)" }
        var fixture = LiveFixture(names)
        let seconds = 300
        let payloads = (1...seconds).map { second in (0..<count).map { payload($0, second) } }
        let keys = names.map { SessionKey(User($0)!, LiveFixture.session($0)) }
        var (messages, bytes) = (0, 0)
        let cost = try measure {
            for batch in payloads {
                fixture.now = fixture.now + 1
                for (index, payload) in batch.enumerated() {
                    fixture.live.receive(
                        try RunnerMetrics(payload), of: keys[index], isRetained: false, now: fixture.now)
                }
                for output in fixture.live.advance(isFed: true, now: fixture.now) {
                    guard case .partners(_, let message) = output else { continue }
                    messages += 1
                    bytes += message.payload.count
                }
                _ = fixture.live.due
            }
        }
        let each = cost / Double(messages)
        print("\(count) runners: \(each) µs CPU for each message of \(bytes / messages) bytes, with two snapshots in")
        #expect(bytes / messages / (count - 1) < 230)
        if isOptimized { #expect(each < limit) }
    }

    @Test func `a foreign snapshot costs less than 4 µs`() {
        var snapshot = MetricsSnapshot(user: User("ann")!, revision: 1)
        snapshot.devices = [Device("watch-3f9a")!: DevicePresence(newest: LiveFixture.start, battery: 0.5)]
        (snapshot.averageHeartRate, snapshot.pace, snapshot.steps) = (140.25, 343.4, 1_234)
        let payload = snapshot.payload[...]
        var named = 0
        let cost = measure { for _ in 0..<10_000 where RunnerMetrics.namesRun(payload) { named += 1 } }
        print("a foreign snapshot: \(cost / 10_000) µs CPU")
        #expect(named == 0)
        if isOptimized { #expect(cost / 10_000 < 4) }
    }
}
