import Bus
import Workouts

/// What a queue file holds.
struct QueueContents: Equatable {
    var samples = QueuedItems<Sample>()
    var locations = QueuedItems<Location>()
    var commands: [Command] = []
    var replied: Set<CommandID> = []
    /// Seconds that the engine's clock is ahead of the device's, as far as that is known.
    var clockOffset = 0.0

    /// - Throws: `PayloadError` when the entry does not fit to those before it.
    mutating func add(_ entry: QueueEntry) throws(PayloadError) {
        switch entry {
        case .samples(let batch): try samples.add(batch)
        case .locations(let batch): try locations.add(batch)
        case .command(let command): commands.append(command)
        case .acknowledged(.samples, let number): try samples.acknowledge(number)
        case .acknowledged(.locations, let number): try locations.acknowledge(number)
        case .replied(let id): replied.insert(id)
        case .clock(let offset): clockOffset = offset
        }
    }
}

/// All items of a stream, and how many of them the receiver has.
struct QueuedItems<Item: StreamItem>: Equatable where Item.Field: PayloadField {
    private(set) var items: [Item] = []
    private(set) var acknowledged = 0

    fileprivate mutating func add(_ batch: ItemBatch<Item>) throws(PayloadError) {
        guard batch.first == items.count else { throw .malformed("item \(items.count) expected") }
        items += batch.items
    }

    fileprivate mutating func acknowledge(_ number: Int) throws(PayloadError) {
        guard number <= items.count else { throw .malformed("an acknowledgement of items that are not there") }
        acknowledged = number
    }
}
