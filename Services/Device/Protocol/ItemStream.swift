import Bus
import DequeModule
import Workouts

/// The sending side of a stream of numbered items: what to send, what to send again and what may be forgotten.
///
/// A value; time is passed in. Batches are cut anew whenever it goes back, so a device that lost its connection for an
/// hour sends large ones.
struct ItemStream<Item: StreamItem> where Item.Field: PayloadField {
    private struct Stall {
        var wait = StreamWindow.stallMinimum
        var due: Timestamp

        init(_ now: Timestamp) {
            due = now + wait
        }

        mutating func restart(_ now: Timestamp) {
            due = now + wait
        }
    }

    /// Everything below this number is on the receiver's disk and forgotten here.
    private(set) var acknowledged: Int
    /// The items from `acknowledged` on.
    private var items: Deque<Item>
    /// What is under way: batches without gaps between them, the first from `acknowledged` on.
    private var flights: Deque<Range<Int>> = []
    /// The acknowledgement that it went back for last.
    private var wentBackFor: Int?
    private var stall: Stall?
    /// Whether the first batch was sent again and nothing has come since that confirms `acknowledged`.
    private(set) var isInDoubt = false
    private var isConnected = false

    /// Takes up a stream whose items below `acknowledged` are acknowledged.
    init(items: [Item] = [], acknowledged: Int = 0) {
        self.items = Deque(items.dropFirst(acknowledged))
        self.acknowledged = acknowledged
    }

    /// How many items there are.
    var count: Int { acknowledged + items.count }
    /// Items that are sent and not acknowledged.
    var itemsInFlight: Int { cursor - acknowledged }
    var batchesInFlight: Int { flights.count }
    var isEmpty: Bool { items.isEmpty }
    /// Items that are not acknowledged.
    var unacknowledged: Int { items.count }

    /// The number of the next item to send.
    private var cursor: Int { flights.last?.upperBound ?? acknowledged }

    mutating func append(_ more: some Sequence<Item>) {
        items.append(contentsOf: more)
    }

    /// A new connection: whatever was under way may be lost, and nothing that still comes tells what was.
    mutating func connected() {
        isConnected = true
        sendAgain()
        wentBackFor = nil
    }

    mutating func disconnected() {
        isConnected = false
    }

    /// Begins again at `number`, as if nothing from there on had been acknowledged.
    ///
    /// - Parameter all: every item there is, from the first on.
    mutating func takeBack(_ all: [Item], from number: Int) {
        items = Deque(all.dropFirst(number))
        acknowledged = number
        sendAgain()
        // What still comes from before the fall must not count as a gap.
        wentBackFor = number
    }

    private mutating func sendAgain() {
        flights.removeAll()
        stall = nil
        isInDoubt = false
    }

    /// The batches to send now.
    mutating func take(_ now: Timestamp) -> [ItemBatch<Item>] {
        guard isConnected else { return [] }
        var batches: [ItemBatch<Item>] = []
        if var current = stall, current.due <= now, let first = flights.first {
            batches.append(batch(first))
            current.wait = min(current.wait * 2, StreamWindow.stallMaximum)
            current.restart(now)
            stall = current
            isInDoubt = true
        }
        while batchesInFlight < StreamWindow.batches {
            let end = min(count, cursor + min(StreamWindow.batch, StreamWindow.items - itemsInFlight))
            guard cursor < end else { break }
            batches.append(batch(cursor..<end))
            flights.append(cursor..<end)
        }
        if stall == nil, !flights.isEmpty { stall = Stall(now) }
        return batches
    }

    mutating func receive(_ ack: Ack, _ now: Timestamp) -> StreamProgress {
        guard case .next(let number) = ack else { return .failed(.reused) }
        guard number <= count else { return .failed(.unknownItems(next: number, count: count)) }
        if number < acknowledged {
            // Late, overtaken by a newer one. But to a batch that was sent again after a stall, a receiver that has what it
            // acknowledged would have said so.
            return isInDoubt ? .fellBack(number) : .nothing
        }
        isInDoubt = false
        if number == acknowledged {
            // An acknowledgement that says nothing new answers a gap, or a repetition that crossed it.
            if !flights.isEmpty, wentBackFor != number {
                goBack()
                stall?.restart(now)
            }
            return .nothing
        }
        let hasStalled = stall.map { $0.wait > StreamWindow.stallMinimum } ?? false
        forget(below: number)
        stall = flights.isEmpty ? nil : Stall(now)
        // Only the first batch came again after a stall: the receiver took nothing of those beyond it.
        if hasStalled, !flights.isEmpty { goBack() }
        return .moved(number)
    }

    private mutating func goBack() {
        flights.removeAll()
        wentBackFor = acknowledged
    }

    private mutating func forget(below number: Int) {
        items.removeFirst(number - acknowledged)
        acknowledged = number
        while let first = flights.first, first.lowerBound < number {
            flights.removeFirst()
            if first.upperBound > number { flights.prepend(number..<first.upperBound) }
        }
    }

    private func batch(_ range: Range<Int>) -> ItemBatch<Item> {
        let indices = range.lowerBound - acknowledged..<range.upperBound - acknowledged
        return ItemBatch(first: range.lowerBound, items: Array(items[indices]))
    }
}
