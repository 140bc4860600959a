/// Why a stream cannot go on.
enum StreamFailure: Error, Equatable {
    /// The receiver has a stream of this name that begins with another item.
    case reused
    /// The receiver has more than was ever queued here.
    case unknownItems(next: Int, count: Int)
    /// The receiver lost what it had acknowledged, and there is no queue to take it from again.
    case lost(next: Int)
}

extension StreamFailure: CustomStringConvertible {
    var description: String {
        switch self {
        case .reused:
            "the server has a stream of this device in this session that begins with another item (stream_reused): "
                + "the queue it came from is lost; take another --device"
        case .unknownItems(let next, let count):
            "the server has \(next) items of this device in this session and the queue only \(count): "
                + "the queue they came from is lost; take another --device"
        case .lost(let next):
            "the server has lost everything from item \(next) on, which nobody keeps"
        }
    }
}
