import Testing

@testable import MQTT

@Suite struct BatchGateTests {
    private let start = ContinuousClock.now
    private let one = BatchGate.Collected(messages: 1)

    private func gate() -> BatchGate {
        BatchGate(interval: .milliseconds(50))
    }

    @Test func `the first messages after an idle time are due at once`() {
        var gate = gate()
        gate.read(one, now: start)
        #expect(gate.due(isGranted: true) == start)
    }

    @Test func `the next batch is due one interval after the previous delivery`() {
        var gate = gate()
        gate.read(one, now: start)
        gate.finished(gate.deliver(leaving: .init(), now: start))
        gate.read(one, now: start + .milliseconds(10))
        #expect(gate.due(isGranted: true) == start + .milliseconds(50))
    }

    @Test func `a full batch is due before its interval`() {
        var gate = gate()
        gate.read(one, now: start)
        gate.finished(gate.deliver(leaving: .init(), now: start))
        let now = start + .milliseconds(1)
        gate.read(.init(messages: 4, isTurn: true), now: now)
        #expect(gate.due(isGranted: true) == now)
        #expect(gate.mayRead)
    }

    @Test func `a full queue is not read into and is due at once`() {
        var gate = gate()
        gate.finished(gate.deliver(leaving: .init(), now: start))
        gate.read(.init(messages: 4, isFull: true), now: start)
        #expect(!gate.mayRead)
        #expect(gate.due(isGranted: true) == start)
    }

    @Test func `an empty batch is not due`() {
        #expect(gate().due(isGranted: true) == nil)
    }

    @Test func `messages before the grant are delayed by at most a second`() {
        var gate = gate()
        gate.read(one, now: start)
        #expect(gate.due(isGranted: false) == start + .seconds(1))
        gate.read(.init(messages: 4, isTurn: true), now: start)
        #expect(gate.due(isGranted: false) == start)
    }

    @Test func `an outstanding batch allows reading but no delivery`() {
        var gate = gate()
        gate.read(one, now: start)
        let batch = gate.deliver(leaving: .init(), now: start)
        #expect(gate.mayRead)
        gate.read(one, now: start + .seconds(1))
        #expect(gate.due(isGranted: true) == nil)
        gate.finished(batch)
        #expect(gate.due(isGranted: true) == start + .seconds(1))
    }

    @Test func `a batch that is finished twice does not finish the next one`() {
        var gate = gate()
        gate.read(one, now: start)
        let first = gate.deliver(leaving: .init(), now: start)
        gate.finished(first)
        gate.read(one, now: start)
        _ = gate.deliver(leaving: .init(), now: start)
        gate.finished(first)
        #expect(gate.isOutstanding)
    }

    @Test func `after a loss the outstanding batch blocks the next one`() {
        var gate = gate()
        gate.read(one, now: start)
        let batch = gate.deliver(leaving: .init(), now: start)
        gate.connectionLost()
        gate.read(one, now: start)
        #expect(gate.due(isGranted: true) == nil)
        gate.finished(batch)
        #expect(gate.due(isGranted: true) != nil)
    }

    @Test func `a subscriber that leaves blocks nothing`() {
        var gate = gate()
        gate.read(one, now: start)
        _ = gate.deliver(leaving: one, now: start)
        gate.subscriberLeft()
        #expect(!gate.isOutstanding && gate.isEmpty)
    }

    @Test func `what a batch leaves behind is due as soon as it is finished`() {
        var gate = gate()
        gate.read(one, now: start)
        let batch = gate.deliver(leaving: one, now: start)
        #expect(gate.due(isGranted: true) == nil)
        gate.finished(batch)
        #expect(gate.due(isGranted: true) == start)
    }

    @Test func `messages read before the drain are due at once`() {
        var gate = gate()
        gate.read(one, now: start)
        gate.finished(gate.deliver(leaving: .init(), now: start))
        gate.read(one, now: start)
        #expect(gate.due(isGranted: true, isDraining: true) == start)
    }
}
