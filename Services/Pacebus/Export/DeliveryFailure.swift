import Bus
import Client
import Workouts

/// Why a workout was not delivered again.
enum DeliveryFailure: Error, Equatable, CustomStringConvertible {
    case noConnection
    case noReply
    /// The exporter refused the request.
    case refused(SessionKey, Refusal)
    /// The exporter accepted the request and published no status.
    case noStatus
    /// The exporter does not try again.
    case failed([ExportStatus])
    /// The exporter has published no news for a long time.
    case open([ExportStatus])
    case invalidMessage(topic: String, PayloadError)

    var description: String {
        let timeout = Int(DeliveryWatch.timeout)
        return switch self {
        case .noConnection: "no connection to the broker within \(timeout) s; check --mqtt-url and that the broker runs"
        case .noReply: "no reply from the exporter within \(timeout) s; check that it runs"
        case .refused(let key, .sessionNotFound): "the exporter has no workout \(key.session) of \(key.user)"
        case .refused(_, let refusal): refusal.message
        case .noStatus: "the exporter accepted the request and has published no status for \(timeout) s"
        case .failed(let statuses): statuses.map(\.text).joined(separator: "; ")
        case .open(let statuses): statuses.map(\.text).joined(separator: "; ") + "; the exporter continues"
        case .invalidMessage(let topic, let error): "invalid message on \(topic): \(error)"
        }
    }
}

extension ExportStatus {
    /// Whether the exporter continues.
    var isOpen: Bool { status == .pending || status == .exporting }

    /// `upload: failed: the server answered 413`.
    var text: String {
        switch status {
        case .done: (["\(target): done"] + (files.map { [$0.joined(separator: ", ")] } ?? [])).joined(separator: ": ")
        case .failed: "\(target): failed: \(reason ?? "unknown reason")"
        case .exporting: mode == nil ? "\(target): exporting" : "\(target): waiting for the \(mode?.rawValue ?? "")"
        case .pending:
            (["\(target): pending"] + [reason, nextAttemptAt.map { "next try at \($0.text)" }].compactMap(\.self))
                .joined(separator: ", ")
        }
    }
}

extension Timestamp {
    /// `2025-01-01T00:01:00Z`.
    fileprivate var text: String {
        var text: [UInt8] = []
        text.append(self, decimals: 0)
        return String(decoding: text, as: UTF8.self)
    }
}
