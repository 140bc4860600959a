package import Bus
package import Workouts

/// One line of a queue file after its header.
package enum QueueEntry: Equatable {
    /// Consecutive items in the format of the bus.
    case samples(SampleBatch)
    case locations(LocationBatch)
    case command(Command)
    /// The stream's receiver has stored the items below this number.
    case acknowledged(StreamName.Kind, Int)
    /// The engine has accepted the command.
    case replied(CommandID)
    /// The services' clock is this many seconds ahead of the device's; later items carry their time.
    case clock(Double)
}

extension QueueEntry {
    private struct Line: Codable {
        var command: Command?
        /// The numbers acknowledged, by the kind of stream.
        var acknowledged: [String: Int]?
        var replied: CommandID?
        var clock: Double?
    }

    /// The line without its end.
    var line: [UInt8] {
        switch self {
        case .samples(let batch): batch.payload
        case .locations(let batch): Self.locationsPrefix + batch.payload + [UInt8(ascii: "}")]
        case .command(let command): JSONCoding.encode(Line(command: command))
        case .acknowledged(let kind, let number): JSONCoding.encode(Line(acknowledged: [kind.rawValue: number]))
        case .replied(let id): JSONCoding.encode(Line(replied: id))
        case .clock(let offset): JSONCoding.encode(Line(clock: offset))
        }
    }

    init(line: ArraySlice<UInt8>) throws(PayloadError) {
        if line.starts(with: "{\"s\":".utf8) {
            self = .samples(try SampleBatch(line, accepting: Self.allTimes))
            return
        }
        if line.starts(with: Self.locationsPrefix) {
            let batch = line.dropFirst(Self.locationsPrefix.count).dropLast()
            self = .locations(try LocationBatch(batch, accepting: Self.allTimes))
            return
        }
        let entry = try JSONCoding.decode(Line.self, from: line)
        if let command = entry.command {
            self = .command(command)
        } else if let (name, number) = entry.acknowledged?.first, let kind = StreamName.Kind(rawValue: name) {
            self = .acknowledged(kind, number)
        } else if let id = entry.replied {
            self = .replied(id)
        } else if let offset = entry.clock, abs(offset) <= Self.clockLimit {
            self = .clock(offset)
        } else {
            throw .malformed("unknown entry")
        }
    }

    private static let locationsPrefix = Array("{\"locations\":".utf8)

    /// Seconds between two clocks, at most: a time stays in range.
    private static let clockLimit = 1e12

    /// The services decide which times they accept.
    private static let allTimes = AcceptedTimes(now: Timestamp(seconds: 9e12))
}
