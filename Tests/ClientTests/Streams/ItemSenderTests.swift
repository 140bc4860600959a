import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

@Suite struct ItemSenderTests {
    private let start = Moment(Timestamp(seconds: 1_700_000_000))

    private func connected(_ count: Int) -> ItemSender<Sample> {
        var stream = ItemSender(items: samples(count))
        stream.connected()
        return stream
    }

    @Test func `nothing is sent without a connection`() {
        var stream = ItemSender(items: samples(3))
        #expect(stream.take(start).isEmpty)
        stream.connected()
        #expect(stream.take(start).map(\.range) == [0..<3])
        #expect(stream.take(start).isEmpty)
    }

    @Test func `at most 1,000 items are in flight`() {
        var stream = connected(2_500)
        #expect(stream.take(start).map(\.items.count).reduce(0, +) == 1_000)
        #expect(stream.receive(.next(300), start) == .moved(300))
        #expect(stream.take(start).map(\.range) == [1_000..<1_100, 1_100..<1_200, 1_200..<1_300])
    }

    @Test func `at most 20 batches are in flight`() {
        var stream = ItemSender<Sample>()
        stream.connected()
        let sent = (0..<30).flatMap { _ in
            stream.append(samples(1))
            return stream.take(start)
        }
        #expect(sent.count == 20)
        #expect(stream.receive(.next(1), start) == .moved(1))
        #expect(stream.take(start).map(\.range) == [20..<30])
    }

    @Test func `an acknowledgement inside a batch keeps its rest in flight`() {
        var stream = connected(100)
        _ = stream.take(start)
        #expect(stream.receive(.next(40), start) == .moved(40))
        #expect(stream.itemsInFlight == 60)
        #expect(stream.take(start + 5).map(\.range) == [40..<100])
    }

    @Test func `a late acknowledgement is ignored`() {
        var stream = connected(10)
        _ = stream.take(start)
        #expect(stream.receive(.next(8), start) == .moved(8))
        #expect(stream.receive(.next(5), start) == .nothing)
        #expect(stream.acknowledged == 8)
        #expect(stream.take(start).isEmpty)
    }

    @Test func `a repeated acknowledgement goes back once for each value`() {
        var stream = connected(300)
        _ = stream.take(start)
        #expect(stream.receive(.next(100), start) == .moved(100))
        #expect(stream.take(start).isEmpty)
        #expect(stream.receive(.next(100), start) == .nothing)
        #expect(stream.take(start).map(\.range) == [100..<200, 200..<300])
        #expect(stream.receive(.next(100), start) == .nothing)
        #expect(stream.take(start).isEmpty)
        #expect(stream.receive(.next(200), start) == .moved(200))
        #expect(stream.receive(.next(200), start) == .nothing)
        #expect(stream.take(start).map(\.range) == [200..<300])
    }

    @Test func `a new owner's acknowledgement goes back again, whatever its number`() {
        var stream = connected(300)
        _ = stream.take(start)
        #expect(stream.receive(.next(100), epoch: 1, start) == .moved(100))
        #expect(stream.receive(.next(100), epoch: 1, start) == .nothing)
        #expect(stream.take(start).map(\.range) == [100..<200, 200..<300])
        for epoch in [2, 5] as [Int64] {
            #expect(stream.receive(.next(100), epoch: epoch, start) == .nothing)
            let again = stream.take(start)
            #expect(again.map(\.range) == [100..<200, 200..<300])
            #expect(again.last?.asksAck == true)
            // Its answers to both batches.
            #expect(stream.receive(.next(100), epoch: epoch, start) == .nothing)
            #expect(stream.take(start).isEmpty)
        }
        #expect(stream.receive(.next(200), epoch: 6, start) == .moved(200))
        #expect(stream.take(start).map(\.range) == [200..<300])
    }

