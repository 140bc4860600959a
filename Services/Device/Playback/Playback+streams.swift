import Bus
import Workouts

/// What a playback says of its samples and locations together.
extension Playback {
    /// How many items there are.
    var itemCount: Int { samples.count + locations.count }
    var acknowledgedCount: Int { samples.acknowledged + locations.acknowledged }
    /// Items that are sent and not acknowledged.
    var itemsInFlight: Int { samples.itemsInFlight + locations.itemsInFlight }
    /// Whether every item is acknowledged.
    var isAcknowledged: Bool { samples.isEmpty && locations.isEmpty }

    /// What an `end` announces. A device that never knew where it was has no stream of locations.
    var counts: [StreamName: Int] {
        var counts = [header.stream(.samples): samples.count]
        if locations.count > 0 { counts[header.stream(.locations)] = locations.count }
        return counts
    }

    mutating func receive(_ ack: Ack, _ kind: StreamName.Kind, _ now: Timestamp) -> Reaction {
        let progress =
            switch kind {
            case .samples: samples.receive(ack, now)
            case .locations: locations.receive(ack, now)
            }
        if case .moved = progress { settledAt = nil }
        return switch progress {
        case .nothing: .nothing
        case .moved(let number): .note([.acknowledged(kind, number)])
        case .fellBack(let number): .takeBack(kind, from: number)
        case .failed(let failure): .fail(.stream(failure))
        }
    }

    /// Sends everything from an item on again, as a server needs it that was restored from a backup, and every command: it
    /// may have lost some of those too, and those that it has it does not repeat.
    mutating func takeBack(
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

    /// A stream of which a workout holds less than was acknowledged, though it came long after. A server that was restored
    /// from before the first item does not even name it.
    ///
    /// Told once for each revision of the workout: when the totals are only late, sending again makes no other.
    mutating func takeLoss(in workout: WorkoutRecord) -> (kind: StreamName.Kind, number: Int)? {
        guard isEndRepeated, isAcknowledged else { return nil }
        for (kind, count) in [(StreamName.Kind.samples, samples.count), (.locations, locations.count)] {
            let number = workout.next[header.stream(kind), default: 0]
            guard number < count, lossRevisions[kind] != workout.revision else { continue }
            lossRevisions[kind] = workout.revision
            return (kind, number)
        }
        return nil
    }
}
