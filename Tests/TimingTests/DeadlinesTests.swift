import Foundation
import TestSupport
import Testing
import Timing
import Workouts

struct DeadlinesTests {
    private static let keys = (UInt8(0)..<20).map {
        SessionKey(User("demo")!, SessionID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $0))))
    }

    @Test func `each key is due once, at its earliest time, in order`() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var deadlines = Deadlines<SessionKey, Timestamp>()
            var expected: [SessionKey: Timestamp] = [:]
            var now = Timestamp(microseconds: 0)
            for _ in 0..<100 {
                let key = Self.keys.randomElement(using: &random)!
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    now = now + Double(Int.random(in: -3...10, using: &random))
                    let due = expected.filter { $0.value <= now }
                    let order = due.keys.sorted { (due[$0]!, $0) < (due[$1]!, $1) }
                    #expect(deadlines.take(by: now) == order)
                    for key in order { expected[key] = nil }
                case 1:
                    deadlines.remove(key)
                    expected[key] = nil
                default:
                    let time = now + Double(Int.random(in: -5...20, using: &random))
                    deadlines.schedule(key, at: time)
                    expected[key] = min(time, expected[key] ?? time)
                }
            }
        }
    }

    @Test func `single takes return the same order, none early`() {
        var deadlines = Deadlines<SessionKey, Timestamp>()
        for (index, key) in Self.keys.enumerated() {
            deadlines.schedule(key, at: Timestamp(seconds: Double(40 - index)))
        }
        var taken: [SessionKey] = []
        while let key = deadlines.takeFirst(by: Timestamp(seconds: 30)) { taken.append(key) }
        #expect(taken == Array(Self.keys[10...].reversed()))
        #expect(deadlines.takeFirst(by: Timestamp(seconds: 31)) == Self.keys[9])
    }

    @Test func `later times for a key do not grow the heap`() {
        var deadlines = Deadlines<SessionKey, Timestamp>()
        for second in 1...1_000 { deadlines.schedule(Self.keys[0], at: Timestamp(seconds: Double(second))) }
        #expect(deadlines.count == 1)
        #expect(deadlines.take(by: Timestamp(seconds: 1)) == [Self.keys[0]])
        #expect(deadlines.take(by: Timestamp(seconds: 1_000)) == [])
    }
}
