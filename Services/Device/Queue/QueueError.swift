/// Why a queue cannot be used. The path is the queue file's.
enum QueueError: Error, Equatable, CustomStringConvertible {
    /// Another process plays into it.
    case inUse(path: String)
    /// A line cannot be read. Nothing was changed.
    case damaged(path: String, line: Int, reason: String)
    /// It holds what another recording or another seed made.
    case foreign(path: String)
    /// The disk refused.
    case failed(path: String, reason: String)

    var description: String {
        switch self {
        case .inUse(let path): "the queue \(path) is in use by another process"
        case .damaged(let path, let line, let reason): "the queue \(path) is damaged at line \(line): \(reason)"
        case .foreign(let path):
            "the queue \(path) was begun by another recording or seed; take another --session or remove the file"
        case .failed(let path, let reason): "the queue \(path) cannot be written: \(reason)"
        }
    }
}
