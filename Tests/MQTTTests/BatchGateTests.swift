import Testing

@testable import MQTT

@Suite struct BatchGateTests {
    private let start = ContinuousClock.now
    private let withAcknowledgement = BatchGate.Collected(messages: 1, needsAcknowledgement: true)
    private let withoutAcknowledgement = BatchGate.Collected(messages: 1)

    private func gate() -> BatchGate {
        BatchGate(interval: .milliseconds(50))
    }

    @Test func `the first messages after an idle time are due at once`() {
        var gate = gate()
        gate.read(withoutAcknowledgement, now: start)
        #expect(gate.due(isGranted: true) == start)
    }

    @Test func `the next batch is due one interval after the previous delivery`() {
        var gate = gate()
        gate.read(withoutAcknowledgement, now: start)
        gate.acknowledged(gate.deliver(leaving: .init(), now: start))
        gate.read(withoutAcknowledgement, now: start + .milliseconds(10))
        #expect(gate.due(isGranted: true) == start + .milliseconds(50))
    }

    @Test func `a full batch is due before its interval`() {
        var gate = gate()
        gate.read(withoutAcknowledgement, now: start)
        gate.acknowledged(gate.deliver(leaving: .init(), now: start))
        let now = start + .milliseconds(1)
        gate.read(.init(messages: 4, isTurn: true), now: now)
        #expect(gate.due(isGranted: true) == now)
        #expect(gate.mayRead)
    }

    @Test func `a full queue is not read into and is due at once`() {
        var gate = gate()
        gate.acknowledged(gate.deliver(leaving: .init(), now: start))
        gate.read(.init(messages: 4, isFull: true), now: start)
        #expect(!gate.mayRead)
        #expect(gate.due(isGranted: true) == start)
    }

    @Test func `an empty batch is not due`() {
        #expect(gate().due(isGranted: true) == nil)
    }

    @Test func `messages before the grant are delayed by at most a second`() {
        var gate = gate()
        gate.read(withoutAcknowledgement, now: start)
        #expect(gate.due(isGranted: false) == start + .seconds(1))
        gate.read(.init(messages: 4, isTurn: true), now: start)
        #expect(gate.due(isGranted: false) == start)
    }

    @Test func `collected QoS 1 messages forbid writing but not reading`() {
        var gate = gate()
        gate.read(withAcknowledgement, now: start)
        #expect(!gate.mayWrite)
        #expect(gate.mayRead)
    }

    @Test func `an outstanding batch with QoS 1 messages forbids reading and writing until acknowledged`() {
        var gate = gate()
        gate.read(withAcknowledgement, now: start)
        let batch = gate.deliver(leaving: .init(), now: start)
        #expect(!gate.mayWrite)
        #expect(!gate.mayRead)
        gate.acknowledged(batch)
        #expect(gate.mayWrite)
        #expect(gate.mayRead)
    }

    @Test func `an outstanding batch with QoS 0 messages allows reading and writing but no delivery`() {
        var gate = gate()
        gate.read(withoutAcknowledgement, now: start)
        let batch = gate.deliver(leaving: .init(), now: start)
        #expect(gate.mayWrite && gate.mayRead)
        gate.read(withAcknowledgement, now: start + .seconds(1))
        #expect(!gate.mayWrite && gate.mayRead)
        #expect(gate.due(isGranted: true) == nil)
        gate.acknowledged(batch)
        #expect(gate.due(isGranted: true) == start + .seconds(1))
        #expect(!gate.mayWrite)
    }

    @Test func `a repeated acknowledgement does not acknowledge the next batch`() {
        var gate = gate()
        gate.read(withAcknowledgement, now: start)
        let first = gate.deliver(leaving: .init(), now: start)
        gate.acknowledged(first)
        gate.read(withAcknowledgement, now: start)
        _ = gate.deliver(leaving: .init(), now: start)
        gate.acknowledged(first)
        #expect(gate.isOutstanding)
        #expect(!gate.mayWrite)
    }

    @Test func `after a loss the outstanding batch blocks the next batch but not writing`() {
        var gate = gate()
        gate.read(withAcknowledgement, now: start)
        let batch = gate.deliver(leaving: .init(), now: start)
        gate.connectionLost()
        #expect(gate.mayWrite && gate.mayRead)
        gate.read(withAcknowledgement, now: start)
        #expect(gate.due(isGranted: true) == nil)
        gate.acknowledged(batch)
        #expect(gate.due(isGranted: true) != nil)
    }

    @Test func `a subscriber that leaves QoS 1 messages unacknowledged closes the connection`() {
        var collected = gate()
        collected.read(withAcknowledgement, now: start)
        var delivered = collected
        _ = delivered.deliver(leaving: .init(), now: start)
        #expect(collected.subscriberLeft() == .closeConnection)
        #expect(delivered.subscriberLeft() == .closeConnection)
        #expect(delivered.mayWrite && delivered.mayRead && !delivered.isOutstanding)
    }

    @Test func `a subscriber that leaves QoS 0 messages unacknowledged keeps the connection`() {
        var gate = gate()
        gate.read(withoutAcknowledgement, now: start)
        _ = gate.deliver(leaving: .init(), now: start)
        #expect(gate.subscriberLeft() == .none)
        #expect(!gate.isOutstanding)
    }

    @Test func `messages read before the drain are due at once`() {
        var gate = gate()
        gate.read(withoutAcknowledgement, now: start)
        gate.acknowledged(gate.deliver(leaving: .init(), now: start))
        gate.read(withoutAcknowledgement, now: start)
        #expect(gate.due(isGranted: true, isDraining: true) == start)
    }

    // MARK: A consumer that is behind or late

    @Test func `while messages are left behind, an outstanding batch forbids neither reading nor writing`() {
        var gate = gate()
        gate.read(withAcknowledgement, now: start)
        let batch = gate.deliver(leaving: withAcknowledgement, now: start)
        #expect(gate.mayRead && gate.mayWrite)
        #expect(gate.due(isGranted: true) == nil)
        gate.acknowledged(batch)
        #expect(gate.due(isGranted: true) == start)
        _ = gate.deliver(leaving: .init(), now: start)
        #expect(!gate.mayRead && !gate.mayWrite)
    }

    @Test func `after a second a batch no longer forbids reading, and its acknowledgement allows writing`() {
        var gate = gate()
        gate.read(withAcknowledgement, now: start)
        let batch = gate.deliver(leaving: .init(), now: start)
        #expect(gate.deadline == start + .seconds(1))
        gate.tick(now: start + .milliseconds(999))
        #expect(!gate.mayRead)
        gate.tick(now: start + .seconds(1))
        #expect(gate.mayRead && !gate.mayWrite && gate.deadline == nil)
        gate.read(withAcknowledgement, now: start + .seconds(1))
        gate.acknowledged(batch)
        #expect(gate.mayRead && gate.mayWrite)
        let next = gate.deliver(leaving: .init(), now: start + .seconds(2))
        #expect(!gate.mayRead && !gate.mayWrite)
        gate.acknowledged(next)
        #expect(gate.mayRead && gate.mayWrite)
    }
}
