import ServiceKit
import Workouts

/// Limits log reports about APNs: the beginning and end of failures, and each kind of refusal.
struct PushTrouble {
    private static let interval = 60.0
    /// The maximum number of remembered kinds: a proxy may return any text.
    private static let limit = 32

    private var isFailing = false
    private var reportedAt: [String: Moment] = [:]

    mutating func take(_ outcome: PushOutcome, _ now: Moment) -> [PushReport] {
        switch outcome {
        case .failed(let reason, _):
            guard !isFailing, isNew("failing", now) else { return [] }
            isFailing = true
            return [.failing(reason)]
        case .refused(let reason): return answering() + (isNew("refusing \(reason)", now) ? [.refusing(reason)] : [])
        case .delivered, .tokenGone: return answering()
        }
    }

    private mutating func answering() -> [PushReport] {
        defer { isFailing = false }
        return isFailing ? [.answering] : []
    }

    private mutating func isNew(_ report: String, _ now: Moment) -> Bool {
        if let last = reportedAt[report], now.seconds(since: last) < Self.interval { return false }
        reportedAt = reportedAt.filter { now.seconds(since: $0.value) < Self.interval }
        guard reportedAt.count < Self.limit else { return false }
        reportedAt[report] = now
        return true
    }
}
