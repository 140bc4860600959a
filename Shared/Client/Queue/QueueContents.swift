package import Bus
package import Workouts

/// The contents of a queue file.
package struct QueueContents: Equatable {
    package var samples = QueuedItems<Sample>()
    package var locations = QueuedItems<Location>()
    package var commands: [Command] = []
    package var replied: Set<CommandID> = []
    /// Seconds that the services' clock is ahead of the device's, as far as the newest items use it.
    package private(set) var clockOffset = 0.0
    /// Seconds that the engine's clock was ahead when it chose the time of the start; 0 if the start carried its time.
    package private(set) var startOffset = 0.0
    private var lastReplied: CommandID?

    package init() {}

    /// - Throws: `PayloadError` when the entry does not match those before it.
    package mutating func add(_ entry: QueueEntry) throws(PayloadError) {
        let lastReplied = lastReplied.take()
        switch entry {
        case .samples(let batch): try samples.add(batch)
        case .locations(let batch): try locations.add(batch)
        case .command(let command): commands.append(command)
        case .acknowledged(.samples, let number): try samples.acknowledge(number)
        case .acknowledged(.locations, let number): try locations.acknowledge(number)
        case .replied(let id):
            replied.insert(id)
            self.lastReplied = id
        case .clock(let offset):
            clockOffset = offset
            if let lastReplied, lastReplied == commands.first?.id { startOffset = offset }
        }
    }
}

/// All items of a stream, and the number of the first unacknowledged one.
package struct QueuedItems<Item: StreamItem>: Equatable where Item.Field: PayloadField {
    package private(set) var items: [Item] = []
    package private(set) var acknowledged = 0

    fileprivate mutating func add(_ batch: ItemBatch<Item>) throws(PayloadError) {
        guard batch.first == items.count else { throw .malformed("item \(items.count) expected") }
        if items.isEmpty { items = batch.items } else { items += batch.items }
    }

    fileprivate mutating func acknowledge(_ number: Int) throws(PayloadError) {
        guard (0...items.count).contains(number) else {
            throw .malformed("acknowledgement \(number) of \(items.count) items")
        }
        acknowledged = number
    }
}
