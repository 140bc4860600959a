import Workouts

/// Limits log reports about APNs: the beginning and end of failures, and each kind of refusal.
struct PushTrouble {
    private static let interval = 60.0
    /// The maximum number of remembered kinds: a proxy may return any text.
    private static let limit = 32

    private var isFailing = false
    private var toldAt: [String: Timestamp] = [:]

    mutating func take(_ outcome: PushOutcome, _ now: Timestamp) -> [PushReport] {
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

    private mutating func isNew(_ report: String, _ now: Timestamp) -> Bool {
        if let told = toldAt[report], (0..<Self.interval).contains(now.seconds(since: told)) { return false }
        toldAt = toldAt.filter { (0..<Self.interval).contains(now.seconds(since: $0.value)) }
        guard toldAt.count < Self.limit else { return false }
        toldAt[report] = now
        return true
    }
}
