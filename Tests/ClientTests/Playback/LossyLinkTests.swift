import Bus
import ServiceKit
import TestSupport
import Testing
import Timing
import Workouts

@testable import Client

/// The stream over a link that loses, repeats and reorders, to a receiver that follows the protocol.
@Suite struct LossyLinkTests {
    /// The receiver of the numbering and acknowledgement protocol.
    private struct Receiver {
        private(set) var stored: [Sample] = []
        private(set) var epoch: Int64 = 1
        /// Whether it waits for more, as a service does.
        var defers = false
        private var gapAnsweredAt: Moment?
        private var unacknowledged: (since: Moment, batches: Int, items: Int)?

        mutating func receive(_ batch: SampleBatch, _ now: Moment) -> Ack? {
            if batch.first > stored.count {
                if let gapAnsweredAt, now.seconds(since: gapAnsweredAt) < 0.1 { return nil }
                gapAnsweredAt = now
            } else {
                let new = batch.items.dropFirst(stored.count - batch.first)
                stored += new
                if defers, !new.isEmpty, !batch.asksAck {
                    let before = unacknowledged ?? (now, 0, 0)
                    unacknowledged = (before.since, before.batches + 1, before.items + new.count)
                    return due(now)
                }
            }
            unacknowledged = nil
            return .next(stored.count)
        }

        /// The acknowledgement that no more batches make due.
        mutating func due(_ now: Moment) -> Ack? {
            guard let waiting = unacknowledged,
                now.seconds(since: waiting.since) >= 3 || waiting.batches >= 10 || waiting.items >= 500
            else { return nil }
            unacknowledged = nil
            return .next(stored.count)
        }

        /// Another process takes over and acknowledges what is stored.
        mutating func takeOver() -> Ack {
            epoch += 1
            (gapAnsweredAt, unacknowledged) = (nil, nil)
            return .next(stored.count)
        }

        /// Continues from a backup.
        mutating func restore(_ count: Int) { stored.removeLast(stored.count - count) }
    }

    private struct Link<Message> {
        private var messages: [Message] = []

        mutating func send(_ message: Message) { messages.append(message) }

        /// Any message in flight; with chaos it may also stay in flight or be lost.
        mutating func receive(_ random: inout SeededRandom, isChaotic: Bool) -> Message? {
            guard !messages.isEmpty else { return nil }
            guard isChaotic else { return messages.removeFirst() }
            let index = Int.random(in: 0..<messages.count, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1: return messages[index]
            case 2, 3:
                messages.remove(at: index)
                return nil
            default: return messages.remove(at: index)
            }
        }
    }

    @Test(arguments: 0..<40)
    func `every item arrives once and in order, within the windows`(run: Int) {
        var random = SeededRandom("every item arrives once and in order, run \(run)")
        play(&random, restores: 0)
    }

    @Test(arguments: 0..<40)
    func `a receiver that is restored from backups has every item in the end`(run: Int) {
        var random = SeededRandom("a receiver that goes on from backups, run \(run)")
        play(&random, restores: 5)
    }

    /// Sends items over a link that is chaotic at first, to a receiver that may be restored meanwhile.
    private func play(_ random: inout SeededRandom, restores: Int) {
        let items = samples(Int.random(in: 1...4_000, using: &random))
        var sent = 0
        var stream = ItemSender<Sample>()
        var receiver = Receiver()
        receiver.defers = true
        var now = Moment(Timestamp(seconds: 1_700_000_000))
        var batches = Link<SampleBatch>()
        var acks = Link<(ack: Ack, epoch: Int64)>()
        stream.connected()

        let began = now
        var rounds = 0
        var restored = 0
        var falls = 0
        while stream.acknowledged < items.count, rounds < 200_000 {
            rounds += 1
            let isChaotic = rounds < 2_000
            let more = min(items.count - sent, Int.random(in: 0...50, using: &random))
            stream.append(items[sent..<sent + more])
            sent += more
            if isChaotic, Int.random(in: 0..<100, using: &random) == 0 {
                stream.disconnected()
                #expect(stream.take(now).isEmpty)
                stream.connected()
            }
            for batch in stream.take(now) {
                #expect((1...1_000).contains(batch.items.count))
                batches.send(batch)
            }
            #expect(stream.itemsInFlight <= StreamWindow.items)
            #expect(stream.batchesInFlight <= StreamWindow.batches)
            if let batch = batches.receive(&random, isChaotic: isChaotic), let ack = receiver.receive(batch, now) {
                acks.send((ack, receiver.epoch))
            }
            if let ack = receiver.due(now) { acks.send((ack, receiver.epoch)) }
            if isChaotic, Int.random(in: 0..<100, using: &random) == 0 {
                let ack = receiver.takeOver()
                acks.send((ack, receiver.epoch))
            }
            if restored < restores, sent < items.count, Int.random(in: 0..<50, using: &random) == 0 {
                restored += 1
                receiver.restore(Int.random(in: 0...receiver.stored.count, using: &random))
            }
            if let (ack, epoch) = acks.receive(&random, isChaotic: isChaotic) {
                switch stream.receive(ack, epoch: epoch, now) {
                case .nothing, .moved: break
                case .fellBack(let number):
                    falls += 1
                    stream.takeBack(Array(items[..<sent]), from: number)
                case .failed(let failure): Issue.record("\(failure)")
                }
            }
            now = now + Double.random(in: 0...0.5, using: &random)
        }
        #expect(stream.acknowledged == items.count)
        #expect(stream.isEmpty)
        #expect(receiver.stored == items)
        #expect(Double(falls) * StreamWindow.stall.minimum <= now.seconds(since: began))
    }

    @Test(arguments: 0..<40)
    func `late, repeated and unordered acknowledgements never send items again`(run: Int) {
        var random = SeededRandom("acknowledgements late, repeated and out of order, run \(run)")
        let items = samples(Int.random(in: 1_000...4_000, using: &random))
        var stream = ItemSender<Sample>()
        var receiver = Receiver()
        var acks: [(due: Moment, ack: Ack, epoch: Int64)] = []
        var now = Moment(Timestamp(seconds: 1_700_000_000))
        var sends = 0
        stream.connected()
        while stream.acknowledged < items.count || !acks.isEmpty {
            let more = min(items.count - stream.count, Int.random(in: 0...20, using: &random))
            stream.append(items[stream.count..<stream.count + more])
            for batch in stream.take(now) {
                sends += 1
                guard let ack = receiver.receive(batch, now) else { continue }
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let due = now + Double.random(in: 0..<StreamWindow.stall.minimum, using: &random)
                    acks.append((due, ack, receiver.epoch))
                }
            }
            if Int.random(in: 0..<100, using: &random) == 0 {
                let ack = receiver.takeOver()
                acks.append((now, ack, receiver.epoch))
            }
            for (_, ack, epoch) in acks.filter({ $0.due <= now }).shuffled(using: &random) {
                if case .fellBack(let number) = stream.receive(ack, epoch: epoch, now) {
                    Issue.record("fell back to \(number)")
                }
            }
            acks.removeAll { $0.due <= now }
            now = now + 0.1
            if sends > 100 * items.count {
                Issue.record("it sends without end")
                return
            }
        }
        #expect(receiver.stored == items)
    }
}
