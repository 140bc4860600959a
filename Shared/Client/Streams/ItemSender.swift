package import Bus
import DequeModule
package import ServiceKit
import Timing
package import Workouts

/// The sending side of a stream of numbered items: sends, repeats and removes acknowledged items.
///
/// A value; time is passed in. When it repeats items it forms new batches, so a device that was offline for an hour
/// sends large ones.
package struct ItemSender<Item: StreamItem> where Item.Field: PayloadField {
    private struct Stall {
        /// How often the first batch was sent.
        var tries = 1
        var due: Moment

        init(_ now: Moment) {
            due = now + StreamWindow.stall.delay(after: tries)
        }

        mutating func restart(_ now: Moment) {
            due = now + StreamWindow.stall.delay(after: tries)
        }
    }

    /// The receiver has stored everything below this number.
    package private(set) var acknowledged: Int
    /// The items from `acknowledged` on.
    private var items: Deque<Item>
    /// The newest acknowledged item.
    private var newestAcknowledged: Item?
    /// Whether the next ``take(_:)`` sends the newest acknowledged item again.
    private var verifies = false
    /// The unacknowledged batches: contiguous, the first begins at `acknowledged`.
    private var flights: Deque<Range<Int>> = []
    /// The acknowledgement that last made the stream go back.
    private var wentBackFor: Int?
    /// The epoch in the last acknowledgement. Another owner may lack the batches in flight.
    private var epoch: Int64?
    private var stall: Stall?
    /// Whether the first batch or the newest acknowledged item was sent again and no acknowledgement has confirmed
    /// `acknowledged` since.
    package private(set) var isInDoubt = false
    private var isConnected = false
    /// Whether the stream went back, so that the next batches ask for an acknowledgement.
    private var hasGoneBack = false
    /// Whether no item follows the present ones: the last batch asks for an acknowledgement.
    package var isComplete = false
    /// When the oldest unacknowledged batch that asks for an acknowledgement was sent.
    package private(set) var askedAt: Moment?

    /// Resumes a stream whose items below `acknowledged` are acknowledged.
    package init(items: [Item] = [], acknowledged: Int = 0) {
        self.items = Deque(items.dropFirst(acknowledged))
        self.acknowledged = acknowledged
        newestAcknowledged = items.prefix(acknowledged).last
    }

    /// How many items the stream has.
    package var count: Int { acknowledged + items.count }
    /// Items that are sent and not acknowledged.
    package var itemsInFlight: Int { cursor - acknowledged }
    package var batchesInFlight: Int { flights.count }
    /// Whether every item is acknowledged.
    package var isEmpty: Bool { items.isEmpty }
    /// Items that are not acknowledged.
    package var unacknowledged: Int { items.count }

    /// The number of the next item to send.
    private var cursor: Int { flights.last?.upperBound ?? acknowledged }

    package mutating func append(_ more: some Sequence<Item>) {
        items.append(contentsOf: more)
    }

    /// A new connection: batches in flight may be lost, and no acknowledgement says which.
    package mutating func connected() {
        isConnected = true
        sendAgain()
        wentBackFor = nil
    }

    package mutating func disconnected() {
        isConnected = false
    }

    /// Begins again at `number`, as if no item from there on had been acknowledged.
    ///
    /// - Parameter all: every item of the stream, from the first on.
    package mutating func takeBack(_ all: [Item], from number: Int) {
        items = Deque(all.dropFirst(number))
        acknowledged = number
        newestAcknowledged = all.prefix(number).last
        sendAgain()
        // A late acknowledgement from before the loss is no gap.
        wentBackFor = number
    }

    /// Asks whether the receiver still has the items of a stream that is acknowledged to its end: sends the newest one
    /// again. A lower acknowledgement shows a loss.
    package mutating func verify() {
        verifies = isEmpty && newestAcknowledged != nil
    }

    private mutating func sendAgain() {
        flights.removeAll()
        stall = nil
        verifies = false
        isInDoubt = false
        hasGoneBack = true
        askedAt = nil
    }

    /// The batches to send now. The receiver acknowledges within 3 s, or at once what asks for it: the repeated batch of a
    /// stall, the end of a rewind, the last batch of the stream, and those that find the window half full.
    package mutating func take(_ now: Moment) -> [ItemBatch<Item>] {
        guard isConnected else { return [] }
        var batches: [ItemBatch<Item>] = []
        if verifies, isEmpty, let newestAcknowledged {
            batches.append(ItemBatch(first: acknowledged - 1, items: [newestAcknowledged], asksAck: true))
            isInDoubt = true
        }
        verifies = false
        if var current = stall, current.due <= now, let first = flights.first {
            batches.append(batch(first, asksAck: true))
            current.tries += 1
            current.restart(now)
            stall = current
            isInDoubt = true
        }
        while batchesInFlight < StreamWindow.batches {
            let end = min(count, cursor + min(StreamWindow.batch, StreamWindow.items - itemsInFlight))
            guard cursor < end else { break }
            let range = cursor..<end
            flights.append(range)
            let isHalfFull =
                2 * itemsInFlight >= StreamWindow.items || 2 * batchesInFlight >= StreamWindow.batches
            batches.append(batch(range, asksAck: isHalfFull || isComplete && end == count))
        }
        if hasGoneBack, !batches.isEmpty {
            batches[batches.count - 1].asksAck = true
            hasGoneBack = false
        }
        if askedAt == nil, batches.contains(where: \.asksAck) { askedAt = now }
        if stall == nil, !flights.isEmpty { stall = Stall(now) }
        return batches
    }

    /// - Parameter epoch: the owner's epoch, if the acknowledgement states it.
    package mutating func receive(_ ack: Ack, epoch: Int64? = nil, _ now: Moment) -> StreamProgress {
        let number: Int
        var failure: StreamFailure?
        switch ack {
        case .next(let next): number = next
        case .streamReused: return .failed(.reused)
        case .tooManyItems(let next, let retryAfter):
            number = next
            failure = .tooManyItems(next: next, retryAfter: retryAfter)
        }
        guard number <= count else { return .failed(.unknownItems(next: number, count: count)) }
        if number < acknowledged {
            // A newer acknowledgement overtook this one. After a stall, though, a receiver that still has the acknowledged
            // items answers the repeated batch with a higher number.
            guard isInDoubt else { return .nothing }
            self.epoch = epoch ?? self.epoch
            return .fellBack(number)
        }
        if let failure {
            forget(below: number)
            return .failed(failure)
        }
        isInDoubt = false
        let hasNewOwner = replaceEpoch(epoch)
        // The new owner answers: the next stall is the first.
        if hasNewOwner { stall = nil }
        if number == acknowledged {
            // A repeated acknowledgement answers a gap, or a repeated batch that crossed it.
            if !flights.isEmpty, hasNewOwner || wentBackFor != number {
                goBack()
                stall?.restart(now)
            }
            return .nothing
        }
        let hasStalled = stall.map { $0.tries > 1 } ?? false
        forget(below: number)
        askedAt = nil
        stall = flights.isEmpty ? nil : Stall(now)
        // After a stall only the first batch was repeated: the receiver dropped the later ones.
        if hasNewOwner || hasStalled, !flights.isEmpty { goBack() }
        return .moved(number)
    }

    /// Returns whether the stream has another owner than at the last acknowledgement.
    private mutating func replaceEpoch(_ new: Int64?) -> Bool {
        guard let new, new != epoch else { return false }
        defer { epoch = new }
        return epoch != nil
    }

    private mutating func goBack() {
        flights.removeAll()
        wentBackFor = acknowledged
        hasGoneBack = true
        askedAt = nil
    }

    private mutating func forget(below number: Int) {
        newestAcknowledged = items.prefix(number - acknowledged).last ?? newestAcknowledged
        items.removeFirst(number - acknowledged)
        acknowledged = number
        while let first = flights.first, first.lowerBound < number {
            flights.removeFirst()
            if first.upperBound > number { flights.prepend(number..<first.upperBound) }
        }
    }

    private func batch(_ range: Range<Int>, asksAck: Bool) -> ItemBatch<Item> {
        let indices = range.lowerBound - acknowledged..<range.upperBound - acknowledged
        return ItemBatch(first: range.lowerBound, items: Array(items[indices]), asksAck: asksAck)
    }
}

/// The limits of a stream.
enum StreamWindow {
    /// Items in flight.
    static let items = 1_000
    /// Batches in flight.
    static let batches = 20
    /// Items of one batch at most: a window of ten batches keeps the receiver busy while an acknowledgement travels.
    static let batch = 100
    /// When the first batch is sent again without an acknowledgement; a receiver defers one for at most 3 s.
    static let stall = Backoff(minimum: 5, maximum: 60)
}
