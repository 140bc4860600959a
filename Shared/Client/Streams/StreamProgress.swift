import Bus

/// The effect of an acknowledgement on a stream.
package enum StreamProgress: Equatable {
    case nothing
    /// The receiver has stored everything below this number.
    case moved(Int)
    /// The receiver has only the items below this number although it acknowledged more: it was restored from a backup.
    /// The stream sends the items again.
    case fellBack(Int)
    case failed(StreamFailure)
}

/// Why a stream cannot continue.
package enum StreamFailure: Error, Equatable {
    /// The receiver has a stream of this name that begins with another item.
    case reused
    /// The receiver has more items than the queue.
    case unknownItems(next: Int, count: Int)
    /// The session may have no more items; for `retryAfter` seconds, if not `nil`. The receiver has stored the items
    /// below `next`.
    case tooManyItems(next: Int, retryAfter: Int?)
    /// The receiver lost items that it acknowledged, and no queue holds them.
    case lost(next: Int)
}

extension StreamFailure {
    /// Whether the receiver takes more items of this stream later.
    var canContinue: Bool {
        switch self {
        case .tooManyItems(_, let retryAfter): retryAfter != nil
        case .reused, .unknownItems, .lost: false
        }
    }
}

extension StreamFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .reused:
            "the server already has other items of this device in this session (stream_reused); "
                + "use another --device to send these items as a new stream"
        case .unknownItems(let next, let count):
            "the server has \(next) items of this device in this session, but the queue holds only \(count); "
                + "use another --device to send the queue as a new stream"
        case .tooManyItems(let next, nil):
            "the server stores at most \(StreamLimits.session) items of a session (too_many_items); "
                + "the queue keeps the items from number \(next) on"
        case .tooManyItems(let next, let seconds?):
            "the server takes no more items for now: at most \(StreamLimits.hour) of one kind an hour for a session, and as many "
                + "a day for an account as its operator allows (too_many_items); "
                + "the queue keeps the items from number \(next) on; wait \((seconds + 59) / 60) min"
        case .lost(let next):
            "the server has lost all items from number \(next) on, and no queue holds them"
        }
    }
}
