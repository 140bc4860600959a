import Bus
import Workouts

/// Why it cannot be said that a workout was delivered again.
enum DeliveryFailure: Error, Equatable, CustomStringConvertible {
    case noConnection
    case noAnswer
    /// The exporter will not do it.
    case refused(SessionKey, Refusal)
    /// It will, but says nothing more of it.
    case noStatus
    /// It was tried, and will not be tried again by itself.
    case failed([ExportStatus])
    /// It goes on, but nothing new came of it for long.
    case open([ExportStatus])
    case unreadable(topic: String, PayloadError)
    /// Nobody waits any longer for what goes on.
    case left

    var description: String {
        let patience = Int(DeliveryWatch.patience)
        return switch self {
        case .noConnection: "no connection to the broker within \(patience) s"
        case .noAnswer: "no answer within \(patience) s: is the exporter running?"
        case .refused(let key, .sessionNotFound): "the exporter knows of no workout \(key.session) of \(key.user)"
        case .refused(_, let refusal): refusal.message
        case .noStatus: "the exporter took the request, but has said nothing of it for \(patience) s"
        case .failed(let statuses): statuses.map(\.told).joined(separator: "; ")
        case .open(let statuses): statuses.map(\.told).joined(separator: "; ") + "; the exporter goes on by itself"
        case .unreadable(let topic, let error): "\(topic) cannot be read: \(error)"
        case .left: "interrupted; the exporter goes on by itself"
        }
    }
}

extension ExportStatus {
    /// Whether it goes on.
    var isOpen: Bool { status == .pending || status == .exporting }

    /// In words: `upload: failed: the server answered 413`.
    var told: String {
        switch status {
        case .done: (["\(target): done"] + (files.map { [$0.joined(separator: ", ")] } ?? [])).joined(separator: ": ")
        case .failed: "\(target): failed: \(reason ?? "for no reason that was told")"
        case .exporting: mode == nil ? "\(target): exporting" : "\(target): waiting for the \(mode?.rawValue ?? "")"
        case .pending:
            (["\(target): pending"] + [reason, nextAttemptAt.map { "next try at \($0.written)" }].compactMap(\.self))
                .joined(separator: ", ")
        }
    }
}

extension Timestamp {
    /// `2025-01-01T00:01:00Z`.
    fileprivate var written: String {
        var text: [UInt8] = []
        text.append(self, decimals: 0)
        return String(decoding: text, as: UTF8.self)
    }
}