    @Test func `after two outages at one position a stream recovers within 10 s`() {
        var stream = ItemSender<Sample>()
        stream.connected()
        var (now, epoch, stored) = (start, Int64(1), 0)
        /// Records an item; the owner, if there is one, stores the batches and acknowledges those that ask.
        func second(isDown: Bool) {
            stream.append(samples(1))
            for batch in stream.take(now) where !isDown {
                if batch.first <= stored { stored = max(stored, batch.range.upperBound) }
                if batch.asksAck { _ = stream.receive(.next(stored), epoch: epoch, now) }
            }
            now = now + 1
        }
        /// A new owner acknowledges what is stored when it loads the stream.
        func takeOver() {
            epoch += 1
            _ = stream.receive(.next(stored), epoch: epoch, now)
        }
        for _ in 0..<30 { second(isDown: false) }
        let position = stored
        // The second owner fails before it stores what the device sends again.
        for _ in 0..<2 {
            for _ in 0..<40 { second(isDown: true) }
            takeOver()
        }
        #expect(stored == position)
        var seconds = 0
        while stored < position + 80, seconds < 200 {
            second(isDown: false)
            seconds += 1
        }
        #expect(seconds <= 10)
    }

    @Test func `an acknowledgement without an epoch is of no new owner`() {
        var stream = connected(300)
        _ = stream.take(start)
        #expect(stream.receive(.next(100), epoch: 3, start) == .moved(100))
        #expect(stream.receive(.next(100), start) == .nothing)
        #expect(stream.take(start).count == 2)
        #expect(stream.receive(.next(100), start) == .nothing)
        #expect(stream.receive(.next(100), epoch: 3, start) == .nothing)
        #expect(stream.take(start).isEmpty)
    }

    @Test func `an acknowledgement of items sent before going back advances the cursor`() {
        var stream = connected(1_000)
        _ = stream.take(start)
        stream.connected()
        #expect(stream.receive(.next(700), start) == .moved(700))
        #expect(stream.take(start).map(\.range) == [700..<800, 800..<900, 900..<1_000])
    }

    @Test func `a stall repeats the first batch after 5 s, doubling to 60 s`() {
        var stream = connected(150)
        _ = stream.take(start)
        var resent: [Int] = []
        for second in 1...250 {
            for batch in stream.take(start + Double(second)) {
                #expect(batch.range == 0..<100)
                resent.append(second)
            }
        }
        #expect(resent == [5, 15, 35, 75, 135, 195])
    }

    @Test func `an acknowledgement after a stall sends later items again and ends the doubling`() {
        var stream = connected(250)
        _ = stream.take(start)
        #expect(stream.take(start + 5).map(\.range) == [0..<100])
        #expect(stream.receive(.next(100), start + 6) == .moved(100))
        #expect(stream.take(start + 6).map(\.range) == [100..<200, 200..<250])
        #expect(stream.take(start + 10.9).isEmpty)
        #expect(stream.take(start + 11).map(\.range) == [100..<200])
    }

    @Test func `a new connection begins at the first unacknowledged item`() {
        var stream = connected(300)
        _ = stream.take(start)
        _ = stream.receive(.next(150), start)
        stream.disconnected()
        #expect(stream.take(start + 100).isEmpty)
        stream.connected()
        #expect(stream.take(start + 100).map(\.range) == [150..<250, 250..<300])
    }

    @Test func `a resumed stream begins at its first unacknowledged item`() {
        var stream = ItemSender(items: samples(10), acknowledged: 7)
        stream.connected()
        #expect(stream.count == 10)
        let batches = stream.take(start)
        #expect(batches.map(\.range) == [7..<10])
        #expect(batches.first?.items == Array(samples(10)[7...]))
    }

    @Test func `a lower acknowledgement counts as a reply to a batch repeated after a stall`() {
        var stream = connected(500)
        _ = stream.take(start)
        #expect(stream.receive(.next(400), start) == .moved(400))
        #expect(stream.receive(.next(250), start + 4) == .nothing)
        #expect(stream.take(start + 5).map(\.range) == [400..<500])
        #expect(stream.receive(.next(250), start + 5.1) == .fellBack(250))
        stream.takeBack(samples(500), from: 250)
        #expect(stream.acknowledged == 250)
        #expect(stream.count == 500)
        let again = stream.take(start + 5.1)
        #expect(again.map(\.range) == [250..<350, 350..<450, 450..<500])
        #expect(again.flatMap(\.items) == Array(samples(500)[250...]))
        #expect(stream.receive(.next(250), start + 5.2) == .nothing)
        #expect(stream.take(start + 5.2).isEmpty)
        #expect(stream.receive(.next(500), start + 5.3) == .moved(500))
    }

