import Workouts

/// Why a workout cannot be fetched, and what to do about it.
enum FetchFailure: Error, Equatable, CustomStringConvertible {
    case noConnection
    /// Nothing was heard of it.
    case noWorkout(SessionKey)
    case unfinished(SessionKey, SessionStatus)
    case canceled(SessionKey, reason: String)
    case deleted(SessionKey)
    /// The session is over, but its workout does not come.
    case notSaved(SessionKey)
    /// Of a kind only so many chunks have come; of how many is known when its summary has.
    case missing(ChunkKind, count: Int, total: Int?)
    /// All chunks have come, but of revisions that do not belong together.
    case unsettled
    /// What a topic says is no payload of ours.
    case unreadable(topic: String, String)

    var description: String {
        switch self {
        case .noConnection: "no connection to the broker within \(Int(WorkoutFetch.patience)) s"
        case .noWorkout(let key):
            "\(key.user) has no workout \(key.session), or session-engine is not running, or the broker's account may "
                + "not read it"
        case .unfinished(let key, let status):
            "session \(key.session) is \(status.rawValue): it can be exported once it has ended (device control end "
                + "--user \(key.user) --session \(key.session))"
        case .canceled(let key, let reason):
            "session \(key.session) was given up (\(reason)); device control recover --user \(key.user) --session "
                + "\(key.session) makes a workout of it"
        case .deleted(let key): "session \(key.session) was deleted"
        case .notSaved(let key):
            "session \(key.session) has ended, but its workout does not come: is session-engine running?"
        case .missing(let kind, let count, let total):
            "\(total.map { "only \(count) of \($0) chunks" } ?? "no summary") of the workout's \(kind) came: is "
                + "\(kind.owner) running?"
        case .unsettled: "the workout's chunks keep changing; try again later"
        case .unreadable(let topic, let why): "\(topic) cannot be read: \(why)"
        }
    }
}

extension ChunkKind {
    /// The service that publishes it.
    fileprivate var owner: String { self == .series ? "metrics-aggregator" : "route-builder" }
}
