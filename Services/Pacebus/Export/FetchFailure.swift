import Bus
import ServiceKit
import Workouts

/// Why a workout's file cannot be fetched, and what to do.
enum FetchFailure: Error, Equatable, CustomStringConvertible {
    case noConnection
    case noAnswer
    /// The exporter does not know the workout.
    case noWorkout(SessionKey)
    case unfinished(SessionKey, SessionStatus)
    case canceled(SessionKey, reason: String)
    case deleted(SessionKey)
    case refused(SessionKey, Refusal)
    /// The workout changed again and again.
    case unsettled
    /// The file does not fit the disk.
    case notStored(String)
    case invalidMessage(topic: String, String)

    var description: String {
        let wait = Int(FileFetch.timeout)
        return switch self {
        case .noConnection:
            "no connection to the broker within \(wait) s; check --mqtt-url and that the broker runs"
        case .noAnswer: "no answer from the exporter within \(wait) s; check that it runs"
        case .noWorkout(let key):
            "\(key.user) has no finished workout \(key.session), or the exporter has not seen it; check the session with "
                + "pacebus history --user \(key.user)"
        case .unfinished(let key, let status):
            "session \(key.session) is \(status.rawValue); end it first: pacebus end --user \(key.user) "
                + "--session \(key.session)"
        case .canceled(let key, let reason):
            "session \(key.session) was canceled (\(reason)); to save its workout: pacebus recover --user \(key.user) "
                + "--session \(key.session)"
        case .deleted(let key): "session \(key.session) was deleted"
        case .refused(_, let refusal): refusal.message
        case .unsettled: "the workout keeps changing; try again later"
        case .notStored(let problem): problem
        case .invalidMessage(let topic, let why): "invalid message on \(topic): \(why)"
        }
    }
}
