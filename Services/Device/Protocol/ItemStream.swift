import Bus
import DequeModule
import Workouts

/// The sending side of a stream of numbered items: what to send, what to send again and what may be forgotten.
///
/// A value; time is passed in. Batches are cut anew whenever it goes back, so a device that lost its connection for an
/// hour sends large ones.
struct ItemStream {
    /// Items that may be sent and not yet acknowledged.
    static let itemWindow = 1_000
    /// Batches that may be sent and not yet acknowledged.
    static let batchWindow = 20
    /// Items of one batch at most: a window of ten keeps the receiver busy while an acknowledgement travels.
    static let batchLimit = 100
    static let stallMinimum = 5.0
    static let stallMaximum = 60.0

    enum Failure: Error, Equatable {
        /// The receiver has a stream of this name that begins with another item.
        case reused
        /// The receiver has more than was ever queued here.
        case unknownItems(next: Int, count: Int)
    }

    enum Received: Equatable {
        case nothing
        /// Everything below this number is on the receiver's disk.
        case moved(Int)
        case failed(Failure)
    }

    private struct Stall {
        var wait = ItemStream.stallMinimum
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
    private var items: Deque<Sample>
    /// What is under way: batches without gaps between them, the first from `acknowledged` on.
    private var flights: Deque<Range<Int>> = []
    /// The acknowledgement that it went back for last.
    private var wentBackFor: Int?
    private var stall: Stall?
    private var isConnected = false

    /// Takes up a stream whose items below `acknowledged` are acknowledged.
    init(items: some Collection<Sample> = [], acknowledged: Int = 0) {
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

    mutating func append(_ samples: some Sequence<Sample>) {
        items.append(contentsOf: samples)
    }

    /// A new connection: whatever was under way may be lost, and nothing that still comes tells what was.
    mutating func connected() {
        isConnected = true
        flights.removeAll()
        wentBackFor = nil
        stall = nil
    }

    mutating func disconnected() {
        isConnected = false
    }

    /// The batches to send now.
    mutating func take(_ now: Timestamp) -> [SampleBatch] {
        guard isConnected else { return [] }
        var batches: [SampleBatch] = []
        if var current = stall, current.due <= now, let first = flights.first {
            batches.append(batch(first))
            current.wait = min(current.wait * 2, Self.stallMaximum)
            current.restart(now)
            stall = current
        }
        while batchesInFlight < Self.batchWindow {
            let end = min(count, cursor + min(Self.batchLimit, Self.itemWindow - itemsInFlight))
            guard cursor < end else { break }
            batches.append(batch(cursor..<end))
            flights.append(cursor..<end)
        }
        if stall == nil, !flights.isEmpty { stall = Stall(now) }
        return batches
    }

    mutating func receive(_ ack: Ack, _ now: Timestamp) -> Received {
        guard case .next(let number) = ack else { return .failed(.reused) }
        guard number <= count else { return .failed(.unknownItems(next: number, count: count)) }
        if number < acknowledged {
            // Late: a newer one has overtaken it.
            return .nothing
        }
        if number == acknowledged {
            // An acknowledgement that says nothing new answers a gap, or a repetition that crossed it.
            if !flights.isEmpty, wentBackFor != number {
                goBack()
                stall?.restart(now)
            }
            return .nothing
        }
        let hasStalled = stall.map { $0.wait > Self.stallMinimum } ?? false
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

    private func batch(_ range: Range<Int>) -> SampleBatch {
        let indices = range.lowerBound - acknowledged..<range.upperBound - acknowledged
        return SampleBatch(first: range.lowerBound, items: Array(items[indices]))
    }
}

extension ItemStream.Failure: CustomStringConvertible {
    var description: String {
        switch self {
        case .reused:
            "the server has a stream of this device in this session that begins with another item (stream_reused): "
                + "the queue it came from is lost; take another --device"
        case .unknownItems(let next, let count):
            "the server has \(next) items of this device in this session and the queue only \(count): "
                + "the queue they came from is lost; take another --device"
        }
    }
}
