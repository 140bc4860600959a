import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Pacebus

/// The check against a device that keeps all rules, and against one that breaks one of them. Time is virtual.
struct DeviceCheckTests {
    enum Fault: CaseIterable {
        case forgetsCommands, answersTwice, countsFromOne, changesItems, sendsAllAtOnce, ignoresStalls,
            believesLateOnes,
            keepsSending, hasAnotherClock, announcesNothing, sendsAfterTheEnd, keepsItsName
    }

    private static let broken: [Fault: DeviceRule] = [
        .forgetsCommands: .commandRepeated, .answersTwice: .commandOnce, .countsFromOne: .numbering,
        .changesItems: .constant, .sendsAllAtOnce: .window, .ignoresStalls: .lostAcknowledgement,
        .believesLateOnes: .lateAcknowledgement, .keepsSending: .tooManyItems, .hasAnotherClock: .clock,
        .announcesNothing: .announcedStreams, .sendsAfterTheEnd: .quiet, .keepsItsName: .streamReused,
    ]

    @Test func `a device that follows the README keeps all rules`() {
        let findings = Self.check(nil)
        for rule in DeviceRule.allCases { #expect(findings[rule] == .pass, "\(rule)") }
    }

    @Test(arguments: Fault.allCases) func `a broken rule is found`(fault: Fault) throws {
        let rule = try #require(Self.broken[fault])
        switch Self.check(fault)[rule] {
        case .slow, .fail: break
        case let finding: Issue.record("\(rule): \(String(describing: finding))")
        }
    }

    @Test(arguments: ["", "5", "[]", "{}", #"{"s":0,"x":[]}"#, #"{"s":0,"x":[5]}"#, #"{"s":-1,"x":[{"c":1}]}"#])
    func `what cannot be read is found`(payload: String) {
        let key = SessionKey(User("ann")!, SessionID(UUID()))
        for topic in [SessionTopic.samples(Device("watch-1")!), .command] {
            var check = DeviceCheck(user: key.user)
            #expect(check.receive(Topic.session(key, topic).message(Array(payload.utf8)), 0).isEmpty)
            guard case .fail = check.findings[.readable] else {
                Issue.record("\(topic) is not refused")
                continue
            }
        }
    }

    /// Two workouts in virtual time: of 120 items and of 20.
    private static func check(_ fault: Fault?) -> DeviceFindings {
        var check = DeviceCheck(user: User("ann")!)
        var now = 1_700_000_000.0
        for length in [120, 20] {
            var device = FakeDevice(fault: fault, begun: now, length: length)
            let workouts = check.workouts
            for _ in 0..<3_000 where check.workouts == workouts {
                now += 0.1
                var answers = check.tick(now)
                for message in device.tick(now) { answers += check.receive(message, now) }
                for answer in answers { device.receive(answer, now) }
            }
        }
        return check.findings
    }
}

/// A device as the README describes it, with an item a second and a fault.
private struct FakeDevice {
    let fault: DeviceCheckTests.Fault?
    let begun: Double
    let length: Int
    private let key = SessionKey(User("ann")!, SessionID(UUID()))
    private let client = Client("fake-1")!
    private var sender = ItemSender<Sample>()
    private var device = Device("watch-1")!
    private var samples: [Sample] = []
    private var commands: [(id: CommandID, action: SessionAction, at: Double)] = []
    private var repeatAt = 0.0
    private var pausedUntil = 0.0
    private var offset = 0.0
    private var lastAck = 0
    private var isOver = false
    private var wasSentAfter = false

    init(fault: DeviceCheckTests.Fault?, begun: Double, length: Int) {
        self.fault = fault
        self.begun = begun
        self.length = length
        commands.append((CommandID(UUID()), .start(.init(activity: .running)), begun))
        sender.connected()
    }

    mutating func tick(_ now: Double) -> [MQTTMessage] {
        if isOver {
            guard fault == .sendsAfterTheEnd, !wasSentAfter else { return [] }
            wasSentAfter = true
            return [batch(0, Array(samples.prefix(1)))]
        }
        let count = min(length, Int(now - begun) + 1)
        while samples.count < count {
            var sample = Sample(time: Timestamp(seconds: begun + Double(samples.count)))
            sample[.heartRate] = Double(60 + samples.count % 100)
            samples.append(sample)
            sender.append([sample])
        }
        if count == length, !sender.isComplete {
            sender.isComplete = true
            let streams = fault == .announcesNothing ? [:] : [StreamName(.samples, device): length]
            let at = now + (fault == .hasAnotherClock ? 0 : offset)
            commands.append((CommandID(UUID()), .end(streams: streams), at))
        }
        var sent: [MQTTMessage] = []
        if let command = commands.first, now >= repeatAt {
            repeatAt = now + (fault == .forgetsCommands ? 60 : 5)
            let payload = Command(
                id: command.id, client: client, at: Timestamp(seconds: command.at), action: command.action)
            sent.append(Topic.session(key, .command).message(JSONCoding.encode(payload)))
        }
        guard now >= pausedUntil || fault == .keepsSending else { return sent }
        if fault == .sendsAllAtOnce, samples.count == 30 {
            for number in 0..<25 { sent.append(batch(samples.count + number, [samples[0]])) }
        }
        return sent
            + sender.take(moment(now)).filter { fault != .ignoresStalls || $0.first > 0 || now - begun < 2 }
            .map { batch($0.first + (fault == .countsFromOne ? 1 : 0), $0.items, $0.asksAck) }
    }

    private func batch(_ first: Int, _ items: [Sample], _ asksAck: Bool = false) -> MQTTMessage {
        var items = items
        if fault == .changesItems { items[0][.heartRate] = Double.random(in: 60...180) }
        return Topic.session(key, .samples(device)).message(
            ItemBatch(first: first, items: items, asksAck: asksAck).payload)
    }

    mutating func receive(_ message: MQTTMessage, _ now: Double) {
        switch Topic(message.topic) {
        case .user(_, .replies(client)):
            guard let reply = try? JSONCoding.decode(Reply.self, from: message.payload) else { return }
            offset = reply.now.seconds - now
            if fault == .answersTwice, commands.first == nil || commands.first?.id != reply.id, !samples.isEmpty {
                commands.insert((CommandID(UUID()), .start(.init(activity: .running)), now), at: 0)
            }
            if commands.first?.id == reply.id {
                commands.removeFirst()
                repeatAt = 0
            }
        case .session(key, .samplesAck(device)):
            guard let (ack, epoch, _) = try? Ack.read(message.payload) else { return }
            if fault == .believesLateOnes, case .next(let number) = ack, number < sender.acknowledged {
                return sender.takeBack(samples, from: number)
            }
            switch sender.receive(ack, epoch: epoch, moment(now)) {
            case .failed(.tooManyItems(_, let retryAfter)):
                pausedUntil = now + Double(retryAfter ?? 0)
                sender.disconnected()
                sender.connected()
            case .failed:
                guard fault != .keepsItsName else { return }
                device = Device("watch-2")!
                sender = ItemSender(items: samples)
                sender.connected()
                commands = commands.map { command in
                    guard case .end = command.action else { return command }
                    return (command.id, .end(streams: [StreamName(.samples, device): length]), command.at)
                }
            case .fellBack(let number): sender.takeBack(samples, from: number)
            default: break
            }
        case .session(key, .workout):
            // As a device reads it.
            isOver =
                (try? JSONCoding.decode(WorkoutRecord.self, from: message.payload))?.next[StreamName(.samples, device)]
                == length
        default: break
        }
    }

    private func moment(_ now: Double) -> Moment { Moment(Timestamp(seconds: now)) }
}
