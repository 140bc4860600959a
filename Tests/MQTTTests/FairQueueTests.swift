import CMosquitto
import TestSupport
import Testing

@testable import MQTT

extension FairQueue {
    /// Appends a message as libmosquitto passes it.
    mutating func append(_ topic: String, _ payload: [UInt8], qos: Int32 = 0) {
        var payload = payload
        var topic = Array(topic.utf8CString)
        payload.withUnsafeMutableBytes { bytes in
            topic.withUnsafeMutableBufferPointer { topic in
                var message = mosquitto_message()
                message.topic = topic.baseAddress
                message.payload = bytes.baseAddress
                message.payloadlen = Int32(bytes.count)
                message.qos = qos
                append(message)
            }
        }
    }

    /// An open queue, in which the topic `owner/kind/…` belongs to `owner`.
    static func open(
        messageLimit: Int = 16_384, payloadLimit: Int = 256 * 1_024, topicLimit: Int = 1_000,
        _ limits: QueueLimits = QueueLimits()
    ) -> FairQueue {
        var configuration = MQTTConfiguration(clientID: "test")
        configuration.batchLimit = messageLimit
        configuration.payloadLimit = payloadLimit
        configuration.queueLimits = limits
        configuration.queueRule = { name in
            let levels = name.split(separator: "/").map(String.init)
            let kinds: [String: QueueRule.Kind] = ["items": .items, "request": .request]
            return QueueRule(owner: levels[0], kind: levels.count > 1 ? kinds[levels[1]] ?? .service : .service)
        }
        var queue = FairQueue(configuration, topicLimit: topicLimit)
        queue.isOpen = true
        return queue
    }
}

