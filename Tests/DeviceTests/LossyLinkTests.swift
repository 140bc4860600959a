import Bus
import TestSupport
import Testing
import Workouts

@testable import Device

/// The stream over a link that loses, repeats and reorders, to a receiver that does what the protocol says.
@Suite struct LossyLinkTests {
    /// The receiver of the numbering and acknowledgement protocol.
    private struct Receiver {
        private(set) var stored: [Sample] = []
        private var gapAnsweredAt: Timestamp?

        mutating func receive(_ batch: SampleBatch, _ now: Timestamp) -> Ack? {
            if batch.first > stored.count {
                if let gapAnsweredAt, now.seconds(since: gapAnsweredAt) < 0.1 { return nil }
                gapAnsweredAt = now
            } else {
                stored += batch.items.dropFirst(stored.count - batch.first)
            }
            return .next(stored.count)
        }
    }

    private struct Link<Message> {
        private var messages: [Message] = []

        mutating func send(_ message: Message) { messages.append(message) }

        /// Any of the messages under way; with chaos it may stay to come again, or be lost.
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
    func `every item arrives once and in order, and the windows hold`(run: Int) {
        var random = SeededRandom("every item arrives once and in order, run \(run)")
        let items = samples(Int.random(in: 1...4_000, using: &random))
        var sent = 0
        var stream = ItemStream()
        var receiver = Receiver()
        var now = Timestamp(seconds: 1_700_000_000)
        var batches = Link<SampleBatch>()
        var acks = Link<Ack>()
        stream.connected()

        var rounds = 0
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
            #expect(stream.itemsInFlight <= ItemStream.itemWindow)
            #expect(stream.batchesInFlight <= ItemStream.batchWindow)
            if let batch = batches.receive(&random, isChaotic: isChaotic), let ack = receiver.receive(batch, now) {
                acks.send(ack)
            }
            if let ack = acks.receive(&random, isChaotic: isChaotic) {
                if case .failed(let failure) = stream.receive(ack, now) { Issue.record("\(failure)") }
            }
            now = now + Double.random(in: 0...0.5, using: &random)
        }
        #expect(stream.acknowledged == items.count)
        #expect(stream.isEmpty)
        #expect(receiver.stored == items)
    }
}
