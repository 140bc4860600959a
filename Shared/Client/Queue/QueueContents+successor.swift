import Bus
import Workouts

extension QueueHeader {
    /// The header of the queue that logs the same workout again under the session's successor.
    var successor: QueueHeader {
        QueueHeader(
            user: user, session: session.successor, device: device, beganAt: beganAt, source: source, joins: joins,
            notSynced: session, ticket: ticket)
    }
}

extension QueueContents {
    /// Items in one line.
    private static let batch = 1_000

    /// The same items and commands with their times, all unsent, for the successor of a queue's session.
    ///
    /// A device that joined announces its item counts again when the new session is over.
    func entries(replacing header: QueueHeader) -> [QueueEntry] {
        let commands = header.joins ? [] : commands
        return commands.map { .command(command($0, replacing: header.session)) }
            + Self.batches(samples.items).map { .samples($0) }
            + Self.batches(locations.items).map { .locations($0) }
            + (clockOffset == 0 ? [] : [.clock(clockOffset)])
    }

    private func command(_ command: Command, replacing session: SessionID) -> Command {
        var command = command
        // A late reply to the old command must not match the new one.
        command.id = command.id.successor
        if case .start(var start) = command.action {
            start.notSynced = session
            start.replace = false
            // A session that is over already does not conflict with an unfinished one.
            start.endAt = start.endAt ?? endedAt
            command.action = .start(start)
            // The engine used its own clock.
            command.at = command.at.map { $0 + startOffset }
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
