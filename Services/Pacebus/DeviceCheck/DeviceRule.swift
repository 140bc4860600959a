/// A rule of the bus that a device has to keep. The README of `Bus` has them all.
enum DeviceRule: String, CaseIterable, Sendable {
    case readable, commandRepeated, commandOnce, numbering, constant, window, lostAcknowledgement, gap, newEpoch
    case lateAcknowledgement, restored, tooManyItems, clock, announcedStreams, quiet, streamReused

    /// What it asks for.
    var text: String {
        switch self {
        case .readable: "commands can be read, and batches of 1 to 1,000 items"
        case .commandRepeated: "a command without a reply is repeated under its id, every 5 s"
        case .commandOnce: "a reply that comes twice causes no second command"
        case .numbering: "the items of a stream are numbered 0, 1, 2, …"
        case .constant: "an item keeps its content when it is sent again"
        case .window: "at most 1,000 items and 20 batches are unacknowledged"
        case .lostAcknowledgement: "without an acknowledgement, the first batch is sent again after 5 s"
        case .gap: "an acknowledgement that repeats its number makes the device send again from there"
        case .newEpoch: "another epoch makes the device send again what was in flight"
        case .lateAcknowledgement: "a lower acknowledgement without a stall is late and is ignored"
        case .restored: "a lower one that answers a repeated batch makes the device send all items from there again"
        case .tooManyItems: "after `too_many_items` the device waits `retryAfter` seconds and keeps its items"
        case .clock: "a device whose clock is wrong corrects it by `now`"
        case .announcedStreams: "`end` announces the number of items of each stream"
        case .quiet: "nothing follows the finished workout that has all items"
        case .streamReused: "after `stream_reused` the items come under a new device name, from number 0"
        }
    }
}

/// What was seen of a rule.
enum DeviceFinding: Equatable, Sendable {
    case pass
    /// It loses nothing, and another way is better.
    case slow(String)
    case fail(String)
}

/// What was seen of all rules.
struct DeviceFindings: Sendable {
    private var all: [DeviceRule: DeviceFinding] = [:]
    private var news: [DeviceRule] = []

    subscript(rule: DeviceRule) -> DeviceFinding? { all[rule] }

    /// A failure stays.
    mutating func note(_ rule: DeviceRule, _ finding: DeviceFinding) {
        if case .fail = all[rule] { return }
        guard all[rule] != finding else { return }
        all[rule] = finding
        news.append(rule)
    }

    /// Passes a rule of which nothing else was seen.
    mutating func pass(_ rule: DeviceRule) {
        if all[rule] == nil { note(rule, .pass) }
    }

    /// Takes the rules with new findings, in the order of these.
    mutating func takeNews() -> [DeviceRule] {
        defer { news = [] }
        return news
    }
}
