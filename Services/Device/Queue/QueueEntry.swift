import Bus
import Workouts

/// One line of a queue file after its header.
enum QueueEntry: Equatable {
    /// Consecutive items, written as they stand on the bus.
    case items(SampleBatch)
    case command(Command)
    /// The receiver has everything below this number on disk.
    case acknowledged(Int)
    /// The engine has carried the command out.
    case replied(CommandID)
    /// The engine's clock is this many seconds ahead of the device's; items from here on carry the engine's.
    case clock(Double)
}

extension QueueEntry {
    private struct Line: Codable {
        var command: Command?
        var acknowledged: Int?
        var replied: CommandID?
        var clock: Double?
    }

    /// The line without its end.
    var line: [UInt8] {
        switch self {
        case .items(let batch): batch.payload
        case .command(let command): JSONCoding.encode(Line(command: command))
        case .acknowledged(let number): JSONCoding.encode(Line(acknowledged: number))
        case .replied(let id): JSONCoding.encode(Line(replied: id))
        case .clock(let offset): JSONCoding.encode(Line(clock: offset))
        }
    }

    init(line: ArraySlice<UInt8>) throws(PayloadError) {
        if line.starts(with: "{\"s\":".utf8) {
            self = .items(try SampleBatch(line, accepting: Self.allTimes))
            return
        }
        let entry = try JSONCoding.decode(Line.self, from: line)
        if let command = entry.command {
            self = .command(command)
        } else if let number = entry.acknowledged {
            self = .acknowledged(number)
        } else if let id = entry.replied {
            self = .replied(id)
        } else if let offset = entry.clock {
            self = .clock(offset)
        } else {
            throw .malformed("unknown entry")
        }
    }

    /// Whether a time is acceptable is for the services to say.
    private static let allTimes = AcceptedTimes(now: Timestamp(seconds: 9e12))
}
