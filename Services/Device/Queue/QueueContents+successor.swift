import Bus
import Workouts

extension QueueHeader {
    /// Of the queue that holds the same again, for the session that stands in for this one's.
    var successor: QueueHeader {
        QueueHeader(
            user: user, session: session.successor, device: device, beganAt: beganAt, source: source, joins: joins,
            notSynced: session)
    }
}

extension QueueContents {
    /// Items of one line.
    private static let batch = 1_000

    /// The same items and commands at their times, nothing of it sent yet, for the session that stands in for a queue's.
    ///
    /// A device that joined says again how much there is when the new session is over.
    func entries(standingInFor header: QueueHeader) -> [QueueEntry] {
        let commands = header.joins ? [] : commands
        return commands.map { .command(command($0, standingInFor: header.session)) }
            + Self.batches(samples.items).map { .samples($0) }
            + Self.batches(locations.items).map { .locations($0) }
            + (clockOffset == 0 ? [] : [.clock(clockOffset)])
    }

    private func command(_ command: Command, standingInFor session: SessionID) -> Command {
        var command = command
        // A late reply to the old one must not be taken for the new one's.
        command.id = command.id.successor
        if case .start(var start) = command.action {
            start.notSynced = session
            start.replace = false
            // What is over already stands in nobody's way.
            start.endAt = start.endAt ?? endedAt
            command.action = .start(start)
            // The engine counted it by its own clock.
            command.at = command.at.map { $0 + clockOffset }
        }
        return command
    }

    private var endedAt: Timestamp? {
        commands.last { if case .end = $0.action { true } else { false } }?.at
    }

    private static func batches<Item: StreamItem>(_ items: [Item]) -> [ItemBatch<Item>]
    where Item.Field: PayloadField {
        stride(from: 0, to: items.count, by: batch).map { first in
            ItemBatch(first: first, items: Array(items[first..<min(first + batch, items.count)]))
        }
    }
}