@Suite struct FairQueueTests {
    @Test func `messages keep their order over several batches`() {
        var random = SeededRandom()
        var queue = FairQueue.open()
        for _ in 0..<5 {
            var expected: [MQTTMessage] = []
            for _ in 0..<200 {
                let topic = "a/\(Int.random(in: 0..<20, using: &random))/ä"
                let payload = (0..<Int.random(in: 0..<50, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
                queue.append(topic, payload)
                expected.append(MQTTMessage(topic: topic, payload: payload, qos: .atMostOnce))
            }
            #expect(queue.take() == expected)
            #expect(queue.total == BatchGate.Collected())
        }
    }

    @Test func `messages keep their QoS`() {
        var queue = FairQueue.open()
        queue.append("t", [1])
        queue.append("t", [1], qos: 1)
        #expect(queue.take().map(\.qos) == [.atMostOnce, .atLeastOnce])
    }

    @Test func `a payload above the limit is dropped and counted`() {
        var queue = FairQueue.open(payloadLimit: 3)
        queue.append("t", [1, 2, 3])
        queue.append("t", [1, 2, 3, 4], qos: 1)
        #expect(queue.take().count == 1)
        #expect(queue.takeDropped() == .init(tooLarge: 1))
        #expect(!queue.hasDropped)
    }

    @Test func `without a subscriber messages are dropped and counted`() {
        var queue = FairQueue.open()
        queue.isOpen = false
        queue.append("t", [1])
        #expect(queue.take().isEmpty)
        #expect(queue.takeDropped() == .init(unsubscribed: 1))
    }

    // MARK: Limits

    @Test func `a device's batch beyond 20 waiting ones is dropped, and other streams are not`() {
        var queue = FairQueue.open()
        for number in 0..<15 as Range<UInt8> { queue.append("ann/items/watch", [number]) }
        let now = ContinuousClock.now
        for period in 0..<3 { queue.tick(now: now + TopicTable.period * period) }
        for number in 15..<25 as Range<UInt8> { queue.append("ann/items/watch", [number]) }
        queue.append("ann/items/strap", [100])
        #expect(queue.take().compactMap(\.payload.first) == Array(0..<20) + [100])
        #expect(queue.takeDropped().limited == [excess(.batchesPerStream): 5])
        queue.append("ann/items/watch", [200])
        #expect(queue.take().count == 1)
    }

    @Test func `requests beyond 128 of a user are dropped on all topics together`() {
        var queue = FairQueue.open()
        for number in 0..<200 { queue.append("ann/request/\(number % 7)", [1]) }
        queue.append("ben/request", [1])
        #expect(queue.take(all: true).count == 129)
        #expect(queue.takeDropped().limited == [excess(.requestsPerOwner): 72])
    }

    @Test func `a user's waiting bytes are bounded and shrink to a share of all`() {
        var limits = QueueLimits()
        limits.bytesPerOwner = 10_000
        limits.bytes = 40_000
        var queue = FairQueue.open(limits)
        let payload = [UInt8](repeating: 1, count: 872)
        for owner in 0..<10 {
            for stream in 0..<20 { queue.append("user\(owner)/items/\(stream)", payload) }
        }
        let taken = queue.take(all: true)
        let bytes = Dictionary(grouping: taken) { $0.topic.prefix(5) }.mapValues(\.count)
        #expect(bytes["user0"] == 10 && bytes["user4"] == 8 && bytes["user9"] == 4)
    }

    @Test func `services' messages are never dropped, and stop reading at the limit`() {
        var queue = FairQueue.open(messageLimit: 100)
        for number in 0..<99 { queue.append("ann/state/\(number)", [1]) }
        for number in 0..<500 { queue.append("ann/items/\(number)", [1]) }
        #expect(!queue.total.isFull)
        queue.append("ann/state/99", [1])
        #expect(queue.total.isFull)
        #expect(!queue.hasDropped)
    }

    private func excess(_ limit: QueueLimit) -> QueueExcess { QueueExcess(owner: "ann", limit: limit) }

    // MARK: Turns

    @Test func `a turn is bounded by its cost and continues where the last one ended`() {
        var queue = FairQueue.open()
        let payload = [UInt8](repeating: 1, count: 100_000)
        for number in 0..<30 { queue.append("ann/items/\(number)", payload) }
        #expect(queue.total.isTurn)
        #expect(queue.take().map(\.topic) == (0..<11).map { "ann/items/\($0)" })
        #expect(queue.take().map(\.topic) == (11..<22).map { "ann/items/\($0)" })
        #expect(!queue.total.isTurn)
        #expect(queue.take().count == 8)
    }

    @Test func `a single small message passes all that another user has waiting`() throws {
        var queue = FairQueue.open()
        let payload = [UInt8](repeating: 1, count: 80_000)
        for number in 0..<90 { queue.append("mallory/items/\(number)", payload) }
        queue.append("ann/items/watch", [1])
        let turn = queue.take()
        #expect(turn.contains { $0.topic == "ann/items/watch" })
        #expect(try #require(turn.firstIndex { $0.topic == "ann/items/watch" }) <= 1)
    }

    /// Whatever arrives: each user's messages keep their order, only what exceeds the limits is missing, a turn is bounded, and
    /// users with more waiting than they get differ by at most a quantum and two messages.
    @Test func `any arrivals are taken in order, completely and in equal shares`() {
        var random = SeededRandom()
        var limits = QueueLimits()
        limits.turn = 200_000
        limits.quantum = 1_000
        limits.bytesPerOwner = 300_000
        let largest = 3_000
        let most = limits.cost(of: .request, largest)
        var now = ContinuousClock.now
        for _ in 0..<40 {
            let topicLimit = Int.random(in: 1...50, using: &random)
            var queue = FairQueue.open(messageLimit: 200, topicLimit: topicLimit, limits)
            var expected: [String: [Int]] = [:]
            var taken: [String: [Int]] = [:]
            var number = 0
            var dropped = 0
            var (owner, kind, length) = ("ann", "items", 0)
            for _ in 0..<Int.random(in: 1...30, using: &random) {
                let arrivals = Bool.random(using: &random) ? 300 : 10
                for _ in 0..<Int.random(in: 0..<arrivals, using: &random) {
                    if Bool.random(using: &random) {
                        owner = ["ann", "ben", "mallory", "mallory", "mallory"].randomElement(using: &random)!
                        kind = ["items", "request", "state"].randomElement(using: &random)!
                        length = Int.random(in: 0..<20, using: &random) * TopicTable.lengthLimit / 16
                    }
                    if Int.random(in: 0..<4, using: &random) == 0 {
                        now += TopicTable.period
                        queue.tick(now: now)
                    }
                    let size = Int.random(in: 4...largest, using: &random)
                    number += 1
                    let bytes = withUnsafeBytes(of: UInt32(number)) { Array($0) }
                    let topic = "\(owner)/\(kind)/\(String(repeating: "1", count: length))"
                    queue.append(topic, bytes + [UInt8](repeating: 0, count: size - 4))
                    let limited = queue.takeDropped().limited.values.reduce(0, +)
                    dropped += limited
                    #expect(kind != "state" || limited == 0, "seed \(random.seed)")
                    if limited == 0 { expected[owner, default: []].append(number) }
                }
                let before = waiting(expected, taken)
                let turn = queue.take()
                var costs: [String: Int] = [:]
                for message in turn {
                    let owner = String(message.topic.prefix { $0 != "/" })
                    taken[owner, default: []].append(
                        message.payload.withUnsafeBytes { Int($0.loadUnaligned(as: UInt32.self)) })
                    costs[owner, default: 0] += cost(message, limits)
                }
                let all = costs.values.reduce(0, +)
                #expect(all < limits.turn + most && turn.count <= 200, "seed \(random.seed)")
                let after = waiting(expected, taken)
                let busy = before.keys.filter { after[$0, default: 0] > 0 }
                let shares = busy.map { costs[$0, default: 0] }
                let spread = (shares.max() ?? 0) - (shares.min() ?? 0)
                #expect(spread <= limits.quantum + 2 * most, "seed \(random.seed)")
            }
            while case let turn = queue.take(), !turn.isEmpty {
                for message in turn {
                    let owner = String(message.topic.prefix { $0 != "/" })
                    taken[owner, default: []].append(
                        message.payload.withUnsafeBytes { Int($0.loadUnaligned(as: UInt32.self)) })
                }
            }
            #expect(taken == expected, "seed \(random.seed)")
            #expect(taken.values.reduce(0) { $0 + $1.count } + dropped == number, "seed \(random.seed)")
            #expect(queue.total == BatchGate.Collected(), "seed \(random.seed)")
        }
    }

    private func waiting(_ expected: [String: [Int]], _ taken: [String: [Int]]) -> [String: Int] {
        expected.mapValues(\.count).merging(taken.mapValues { -$0.count }, uniquingKeysWith: +)
    }

    private func cost(_ message: MQTTMessage, _ limits: QueueLimits) -> Int {
        let kind: QueueRule.Kind =
            message.topic.contains("items") ? .items : message.topic.contains("request") ? .request : .service
        return limits.cost(of: kind, message.payload.count)
    }
}
