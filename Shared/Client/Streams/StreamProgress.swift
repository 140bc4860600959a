/// The effect of an acknowledgement on a stream.
package enum StreamProgress: Equatable {
    case nothing
    /// The receiver has stored everything below this number.
    case moved(Int)
    /// The receiver has only the items below this number although it acknowledged more: it was restored from a backup.
    /// The stream takes the items back.
    case fellBack(Int)
    case failed(StreamFailure)
}

/// Why a stream cannot continue.
package enum StreamFailure: Error, Equatable {
    /// The receiver has a stream of this name that begins with another item.
    case reused
    /// The receiver has more items than the queue.
    case unknownItems(next: Int, count: Int)
    /// The receiver lost items that it acknowledged, and no queue holds them.
    case lost(next: Int)
}

extension StreamFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .reused:
            "the server has another stream of this device in this session (stream_reused), whose queue is lost; "
                + "use another --device"
        case .unknownItems(let next, let count):
            "the server has \(next) items of this device in this session, the queue only \(count): "
                + "the queue of these items is lost; use another --device"
        case .lost(let next):
            "the server has lost everything from item \(next) on, and no queue holds these items"
        }
    }
}
