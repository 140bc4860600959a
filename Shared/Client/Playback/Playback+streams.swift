import Bus
package import ServiceKit
package import Workouts

/// The samples and locations of a playback together.
extension Playback {
    /// The number of items.
    package var itemCount: Int { samples.count + locations.count }
    package var acknowledgedCount: Int { samples.acknowledged + locations.acknowledged }
    /// When the oldest unacknowledged batch that asks for an acknowledgement was sent.
    package var askedAt: Moment? { [samples.askedAt, locations.askedAt].compactMap(\.self).min() }
    /// Items that are sent and not acknowledged.
    package var itemsInFlight: Int { samples.itemsInFlight + locations.itemsInFlight }
    /// Whether every item is acknowledged.
    var isAcknowledged: Bool { samples.isEmpty && locations.isEmpty }

    /// The counts that an `end` announces. A device without positions has no stream of locations.
    var counts: [StreamName: Int] {
        var counts = [header.stream(.samples): samples.count]
        if locations.count > 0 { counts[header.stream(.locations)] = locations.count }
        return counts
    }

    mutating func receiveAck(
        _ received: (ack: Ack, epoch: Int64?, now: Timestamp?), _ kind: StreamName.Kind, _ now: Moment
    ) -> Reaction {
        if let serviceTime = received.now { clock.receive(serviceTime, now) }
        let progress =
            switch kind {
            case .samples: samples.receive(received.ack, epoch: received.epoch, now)
            case .locations: locations.receive(received.ack, epoch: received.epoch, now)
            }
        if case .moved = progress { settledAt = nil }
        return switch progress {
        case .nothing: .nothing
        case .moved(let number): .note([.acknowledged(kind, number)])
        case .fellBack(let number): .takeBack(kind, from: number)
        case .failed(.tooManyItems(let next, let retryAfter)):
            .fail(
                .stream(.tooManyItems(next: next, retryAfter: retryAfter)), noting: [.acknowledged(kind, next)])
        case .failed(let failure): .fail(.stream(failure))
        }
    }

    /// Sends the items from a number on and every command again, after the server was restored from a backup. The
    /// server may have lost some commands; the others have no effect.
    package mutating func takeBack(
        _ kind: StreamName.Kind, from number: Int, _ contents: QueueContents
    ) -> [QueueEntry] {
        switch kind {
        case .samples: samples.takeBack(contents.samples.items, from: number)
        case .locations: locations.takeBack(contents.locations.items, from: number)
        }
        commands.startAgain(contents.commands)
        isEndRepeated = false
        return [.acknowledged(kind, number)]
    }

    /// A workout that lacks acknowledged items after a repeated `end`: its totals are late, or a restored server has lost
    /// the items. The stream asks the receiver.
    mutating func verify(_ workout: WorkoutRecord) {
        guard isEndRepeated, isAcknowledged else { return }
        let next = workout.next
        if next[header.stream(.samples), default: 0] < samples.count { samples.verify() }
        if next[header.stream(.locations), default: 0] < locations.count { locations.verify() }
    }

    /// The component that the playback waits for; `nil` while everything arrives in time.
    package var awaited: String? {
        if !commands.isConnected { return "the broker" }
        if commands.awaitsOtherSession { return "another session to end" }
        if commands.isRepeating { return "session-engine" }
        if header.joins, !isStarted { return "the session to begin" }
        if samples.isInDoubt { return "metrics-aggregator" }
        if locations.isInDoubt { return "route-builder" }
        return isClosed && isAcknowledged ? "the finished workout" : nil
    }
}
