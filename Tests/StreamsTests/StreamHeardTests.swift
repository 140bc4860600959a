import Bus
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

@Suite struct StreamHeardTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let script = Script()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func aggregator() async throws -> Aggregator { try await Aggregator(folder, clock: clock) }

    /// A batch with one item of now.
    private func batch(_ number: Int, _ device: String = "watch-1", ahead: Double = 0) -> MQTTMessage {
        var sample = Sample(time: clock.now + ahead)
        sample[.heartRate] = 140
        return script.batch(device, number, [sample])
    }

    private func heard(_ sent: [MQTTMessage]) throws -> [Heard] {
        try sent.payloads(.session(script.key, .heard(.samples))).map { try JSONCoding.decode(Heard.self, from: $0) }
    }

    @Test func `heard goes out with the first item, every five minutes and 15 s after the last`() async throws {
        var aggregator = try await aggregator()
        var sent = try await aggregator.deliver([script.stateMessage])
        sent += try await aggregator.tick()
        #expect(try heard(sent).isEmpty)
        var times: [Double] = []
        let start = clock.now
        for second in 0..<700 {
            var sent: [MQTTMessage] = []
            if second < 601 { sent += try await aggregator.deliver([batch(second)]) }
            sent += try await aggregator.tick()
            for heard in try heard(sent) {
                times.append(clock.now.seconds(since: start))
                #expect(heard.count == min(601, second + 1))
                #expect(heard.silences.gaps.map(\.from) == [nil, heard.newest])
                #expect(heard.silences.gaps.map(\.to) == [start, nil])
            }
            clock.advance(by: .seconds(1))
        }
        #expect(times == [0, 300, 600])
        // The last item came after the last message.
        sent = try await aggregator.deliver([batch(601)])
        for _ in 0..<15 {
            clock.advance(by: .seconds(1))
            sent += try await aggregator.tick()
        }
        #expect(try heard(sent).map(\.count) == [602])
    }

    /// The number of items that each message reports, with the second in which it goes out.
    private func reports(
        _ seconds: Range<Int>, _ aggregator: inout Aggregator, item: (Int) -> MQTTMessage?
    ) async throws -> [[Int]] {
        var reports: [[Int]] = []
        for second in seconds {
            var sent: [MQTTMessage] = []
            if let item = item(second) { sent += try await aggregator.deliver([item]) }
            for _ in 0..<10 {
                sent += try await aggregator.tick()
                clock.advance(by: .milliseconds(100))
            }
            reports += try heard(sent).map { [second, $0.count] }
        }
        return reports
    }

    @Test(arguments: [SessionStatus.canceled, .saving, .completed])
    func `of a session that is over, heard goes out with its end and within a second of each item`(
        status: SessionStatus
    ) async throws {
        var script = script
        var aggregator = try await aggregator()
        try await aggregator.deliver([script.stateMessage])
        #expect(try await reports(0..<10, &aggregator) { batch($0) } == [[0, 1]])
        // A change of an unfinished session tells readers nothing about its items.
        try await aggregator.deliver([script.change(.paused, [])])
        #expect(try await reports(10..<12, &aggregator) { batch($0) } == [])
        try await aggregator.deliver([script.change(status, [])])
        let late = try await reports(12..<30, &aggregator) {
            [14, 15, 20].contains($0) ? batch([14: 12, 15: 13][$0] ?? 14) : nil
        }
        #expect(late == [[12, 12], [14, 13], [15, 14], [20, 15]])
    }

    @Test func `a device that sends a thousand batches at once is reported once a second`() async throws {
        var script = script
        var aggregator = try await aggregator()
        try await aggregator.deliver([script.change(.canceled, [])])
        var sent: [MQTTMessage] = []
        for number in 0..<100 {
            sent += try await aggregator.deliver([batch(number)])
            sent += try await aggregator.tick()
            clock.advance(by: .milliseconds(50))
        }
        #expect(try heard(sent).map(\.count) == [1, 21, 41, 61, 81])
    }

    @Test func `the first item of a watch and the first heart rate go out at once`() async throws {
        for (device, heartRate) in [("watch-1", nil), ("phone-1", 140.0)] as [(String, Double?)] {
            let script = Script()
            var aggregator = try await Aggregator(try TemporaryFolder(), clock: clock)
            try await aggregator.deliver([script.stateMessage])
            var found: [[Bool]] = []
            for number in 0..<10 {
                var phone = Sample(time: clock.now)
                phone[.distance] = 3
                if number == 4, device == "phone-1" { phone[.heartRate] = heartRate }
                var sent = try await aggregator.deliver([script.batch("phone-1", number, [phone])])
                if number == 4, device == "watch-1" {
                    sent += try await aggregator.deliver([script.batch(device, 0, [Sample(time: clock.now)])])
                }
                clock.advance(by: .seconds(1))
                sent += try await aggregator.tick()
                found += try sent.payloads(.session(script.key, .heard(.samples)))
                    .map { [number == 4, try JSONCoding.decode(Heard.self, from: $0).hasLiveMetrics] }
            }
            #expect(found == [[false, false], [true, true]], "\(device)")
        }
    }

    @Test func `a restart and a connection repeat it above its revision, without items too`() async throws {
        var script = script
        var first: Aggregator? = try await aggregator()
        var sent = try await first!.deliver([script.stateMessage, batch(0)])
        sent += try await first!.tick()
        let before = try #require(try heard(sent).last)
        clock.advance(by: .seconds(7 * 3_600))
        sent = try await first!.deliver([batch(1)])
        sent += try await first!.tick()
        #expect(try heard(sent).last?.silences.gaps.count == 3)
        first = nil
        // The clock has stepped backwards.
        let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000 - 86_400))
        var second = try await Aggregator(folder, clock: clock)
        sent = try await second.deliver([script.change(.canceled, [])])
        sent += try await second.tick()
        let after = try #require(try heard(sent).last)
        #expect(after.revision > before.revision && after.count == 2 && after.silences.gaps.count == 3)
        clock.advance(by: .seconds(2))
        sent = try await second.connect()
        sent += try await second.tick()
        #expect(try #require(try heard(sent).last).revision > after.revision)
        let other = Script()
        try await second.deliver([other.stateMessage])
        sent = try await second.connect()
        sent += try await second.tick()
        let empty = try #require(sent.payloads(.session(other.key, .heard(.samples))).last)
        let none = try JSONCoding.decode(Heard.self, from: empty)
        #expect(none.count == 0 && none.newest == nil && none.silences.gaps.isEmpty)
    }

    @Test func `it is cleared with the session's other topics`() async throws {
        var script = script
        var aggregator = try await aggregator()
        try await aggregator.deliver([script.stateMessage, batch(0)])
        try await aggregator.tick()
        var sent = try await aggregator.deliver([script.change(.deleted, [])])
        sent += try await aggregator.tick()
        #expect(sent.payloads(.session(script.key, .heard(.samples))) == [[]])
    }

    @Test func `a joined strap whose clock is off is reported, over a restart, until it is right`() async throws {
        var aggregator: Aggregator? = try await aggregator()
        try await aggregator!.deliver([script.stateMessage])
        var skews: [[Device: Double]] = []
        func run(_ seconds: Range<Int>, ahead: Double) async throws {
            for number in seconds {
                var sent = try await aggregator!.deliver([
                    batch(number), batch(number, "strap-1", ahead: ahead),
                ])
                sent += try await aggregator!.tick()
                for heard in try heard(sent) where heard.clockSkew != skews.last ?? [:] {
                    skews.append(heard.clockSkew)
                }
                clock.advance(by: .seconds(1))
            }
        }
        let strap = Device("strap-1")!
        try await run(0..<30, ahead: 180)
        #expect(skews == [[strap: 180]])
        aggregator = nil
        aggregator = try await self.aggregator()
        var sent = try await aggregator!.deliver([script.stateMessage])
        sent += try await aggregator!.tick()
        #expect(try heard(sent).last?.clockSkew == [strap: 180])
        try await run(30..<60, ahead: 0)
        #expect(skews == [[strap: 180], [:]])
    }

    @Test func `what arrives in any order, with restarts, is heard alike`() async throws {
        var random = SeededRandom()
        for _ in 0..<10 {
            let folder = try TemporaryFolder()
            let streams = Dictionary(
                uniqueKeysWithValues: ["watch-1", "strap-1"].map { device in
                    (
                        device,
                        (0..<Int.random(in: 1...40, using: &random)).map { _ in
                            Sample(time: clock.now - Double(Int.random(in: 0...72, using: &random)) * 3_600)
                        }
                    )
                })
            var expected = ItemTimes()
            for items in streams.values { for item in items { expected.add(item.time!) } }
            var bounds = StreamBounds()
            bounds.manyItems = Bool.random(using: &random) ? 10 : 10_000
            var owner: Aggregator? = try await Aggregator(folder, clock: clock, bounds: bounds)
            try await owner!.deliver([script.stateMessage])
            var next: [String: Int] = [:]
            var last: Heard?
            while streams.contains(where: { next[$0.key, default: 0] < $0.value.count }) {
                for (device, items) in streams {
                    let first = next[device, default: 0]
                    let end = min(items.count, first + Int.random(in: 0...7, using: &random))
                    guard first < end else { continue }
                    next[device] = end
                    last =
                        try heard(try await owner!.deliver([script.batch(device, first, Array(items[first..<end]))]))
                        .last
                        ?? last
                }
                if Int.random(in: 0..<4, using: &random) == 0 {
                    owner = nil
                    owner = try await Aggregator(folder, clock: clock, bounds: bounds)
                    try await owner!.deliver([script.stateMessage])
                }
                last = try heard(try await owner!.tick()).last ?? last
            }
            for _ in 0..<20 {
                clock.advance(by: .seconds(1))
                last = try heard(try await owner!.tick()).last ?? last
            }
            #expect(last?.silences == expected.silences, "seed \(random.seed)")
            #expect(last?.newest == expected.newest && last?.count == streams.values.reduce(0) { $0 + $1.count })
        }
    }
}
