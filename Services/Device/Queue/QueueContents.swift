import Bus
import Workouts

/// What a queue file holds.
struct QueueContents: Equatable {
    var items: [Sample] = []
    var acknowledged = 0
    var commands: [Command] = []
    var replied: Set<CommandID> = []
    /// Seconds that the engine's clock is ahead of the device's, as far as that is known.
    var clockOffset = 0.0

    /// - Throws: `PayloadError` when the entry does not fit to those before it.
    mutating func add(_ entry: QueueEntry) throws(PayloadError) {
        switch entry {
        case .items(let batch):
            guard batch.first == items.count else { throw .malformed("item \(items.count) expected") }
            items += batch.items
        case .command(let command): commands.append(command)
        case .acknowledged(let number):
            guard number <= items.count else { throw .malformed("an acknowledgement of items that are not there") }
            acknowledged = max(acknowledged, number)
        case .replied(let id): replied.insert(id)
        case .clock(let offset): clockOffset = offset
        }
    }
}
