import TestSupport
import Testing
import Timing

@testable import MQTT

@Suite struct ConnectionMachineTests {
    private let start = ContinuousClock.now
    private let subscriptions = [
        MQTTSubscription(filter: "a/#", qos: .atLeastOnce), MQTTSubscription(filter: "b", qos: .atLeastOnce),
    ]

    private func machine() -> ConnectionMachine {
        ConnectionMachine(
            backoff: Backoff(minimum: 0.1, maximum: 30), timeout: .seconds(10), now: start)
    }

    private func connecting() -> ConnectionMachine {
        var machine = machine()
        #expect(machine.tick(now: start) == .connect)
        return machine
    }

    private func subscribing() -> ConnectionMachine {
        var machine = connecting()
        #expect(machine.accepted(subscriptions: subscriptions, now: start) == .subscribe(subscriptions))
        machine.sent(subscriptions, as: 1, now: start)
        return machine
    }

    @Test func `the first tick connects once`() {
        var machine = machine()
        #expect(machine.tick(now: start) == .connect)
        #expect(machine.tick(now: start) == .none)
    }

    @Test func `without a subscriber CONNACK establishes the connection`() {
        var machine = connecting()
        #expect(machine.accepted(subscriptions: nil, now: start) == .none)
        #expect(machine.isEstablished)
    }

    @Test func `with no subscriptions CONNACK is announced to the subscriber`() {
        var machine = connecting()
        #expect(machine.accepted(subscriptions: [], now: start) == .announce)
        #expect(machine.isEstablished)
    }

    @Test func `with subscriptions the last grant establishes the connection`() {
        var machine = connecting()
        _ = machine.accepted(subscriptions: subscriptions, now: start)
        machine.sent([subscriptions[0]], as: 1, now: start)
        machine.sent([subscriptions[1]], as: 2, now: start)
        #expect(machine.granted(2, codes: [1]) == .none)
        #expect(!machine.isEstablished)
        #expect(machine.granted(1, codes: [0]) == .announce)
        #expect(machine.isEstablished)
    }

    @Test(arguments: [0x80, 0x87, 0x97] as [UInt8])
    func `a refused filter is named and ends the connection`(code: UInt8) {
        var machine = subscribing()
        #expect(machine.granted(1, codes: [1, code]) == .giveUp(.subscriptionRefused(filter: "b", reason: code)))
        #expect(!machine.isEstablished)
    }

    @Test func `a SUBACK with too few codes ends the connection`() {
        var machine = subscribing()
        guard case .giveUp = machine.granted(1, codes: [1]) else {
            Issue.record("accepted")
            return
        }
    }

    @Test func `a SUBACK of an unknown packet is ignored`() {
        var machine = subscribing()
        #expect(machine.granted(9, codes: [0x80]) == .none)
    }

    @Test func `a later subscriber is subscribed and announced`() {
        var machine = connecting()
        _ = machine.accepted(subscriptions: nil, now: start)
        #expect(machine.subscriberEntered(subscriptions, now: start) == .subscribe(subscriptions))
        #expect(!machine.isEstablished)
        machine.sent(subscriptions, as: 5, now: start)
        #expect(machine.granted(5, codes: [1, 1]) == .announce)
    }

    @Test func `a subscriber before CONNACK waits for it`() {
        var machine = connecting()
        #expect(machine.subscriberEntered(subscriptions, now: start) == .none)
    }

    @Test func `a subscriber that leaves before its grant keeps the connection established`() {
        var machine = subscribing()
        machine.subscriberLeft()
        #expect(machine.isEstablished)
        #expect(machine.granted(1, codes: [0x80, 0x80]) == .none)
    }

    @Test func `a missing CONNACK ends the attempt after the timeout`() {
        var machine = connecting()
        #expect(machine.tick(now: start + .seconds(9)) == .none)
        #expect(machine.tick(now: start + .seconds(10)) == .giveUp(.unreachable("timeout waiting for CONNACK")))
    }

