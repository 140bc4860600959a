import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

struct PendingBufferTests {
    private let start = Moment(Timestamp(seconds: 1_700_000_000))
    private let user = User("ann")!
    private var buffer = PendingBuffer<Int>(byteLimit: 2_000, userLimit: 2_000, timeout: 10)

    private func message(_ number: Int, bytes: Int = 0) -> MQTTMessage {
        MQTTMessage(topic: "\(number)", payload: ArraySlice([UInt8](repeating: 0, count: bytes)), qos: .atLeastOnce)
    }

    private mutating func take(_ key: Int, at seconds: Double) -> [String] {
        buffer.take(key, now: start + seconds).map(\.topic)
    }

    @Test mutating func `messages are taken once, in order, by key`() {
        for number in 0..<6 { buffer.add(message(number), for: number % 2, of: user, now: start) }
        #expect(take(1, at: 0) == ["1", "3", "5"] && take(1, at: 0) == [])
        #expect(take(0, at: 0) == ["0", "2", "4"] && buffer.bytes == 0)
    }

    @Test mutating func `each message is pending for its own ten seconds, without a check`() {
        buffer.add(message(1), for: 0, of: user, now: start)
        buffer.add(message(2), for: 0, of: user, now: start + 5)
        buffer.add(message(3), for: 1, of: user, now: start)
        #expect(take(0, at: 10) == ["2"] && buffer.expired == 1)
        buffer.expire(now: start + 10)
        #expect(buffer.bytes == 0 && buffer.expired == 2 && buffer.overflowed == 0)
    }

    @Test mutating func `a message that does not fit is counted, and fits after others have left`() {
        for number in 0..<7 { buffer.add(message(number), for: number, of: user, now: start) }
        buffer.add(message(7), for: 7, of: user, now: start)
        #expect(buffer.overflowed == 1 && buffer.bytes <= 2_000)
        buffer.drop { $0 == 0 }
        buffer.add(message(8), for: 8, of: user, now: start)
        #expect(take(8, at: 1) == ["8"] && take(0, at: 1) == [])
    }

    @Test mutating func `one user's messages leave room for those of others`() {
        buffer = PendingBuffer<Int>(byteLimit: 2_000, userLimit: 1_000, timeout: 10)
        let other = User("ben")!
        var kept = (0..<7).map { buffer.add(message($0), for: 0, of: user, now: start) }
        kept.append(buffer.add(message(7), for: 0, of: other, now: start))
        #expect(kept == [true, true, true, false, false, false, false, true] && buffer.overflowed == 4)
        #expect(take(0, at: 0) == ["0", "1", "2", "7"])
        let isKept = buffer.add(message(8), for: 0, of: user, now: start)
        #expect(isKept)
    }

    @Test mutating func `it takes the bytes of what is pending, in any order of calls`() {
        var random = SeededRandom()
        var pending: [Int: [(at: Double, size: Int)]] = [:]
        var now = 0.0
        for _ in 0..<2_000 {
            let key = Int.random(in: 0..<5, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                let expected = pending.removeValue(forKey: key)?.count { $0.at + 10 > now } ?? 0
                #expect(take(key, at: now).count == expected, "seed \(random.seed)")
            case 1:
                buffer.drop { $0 == key }
                pending[key] = nil
            case 2:
                now += Double.random(in: 1...4, using: &random)
                buffer.expire(now: start + now)
                pending = pending.mapValues { $0.filter { $0.at + 10 > now } }
            default:
                let bytes = Int.random(in: 0...400, using: &random)
                let overflowed = buffer.overflowed
                buffer.add(message(0, bytes: bytes), for: key, of: user, now: start + now)
                guard buffer.overflowed == overflowed else { break }
                pending[key, default: []].append((now, bytes + PendingBuffer<Int>.overhead))
            }
            // Those that a later take drops are still counted.
            let least = pending.values.joined().reduce(0) { $0 + $1.size }
            #expect(least <= buffer.bytes && buffer.bytes <= 2_000, "seed \(random.seed)")
        }
        buffer.expire(now: start + now + 10)
        #expect(buffer.bytes == 0, "seed \(random.seed)")
    }
}