    @Test func `a confirmed acknowledgement ends the doubt`() {
        var stream = connected(500)
        _ = stream.take(start)
        #expect(stream.receive(.next(400), start) == .moved(400))
        _ = stream.take(start + 5)
        #expect(stream.receive(.next(400), start + 5.1) == .nothing)
        #expect(stream.receive(.next(250), start + 5.2) == .nothing)
        _ = stream.take(start + 5.2)
        stream.connected()
        _ = stream.take(start + 5.3)
        #expect(stream.receive(.next(250), start + 5.4) == .nothing)
    }

    // MARK: Asking for an acknowledgement

    @Test func `a rewind, a stall, a half-full window and the end ask for an acknowledgement`() {
        var stream = ItemSender<Sample>()
        stream.connected()
        var asked: [Int] = []
        func append(_ stream: inout ItemSender<Sample>, _ now: Moment) {
            stream.append(samples(1))
            asked += stream.take(now).filter(\.asksAck).map(\.first)
        }
        for second in 0..<12 { append(&stream, start + Double(second) / 10) }
        // The first batch of a connection, and from the tenth in flight on.
        #expect(asked == [0, 9, 10, 11])
        #expect(stream.askedAt == start)
        #expect(stream.receive(.next(12), start + 1.2) == .moved(12))
        #expect(stream.askedAt == nil)
        asked = []
        for second in 12..<14 { append(&stream, start + Double(second) / 10) }
        #expect(asked.isEmpty)
        #expect(stream.take(start + 6.2).map(\.asksAck) == [true])
        #expect(stream.receive(.next(13), start + 6.3) == .moved(13))
        #expect(stream.take(start + 6.3).map(\.asksAck) == [true])
        #expect(stream.receive(.next(14), start + 6.4) == .moved(14))
        stream.append(samples(1))
        #expect(stream.take(start + 7).map(\.asksAck) == [false])
        stream.append(samples(150))
        stream.isComplete = true
        #expect(stream.take(start + 8).map(\.asksAck) == [false, true])
    }

    @Test func `a full window asks from its half on`() {
        var stream = connected(2_500)
        #expect(stream.take(start).map(\.asksAck) == (0..<10).map { $0 >= 4 })
    }

    @Test func `a reused stream fails`() {
        var stream = connected(3)
        #expect(stream.receive(.streamReused, start) == .failed(.reused))
        #expect("\(StreamFailure.reused)".contains("stream_reused"))
    }

    @Test(arguments: [nil, 360]) func `too many items acknowledge what is stored and fail`(retryAfter: Int?) {
        var stream = connected(500)
        _ = stream.take(start)
        let failure = StreamFailure.tooManyItems(next: 200, retryAfter: retryAfter)
        #expect(stream.receive(.tooManyItems(next: 200, retryAfter: retryAfter), start) == .failed(failure))
        #expect(stream.acknowledged == 200)
        #expect(stream.unacknowledged == 300)
        #expect("\(failure)".contains(retryAfter == nil ? "2000000 items of a session" : "wait 6 min"))
        #expect("\(failure)".contains("the queue keeps the items from number 200 on"))
    }

    @Test func `an acknowledgement of unknown items fails`() {
        var stream = connected(3)
        #expect(stream.receive(.next(4), start) == .failed(.unknownItems(next: 4, count: 3)))
    }
}

extension SampleBatch {
    var range: Range<Int> { first..<first + items.count }
}

/// Items a second apart, with heart rates that differ from item to item.
func samples(_ count: Int, from start: Double = 1_700_000_000) -> [Sample] {
    (0..<count).map { number in
        var sample = Sample(time: Timestamp(seconds: start + Double(number)))
        sample[.heartRate] = Double(60 + number % 100)
        return sample
    }
}