    @Test func `a missing SUBACK ends the connection after the timeout`() {
        var machine = subscribing()
        #expect(machine.tick(now: start + .seconds(10)) == .giveUp(.connectionLost("timeout waiting for SUBACK")))
    }

    @Test func `the last confirmation ends a change and the connection stays established`() {
        var machine = connecting()
        _ = machine.accepted(subscriptions: [], now: start)
        machine.sent(subscriptions, as: 7, now: start)
        machine.sent([], as: 8, now: start)
        #expect(machine.isEstablished && machine.isChanging)
        #expect(machine.granted(7, codes: [1, 1]) == .none)
        #expect(machine.isChanging)
        #expect(machine.granted(8, codes: []) == .none)
        #expect(machine.isEstablished && !machine.isChanging && machine.deadline == nil)
    }

    @Test func `a refused or unconfirmed change ends the connection`() {
        var machine = connecting()
        _ = machine.accepted(subscriptions: [], now: start)
        machine.sent([subscriptions[1]], as: 7, now: start)
        var late = machine
        #expect(machine.granted(7, codes: [0x87]) == .giveUp(.subscriptionRefused(filter: "b", reason: 0x87)))
        #expect(late.tick(now: start + .seconds(10)) == .giveUp(.connectionLost("timeout waiting for SUBACK")))
    }

    @Test func `after a loss the next attempt follows the backoff`() {
        var random = SeededRandom(seed: 1)
        var machine = subscribing()
        let delay = machine.lost(now: start, using: &random)
        #expect(delay > .zero)
        #expect(!machine.isAccepted)
        #expect(machine.tick(now: start) == .none)
        #expect(machine.tick(now: start + delay) == .connect)
    }

    @Test(arguments: [false, true])
    func `after any number of attempts that a broker let time out, the next one follows within 2 s`(
        isAccepted: Bool
    ) {
        var random = SeededRandom()
        var machine = ConnectionMachine(
            backoff: Backoff(minimum: 0.1, maximum: 30), timeout: .seconds(10), now: start)
        var now = start
        for attempt in 1...1_000 {
            #expect(machine.tick(now: now) == .connect)
            if isAccepted {
                _ = machine.accepted(subscriptions: subscriptions, now: now)
                machine.sent(subscriptions, as: Int32(attempt), now: now)
            }
            now += .seconds(10)
            guard case .giveUp = machine.tick(now: now) else {
                Issue.record("attempt \(attempt) did not time out")
                return
            }
            let delay = machine.lost(now: now, using: &random)
            #expect(delay <= .seconds(2), "seed \(random.seed), attempt \(attempt)")
            now += delay
        }
    }

    @Test func `attempts that are refused at once follow the backoff up to its maximum`() {
        var random = SeededRandom()
        var machine = ConnectionMachine(
            backoff: Backoff(minimum: 0.1, maximum: 30), timeout: .seconds(10), now: start)
        var now = start
        var delay = Duration.zero
        for _ in 1...20 {
            #expect(machine.tick(now: now) == .connect)
            delay = machine.lost(now: now, using: &random)
            now += delay
        }
        #expect(delay >= .seconds(15), "seed \(random.seed)")
    }

    @Test func `a second report of the same loss is ignored`() {
        var random = SeededRandom(seed: 1)
        var machine = subscribing()
        let delay = machine.lost(now: start, using: &random)
        _ = machine.lost(now: start + delay, using: &random)
        #expect(machine.tick(now: start + delay) == .connect)
    }

    @Test func `a late CONNACK is ignored`() {
        var random = SeededRandom(seed: 1)
        var machine = connecting()
        _ = machine.lost(now: start, using: &random)
        #expect(machine.accepted(subscriptions: subscriptions, now: start) == .none)
        #expect(!machine.isAccepted)
    }
}
