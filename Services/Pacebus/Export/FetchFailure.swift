import Bus
import Client
import Workouts

/// Why a workout cannot be fetched, and what to do.
enum FetchFailure: Error, Equatable, CustomStringConvertible {
    case noConnection
    /// No message of the session arrived.
    case noWorkout(SessionKey)
    case unfinished(SessionKey, SessionStatus)
    case canceled(SessionKey, reason: String)
    case deleted(SessionKey)
    /// The session has ended and no workout arrived.
    case notSaved(SessionKey)
    /// Chunks of a kind are missing; `total` is known if the summary arrived.
    case missing(ChunkKind, count: Int, total: Int?)
    /// All chunks arrived, with revisions that do not match.
    case unsettled
    case invalidMessage(topic: String, String)

    var description: String {
        switch self {
        case .noConnection:
            "no connection to the broker within \(Int(WorkoutFetch.timeout)) s; check --mqtt-url and that the broker runs"
        case .noWorkout(let key):
            "\(key.user) has no workout \(key.session), or session-engine does not run, or this account may not read it"
        case .unfinished(let key, let status):
            "session \(key.session) is \(status.rawValue); end it first: pacebus end --user \(key.user) "
                + "--session \(key.session)"
        case .canceled(let key, let reason):
            "session \(key.session) was canceled (\(reason)); to save its workout: pacebus recover --user \(key.user) "
                + "--session \(key.session)"
        case .deleted(let key): "session \(key.session) was deleted"
        case .notSaved(let key): "no workout of session \(key.session) arrived; check that session-engine runs"
        case .missing(let kind, let count, let total):
            "\(total.map { "only \(count) of \($0) chunks" } ?? "no summary") of the workout's \(kind) arrived; check that "
                + "\(kind.owner) runs"
        case .unsettled: "the workout's chunks keep changing; try again later"
        case .invalidMessage(let topic, let why): "invalid message on \(topic): \(why)"
        }
    }
}

extension ChunkKind {
    /// The service that publishes it.
    fileprivate var owner: String { self == .series ? "metrics-aggregator" : "route-builder" }
}
